// Makes the README's pictures: opens a model, has a short chat with a fixed seed, and writes the
// window as PNG. Usage: take_screenshot MODEL OUT.png [--theme light|dark] [--size WxH] [--ask
// TEXT]... [--attach FILE] [--max N]. With --lab positions:length=1024 (repeated): the Lab
// workspace after those experiments, of a sweep with --cell COLUMN,ROW open; with --stop-at N
// paused at the N-th trial of the last. With --dialog summary|checks: the Open dialog on MODEL.
#include "app/lab_page.h"
#include "app/live_panels.h"
#include "app/main_window.h"
#include "widgets/chat_panel.h"
#include "widgets/composer.h"
#include "widgets/lab_experiment_list.h"
#include "widgets/lab_form.h"
#include "widgets/lab_panel.h"
#include "widgets/lab_plan_form.h"
#include "widgets/sweep_map_panel.h"
#include "widgets/theme.h"
#include "widgets/token_selection.h"

#include <QApplication>
#include <QCommandLineParser>
#include <QFile>
#include <QFileInfo>
#include <QPushButton>
#include <QSettings>
#include <QTemporaryDir>
#include <QTimer>

#include <cstdio>
#include <utility>

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

/// Runs the lab's experiments one after another, then takes the picture with the last one in front.
class LabPhotographer : public QObject
{
public:
    struct Wish
    {
        QStringList settings; ///< experiments and their fields
        QString shown;        ///< the experiment in front
        QString cell;         ///< "1,0": column and row of a sweep's map to open
        int stopAt = 0;       ///< trial of the last experiment to pause at; 0: none
    };

    LabPhotographer(MainWindow& window, QString out, Wish wish)
        : m_window(window)
        , m_out(std::move(out))
        , m_wish(std::move(wish))
    {
        connect(&window.engine(), &EngineBridge::labEvent, this, [this](const LabEvent& event) {
            if (const auto* trial = std::get_if<SweepTrialDone>(&event.what))
                pauseAt(*trial);
            else if (std::holds_alternative<ExperimentPaused>(event.what))
                show();
        });
        window.showWorkspace(Workspace::Lab);
        connect(&window.engine(), &EngineBridge::modelOpened, this, [this] {
            if (!std::exchange(m_isOpen, true))
                QTimer::singleShot(200, this, [this] { next(); });
        });
        connect(&window.lab(), &LabPage::runningChanged, this, [this](bool isRunning) {
            if (!isRunning)
                QTimer::singleShot(50, this, [this] { next(); });
        });
    }

private:
    /// "positions:length=1024,second=linear:2": a kind, and fields of its form; ";" between
    /// lengths.
    void next()
    {
        if (m_wish.settings.isEmpty())
            return show();
        const QString setting = m_wish.settings.takeFirst();
        choose(setting.section(':', 0, 0));
        LabPanel& panel = *m_window.lab().panel;
        LabForm& form = panel.form().form(panel.form().kind());
        for (const QString& field : setting.section(':', 1).split(',', Qt::SkipEmptyParts))
            if (!form.put(fieldName(field.section('=', 0, 0)),
                          field.section('=', 1).replace(';', ','))) {
                std::fprintf(stderr, "no such field: %s\n", qPrintable(field));
                return QCoreApplication::exit(2);
            }
        auto* poll = new QTimer(this); // for the plan
        connect(poll, &QTimer::timeout, this, [this, poll] {
            LabPanel& waiting = *m_window.lab().panel;
            if (!waiting.startButton()->isEnabled() || !waiting.hasPlan())
                return;
            poll->deleteLater();
            m_window.lab().start();
        });
        poll->start(400);
    }
    /// Needles and passkeys have one field for what the command line calls by two names.
    static QString fieldName(const QString& name)
    {
        return name == "facts" || name == "keys" ? QStringLiteral("items") : name;
    }
    void pauseAt(const SweepTrialDone& trial)
    {
        const auto landed = static_cast<int>(trial.report->trials.size());
        if (m_wish.stopAt > 0 && m_wish.settings.isEmpty() && landed == m_wish.stopAt)
            m_window.lab().pause();
    }
    void show()
    {
        if (!m_wish.shown.isEmpty())
            choose(m_wish.shown);
        if (!m_wish.cell.isEmpty())
            m_window.lab().map->choose({TrialRole::Asked, m_wish.cell.section(',', 0, 0).toULong(),
                                        m_wish.cell.section(',', 1).toULong()});
        QTimer::singleShot(kSettleMilliseconds, this,
                           [this] { QCoreApplication::exit(m_window.grab().save(m_out) ? 0 : 1); });
    }
    void choose(const QString& name)
    {
        for (const LabKind kind : kLabKinds)
            if (labTitle(kind).toLower() == name)
                m_window.lab().panel->list().choose(kind);
    }

    MainWindow& m_window;
    QString m_out;
    Wish m_wish;
    bool m_isOpen = false;
};

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
    const QCommandLineOption experiment("lab",
                                        "an experiment and its fields; may be repeated: "
                                        "positions:length=1024,second=linear:2",
                                        "WHAT");
    const QCommandLineOption shown("show", "the experiment in front", "NAME");
    const QCommandLineOption cell("cell", "a cell of the sweep's map: column and row from 0",
                                  "COLUMN,ROW");
    const QCommandLineOption stopAt("stop-at", "pause the last sweep at this trial", "N", "0");
    parser.addOptions({theme, size, ask, attach, most, pin, page, experiment, shown, cell, stopAt});
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
    if (parser.isSet(experiment)) {
        window.lab().setRecordFolder(home.path());
        const LabPhotographer photographer(window, parser.positionalArguments().last(),
                                           {parser.values(experiment), parser.value(shown),
                                            parser.value(cell), parser.value(stopAt).toInt()});
        window.openModel(parser.positionalArguments().first());
        return QApplication::exec();
    }
    const Photographer photographer(window, parser.positionalArguments().last(), parser.values(ask),
                                    parser.value(most).toInt(), parser.value(pin).toInt());
    window.openModel(parser.positionalArguments().first());
    return QApplication::exec();
}
