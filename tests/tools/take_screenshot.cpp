// Makes the README's pictures: opens a model, has a short chat with a fixed seed, and writes the
// window as PNG. Usage: take_screenshot MODEL OUT.png [--theme light|dark] [--size WxH] [--ask
// TEXT]... [--attach FILE] [--max N]. With --dialog summary|checks: the Open dialog on MODEL.
#include "app/live_panels.h"
#include "app/main_window.h"
#include "widgets/chat_panel.h"
#include "widgets/composer.h"
#include "widgets/theme.h"
#include "widgets/token_selection.h"

#include <QApplication>
#include <QCommandLineParser>
#include <QFile>
#include <QFileInfo>
#include <QSettings>
#include <QTemporaryDir>
#include <QTimer>

#include <cstdio>

using namespace kvscope;

namespace {

constexpr int kSettleMilliseconds = 700;

/// Asks the questions one after another, then takes the picture.
class Photographer : public QObject
{
public:
    Photographer(MainWindow& window, QString out, QStringList questions, std::int64_t maxNewTokens,
                 int pin)
        : m_window(window)
        , m_out(std::move(out))
        , m_questions(std::move(questions))
        , m_maxNewTokens(maxNewTokens)
        , m_pin(pin)
    {
        EngineBridge& engine = window.engine();
        connect(&engine, &EngineBridge::modelOpened, this,
                [this] { QTimer::singleShot(200, this, [this] { next(); }); });
        connect(&engine, &EngineBridge::generationFinished, this, [this] { next(); });
        connect(&engine, &EngineBridge::commandFailed, this, [](const CommandFailed& failure) {
            std::fprintf(stderr, "%s\n", failure.message.c_str());
            QCoreApplication::exit(1);
        });
    }

private:
    void next()
    {
        ChatPanel* chat = m_window.panels().chat;
        if (m_questions.isEmpty() || !m_window.panels().model().canChat) {
            QTimer::singleShot(kSettleMilliseconds, this, [this] { shoot(); });
            return;
        }
        ChatSettings settings = chat->settings();
        settings.sampling.temperature = 0.0;
        settings.sampling.maxNewTokens = m_maxNewTokens;
        settings.scoresPrompt = true;
        chat->setSettings(settings);
        chat->composer().putBack(m_questions.takeFirst(), {});
        chat->send();
    }
    void shoot()
    {
        if (m_pin >= 0)
            m_window.panels().selection->pin(m_pin);
        QTimer::singleShot(100, this,
                           [this] { QCoreApplication::exit(m_window.grab().save(m_out) ? 0 : 1); });
    }

    MainWindow& m_window;
    QString m_out;
    QStringList m_questions;
    std::int64_t m_maxNewTokens;
    int m_pin;
};

/// Shows the Open dialog on a model and takes its picture when the preview is there.
void shootDialog(MainWindow& window, const QString& model, const QString& page, const QString& out)
{
    QSettings().setValue("recentFiles", QStringList{model});
    window.showOpenDialog(model);
    OpenDialog& dialog = window.openDialog();
    dialog.showPage(page == "checks" ? OpenDialog::Page::Checks : OpenDialog::Page::Summary);
    auto* poll = new QTimer(&dialog);
    QObject::connect(poll, &QTimer::timeout, &dialog, [&dialog, out] {
        if (!dialog.verdict().startsWith(QChar(0x2713)) && !dialog.verdict().startsWith('!') &&
            !dialog.verdict().startsWith(QChar(0x2715)))
            return;
        QTimer::singleShot(kSettleMilliseconds, &dialog, [&dialog, out] {
            QCoreApplication::exit(dialog.grab().save(out) ? 0 : 1);
        });
    });
    poll->start(50);
}

} // namespace

int main(int argc, char** argv)
{
    QApplication application(argc, argv);
    QCommandLineParser parser;
    parser.addPositionalArgument("MODEL", "checkpoint");
    parser.addPositionalArgument("OUT", "PNG file");
    const QCommandLineOption theme("theme", "light or dark", "THEME", "light");
    const QCommandLineOption size("size", "window size", "WxH", "1440x900");
    const QCommandLineOption ask("ask", "a question; may be repeated", "TEXT");
    const QCommandLineOption attach("attach", "text file put before the first question", "FILE");
    const QCommandLineOption most("max", "new tokens", "N", "64");
    const QCommandLineOption pin("pin", "position to select", "N", "-1");
    const QCommandLineOption page("dialog", "the Open dialog: summary or checks", "PAGE");
    parser.addOptions({theme, size, ask, attach, most, pin, page});
    parser.addHelpOption();
    parser.process(application);
    if (parser.positionalArguments().size() != 2)
        parser.showHelp(2);

    QTemporaryDir home;
    QSettings::setDefaultFormat(QSettings::IniFormat);
    QSettings::setPath(QSettings::IniFormat, QSettings::UserScope, home.path());
    QCoreApplication::setOrganizationName("kvscope-screenshot");
    applyTheme(application, parser.value(theme) == "dark" ? ThemeChoice::Dark : ThemeChoice::Light);
    MainWindow window({});
    const QStringList sides = parser.value(size).split('x');
    window.resize(sides.value(0).toInt(), sides.value(1).toInt());
    window.show();
    if (parser.isSet(attach)) {
        QFile file(parser.value(attach));
        if (file.open(QIODevice::ReadOnly))
            window.panels().chat->addAttachment(QFileInfo(file).fileName(),
                                                QString::fromUtf8(file.readAll()), file.size());
    }
    if (parser.isSet(page)) {
        shootDialog(window, parser.positionalArguments().first(), parser.value(page),
                    parser.positionalArguments().last());
        return QApplication::exec();
    }
    const Photographer photographer(window, parser.positionalArguments().last(), parser.values(ask),
                                    parser.value(most).toInt(), parser.value(pin).toInt());
    window.openModel(parser.positionalArguments().first());
    return QApplication::exec();
}
