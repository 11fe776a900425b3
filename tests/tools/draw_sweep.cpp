// Draws the widgets that show a sweep, with made-up numbers, to look at them.
// Usage: draw_sweep OUT_FOLDER
#include "tests/support/fake_sweep.h"
#include "widgets/sweep_export.h"
#include "widgets/sweep_map_panel.h"
#include "widgets/sweep_prompt_panel.h"
#include "widgets/sweep_trials_panel.h"
#include "widgets/theme.h"

#include <QApplication>
#include <QDir>
#include <QTableView>

#include <cstdio>
#include <memory>

using namespace kvscope;

namespace {

QString g_folder;

void draw(QWidget& widget, const QSize& size, const QString& name)
{
    widget.resize(size);
    widget.show();
    QCoreApplication::processEvents();
    const QString path = QStringLiteral("%1/%2-%3x%4-%5.png")
                             .arg(g_folder, name)
                             .arg(size.width())
                             .arg(size.height())
                             .arg(Theme::current().isDark ? "dark" : "light");
    if (!widget.grab().save(path))
        std::fprintf(stderr, "cannot write %s\n", qPrintable(path));
}

std::shared_ptr<const SweepReport> report(const FakeSweepShape& shape)
{
    return std::make_shared<const SweepReport>(fakeSweep(shape));
}

FakeSweepShape manyCells()
{
    FakeSweepShape shape;
    shape.lengths.clear();
    for (int i = 1; i <= 20; ++i)
        shape.lengths.push_back(1024 * i);
    shape.depths.clear();
    for (int i = 0; i <= 20; ++i)
        shape.depths.push_back(5.0 * i);
    return shape;
}

void drawMaps()
{
    SweepMapPanel map;
    map.setReport(report({}));
    map.choose({TrialRole::Asked, 2, 2});
    for (const QSize size : {QSize(704, 608), QSize(1440, 900), QSize(700, 500), QSize(480, 360)})
        draw(map, size, QStringLiteral("map"));
    map.setMode(SweepMapMode::Loss);
    draw(map, {704, 608}, QStringLiteral("map-loss"));
    map.setMode(SweepMapMode::Kinds);
    draw(map, {704, 608}, QStringLiteral("map-kinds"));
    map.setMode(SweepMapMode::Cells);
    FakeSweepShape leaking;
    leaking.isLeaking = true;
    map.setReport(report(leaking));
    draw(map, {704, 608}, QStringLiteral("map-leaking"));
    map.setReport(report(manyCells()));
    draw(map, {1440, 900}, QStringLiteral("map-many"));
    draw(map, {700, 500}, QStringLiteral("map-many"));
    map.clear();
    draw(map, {480, 360}, QStringLiteral("map-empty"));
}

ShownPrompt prompt()
{
    ShownPrompt made;
    made.controlTokens = {"<|im_start|>", "<|im_end|>"};
    made.text = "<|im_start|>user\n";
    const auto fill = [&](int sentences) {
        for (int i = 0; i < sentences; ++i)
            made.text += "The evening boat was late again, and the mail bags stood on the quay; "
                         "nobody there could say why. ";
    };
    fill(90);
    const std::string statement = "The meteorite in the museum weighs 742 grams.";
    made.statements.push_back({made.text.size(), made.text.size() + statement.size()});
    made.text += statement + " ";
    fill(95);
    made.question.begin = made.text.size() + 1;
    made.text += "\nHow many grams does the meteorite in the museum weigh? Answer with the number.";
    made.question.end = made.text.size();
    made.text += "<|im_end|>\n<|im_start|>assistant\n";
    made.tokens = 4084;
    return made;
}

void drawTrials()
{
    const auto shown = report({});
    SweepTrialsPanel trials;
    trials.setReport(shown);
    draw(trials, {440, 300}, QStringLiteral("trials-empty"));
    trials.showCell({TrialRole::Asked, 2, 2});
    trials.trialsView()->selectRow(8);
    draw(trials, {440, 320}, QStringLiteral("trials"));
    trials.setView(TrialsView::Items);
    draw(trials, {440, 320}, QStringLiteral("facts"));

    SweepPromptPanel panel;
    const SweepCell& cell = shown->columns[2].cells[2];
    for (const std::size_t place : {std::size_t{0}, std::size_t{3}, std::size_t{8}}) {
        panel.setTrial(trialOf(*shown, cell, place), static_cast<int>(place) + 1);
        panel.setPrompt(prompt());
        draw(panel, {440, 460}, QStringLiteral("prompt-%1").arg(place));
    }
    draw(panel, {300, 380}, QStringLiteral("prompt-narrow"));
}

void saveExports()
{
    const SweepReport shown = fakeSweep();
    for (const char* ending : {"png", "svg", "pdf", "csv", "json"})
        if (const auto error =
                renderSweepMap(shown, QStringLiteral("%1/export.%2").arg(g_folder, ending),
                               QStringLiteral("made-up numbers · no model · seed 42")))
            std::fprintf(stderr, "%s\n", qPrintable(*error));
}

} // namespace

int main(int argc, char** argv)
{
    qputenv("QT_QPA_PLATFORM", "offscreen");
    QApplication application(argc, argv);
    if (argc != 2) {
        std::fprintf(stderr, "usage: draw_sweep OUT_FOLDER\n");
        return 2;
    }
    g_folder = QString::fromLocal8Bit(argv[1]);
    QDir().mkpath(g_folder);
    for (const ThemeChoice choice : {ThemeChoice::Light, ThemeChoice::Dark}) {
        applyTheme(application, choice);
        drawMaps();
        drawTrials();
    }
    saveExports();
    return 0;
}
