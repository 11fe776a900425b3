#include "app/main_window.h"
#include "app/thread_environment.h"
#include "app/window_settings.h"
#include "widgets/theme.h"

#include <QApplication>
#include <QCommandLineParser>

int main(int argc, char** argv)
{
    kvscope::settleThreadEnvironment(argv);
    QApplication application(argc, argv);
    QApplication::setApplicationName("kvscope");
    QApplication::setOrganizationName("kvscope");
    QApplication::setApplicationVersion(KVSCOPE_VERSION);

    QCommandLineParser parser;
    parser.setApplicationDescription(
        "What a language model's long context costs, and whether it works.");
    parser.addHelpOption();
    parser.addVersionOption();
    parser.addPositionalArgument(
        "MODEL", "a .gguf file, a Hugging Face folder, or a GPT-OSS-Lite folder", "[MODEL]");
    const QCommandLineOption device("device", "cpu, cuda or cuda:N", "DEVICE", "cpu");
    const QCommandLineOption dtype("dtype", "auto, float32, bfloat16 or float16", "DTYPE", "auto");
    const QCommandLineOption smolLm2(
        "smollm2", "where the installed SmolLM2 lies (scripts/run gives it)", "FILE");
    parser.addOptions({device, dtype, smolLm2});
    parser.process(application);

    kvscope::applyTheme(application, kvscope::WindowSettings().theme());
    kvscope::MainWindow window({parser.value(device), parser.value(dtype), parser.value(smolLm2)});
    window.show();
    if (!parser.positionalArguments().isEmpty())
        window.openModel(parser.positionalArguments().first());
    return QApplication::exec();
}
