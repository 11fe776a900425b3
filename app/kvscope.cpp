#include "app/main_window.h"
#include "app/render.h"
#include "app/thread_environment.h"
#include "app/window_settings.h"
#include "engine/base/heap.h"
#include "widgets/theme.h"

#include <QApplication>
#include <QCommandLineParser>

#include <iostream>

namespace {

QStringList argumentList(int argc, char** argv)
{
    QStringList arguments;
    for (int i = 0; i < argc; ++i)
        arguments << QString::fromLocal8Bit(argv[i]);
    return arguments;
}

bool asksForText(const QCommandLineParser& parser)
{
    return parser.isSet(QStringLiteral("help")) || parser.isSet(QStringLiteral("help-all")) ||
           parser.isSet(QStringLiteral("version"));
}

} // namespace

int main(int argc, char** argv)
{
    kvscope::settleThreadEnvironment(argv);
    kvscope::keepFreedMemory();
    QCoreApplication::setApplicationName("kvscope");
    QCoreApplication::setOrganizationName("kvscope");
    QCoreApplication::setApplicationVersion(KVSCOPE_VERSION);

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
    const QCommandLineOption render("render",
                                    "draw what was saved as JSON (a card, a routing, a needle or "
                                    "passkey result or its .jsonl record), or a training's "
                                    "loss.csv, into a "
                                    ".pdf, .png, .svg or .html, and end",
                                    "JSON");
    parser.addOptions({device, dtype, smolLm2, render});
    if (!parser.parse(argumentList(argc, argv)) || asksForText(parser)) {
        QCoreApplication textOnly(argc, argv); // which needs no display
        parser.process(textOnly);              // prints, and exits
    }
    if (parser.isSet(render))
        kvscope::drawWithoutScreen();
    QApplication application(argc, argv);
    if (parser.isSet(render))
        return kvscope::renderFile(parser.value(render), parser.positionalArguments(), std::cerr);

    kvscope::applyTheme(application, kvscope::WindowSettings().theme());
    kvscope::MainWindow window({parser.value(device), parser.value(dtype), parser.value(smolLm2)});
    window.show();
    if (!parser.positionalArguments().isEmpty())
        window.openModel(parser.positionalArguments().first());
    return QApplication::exec();
}
