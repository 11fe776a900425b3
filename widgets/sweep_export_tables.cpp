// The numbers of a sweep as tables and as JSON.
#include "widgets/plot_export.h"
#include "widgets/sweep_cells.h"
#include "widgets/sweep_export.h"

#include <QCoreApplication>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QStringList>

namespace kvscope {
namespace {

QString tr(const char* text)
{
    return QCoreApplication::translate("kvscope::Sweep", text);
}

QString text(const std::string& from)
{
    return QString::fromStdString(from);
}

QString roleName(TrialRole role)
{
    switch (role) {
    case TrialRole::Asked:
        return QStringLiteral("asked");
    case TrialRole::Control:
        return QStringLiteral("control");
    case TrialRole::Oracle:
        return QStringLiteral("oracle");
    }
    return {};
}

/// Not translated: programs read them.
QString kindKey(std::size_t kind)
{
    static const QString kKeys[kNumAnswerKinds] = {
        QStringLiteral("found"), QStringLiteral("bare_wrong"), QStringLiteral("restated_wrong"),
        QStringLiteral("no_number"), QStringLiteral("empty")};
    return kKeys[kind];
}

QString stateKey(CellState state)
{
    static const QString kKeys[] = {QStringLiteral("queued"), QStringLiteral("running"),
                                    QStringLiteral("done"), QStringLiteral("cannot_fit")};
    return kKeys[static_cast<std::size_t>(state)];
}

QString verdictKey(const SweepCell& cell)
{
    static const QString kKeys[] = {QStringLiteral("above"), QStringLiteral("below"),
                                    QStringLiteral("undecided")};
    return cell.score.trials > 0 ? kKeys[static_cast<std::size_t>(cell.verdict)] : QString();
}

double number(std::int64_t value)
{
    return static_cast<double>(value);
}

QJsonObject proportionJson(const Proportion& score)
{
    return {{"correct", number(score.correct)}, {"trials", number(score.trials)}};
}

QJsonObject cellJson(const SweepCell& cell)
{
    QJsonObject json = proportionJson(cell.score);
    json["planned"] = number(cell.plannedTrials);
    json["state"] = stateKey(cell.state);
    if (cell.score.trials == 0)
        return json;
    json["wilson_low"] = cell.interval.low;
    json["wilson_high"] = cell.interval.high;
    json["verdict"] = verdictKey(cell);
    json["mean_answer_nll"] = cell.meanAnswerNll;
    QJsonObject kinds;
    for (std::size_t i = 0; i < kNumAnswerKinds; ++i)
        kinds[kindKey(i)] = number(cell.kinds[i]);
    json["kinds"] = kinds;
    return json;
}

QJsonObject columnJson(const SweepReport& report, const SweepColumn& column)
{
    QJsonObject json{{"tokens", number(column.tokens)},
                     {"beyond_trained", column.isBeyondTrained},
                     {"seconds_per_trial", column.secondsPerTrial}};
    if (!column.skipReason.empty())
        json["skipped"] = text(column.skipReason);
    QJsonArray cells;
    for (std::size_t i = 0; i < column.cells.size() && i < report.depths.size(); ++i) {
        QJsonObject cell = cellJson(column.cells[i]);
        cell["depth_percent"] = report.depths[i];
        cells.append(cell);
    }
    json["cells"] = cells;
    json["control"] = cellJson(column.control);
    json["pooled"] = cellJson(column.pooled);
    return json;
}

QJsonObject effectiveJson(const EffectiveLength& length)
{
    return {{"threshold", length.threshold},
            {"tokens", number(length.tokens)},
            {"most_tokens", number(length.mostTokens)},
            {"by_rates_alone", number(length.pointTokens)},
            {"decided", length.isDecided()},
            {"censored", length.isCensored},
            {"words", effectiveLengthWords(length).finding}};
}

QJsonObject trialJson(const SweepTrial& trial)
{
    QJsonArray pieces;
    for (const AnswerToken& token : trial.answerTokens)
        pieces.append(QJsonObject{{"piece", text(token.piece)}, {"nll", token.nll}});
    QJsonArray needles;
    for (const std::int64_t position : trial.needleTokens)
        needles.append(number(position));
    return {{"role", roleName(trial.role)},
            {"length_tokens", number(trial.tokens)},
            {"depth_percent", trial.depth},
            {"item", text(trial.itemName)},
            {"round", number(trial.round)},
            {"expected", text(trial.expected)},
            {"answer", text(trial.answer)},
            {"kind", kindKey(static_cast<std::size_t>(trial.kind))},
            {"loose", trial.isLoose},
            {"answer_tokens", pieces},
            {"prompt_tokens", number(trial.promptTokens)},
            {"prompt_words", number(trial.promptWords)},
            {"needle_tokens", needles},
            {"reused_tokens", number(trial.reusedTokens)},
            {"prefill_seconds", trial.prefillSeconds},
            {"seconds", trial.seconds},
            {"disturbed", trial.isDisturbed}};
}

double meanNll(const SweepTrial& trial)
{
    double sum = 0.0;
    for (const AnswerToken& token : trial.answerTokens)
        sum += token.nll;
    return trial.answerTokens.empty() ? 0.0 : sum / number(std::ssize(trial.answerTokens));
}

QString flag(bool isSet)
{
    return isSet ? QStringLiteral("1") : QStringLiteral("0");
}

QStringList cellRow(const SweepReport& report, const SweepCellKey& key)
{
    const SweepCell& cell = *cellOf(report, key);
    const SweepColumn* column = columnOf(report, key);
    const bool isAsked = key.role == TrialRole::Asked;
    const bool hasTrials = cell.score.trials > 0;
    const auto ifRun = [&](const QString& value) { return hasTrials ? value : QString(); };
    QStringList row{roleName(key.role),
                    column ? QString::number(column->tokens) : QString::number(report.oracleTokens),
                    isAsked ? csvNumber(report.depths[key.depth]) : QString(),
                    QString::number(cell.score.correct),
                    QString::number(cell.score.trials),
                    QString::number(cell.plannedTrials),
                    ifRun(csvNumber(cell.interval.low)),
                    ifRun(csvNumber(cell.interval.high)),
                    isAsked ? verdictKey(cell) : QString(),
                    column && !column->skipReason.empty() ? stateKey(CellState::CannotFit)
                                                          : stateKey(cell.state),
                    ifRun(csvNumber(cell.meanAnswerNll))};
    for (const std::int64_t count : cell.kinds)
        row.append(ifRun(QString::number(count)));
    row << (column && column->secondsPerTrial > 0 ? csvNumber(column->secondsPerTrial) : QString())
        << flag(column && column->isBeyondTrained) << flag(report.isLeaking)
        << (column ? text(column->skipReason) : QString());
    return row;
}

} // namespace

SnapshotTable sweepTable(const SweepReport& report)
{
    SnapshotTable table;
    table.columns = {tr("role"),
                     tr("length, tokens"),
                     tr("depth, %"),
                     tr("correct"),
                     tr("trials"),
                     tr("planned trials"),
                     tr("Wilson 95 % low"),
                     tr("Wilson 95 % high"),
                     tr("verdict"),
                     tr("state"),
                     tr("mean answer nll, nats"),
                     tr("found"),
                     tr("bare wrong"),
                     tr("restated wrong"),
                     tr("no number"),
                     tr("empty"),
                     tr("a trial, s"),
                     tr("beyond trained"),
                     tr("answer in the prompt"),
                     tr("skipped because")};
    for (const SweepCellKey& key : allCells(report))
        table.rows.append(cellRow(report, key));
    return table;
}

SnapshotTable sweepTrialsTable(const SweepReport& report)
{
    SnapshotTable table;
    table.columns = {tr("role"),           tr("length, tokens"), tr("depth, %"),
                     tr("item"),           tr("round"),          tr("expected"),
                     tr("answer"),         tr("kind"),           tr("mean answer nll, nats"),
                     tr("prompt, tokens"), tr("needle at"),      tr("reused, tokens"),
                     tr("prefill, s"),     tr("trial, s"),       tr("disturbed")};
    for (const SweepTrial& trial : report.trials) {
        QStringList needles;
        for (const std::int64_t position : trial.needleTokens)
            needles.append(QString::number(position));
        table.rows.append({roleName(trial.role), QString::number(trial.tokens),
                           trial.role == TrialRole::Asked ? csvNumber(trial.depth) : QString(),
                           text(trial.itemName), QString::number(trial.round), text(trial.expected),
                           text(trial.answer), kindKey(static_cast<std::size_t>(trial.kind)),
                           trial.answerTokens.empty() ? QString() : csvNumber(meanNll(trial)),
                           QString::number(trial.promptTokens), needles.join(u' '),
                           QString::number(trial.reusedTokens), csvNumber(trial.prefillSeconds),
                           csvNumber(trial.seconds), flag(trial.isDisturbed)});
    }
    return table;
}

QByteArray sweepJson(const SweepReport& report, const QString& caption)
{
    QJsonArray depths, columns, byDepth, items, trials;
    for (const double depth : report.depths)
        depths.append(depth);
    for (const SweepColumn& column : report.columns)
        columns.append(columnJson(report, column));
    for (const SweepCell& cell : report.byDepth)
        byDepth.append(cellJson(cell));
    for (const SweepItemScore& item : report.items)
        items.append(QJsonObject{{"name", text(item.name)},
                                 {"asked", proportionJson(item.asked)},
                                 {"found_by_control", item.foundByControl},
                                 {"found_by_oracle", item.foundByOracle}});
    for (const SweepTrial& trial : report.trials)
        trials.append(trialJson(trial));
    const EndsAgainstMiddle& test = report.endsAgainstMiddle;
    QJsonObject oracle = cellJson(report.oracle);
    oracle["mean_prompt_tokens"] = number(report.oracleTokens);
    return QJsonDocument(
               QJsonObject{
                   {"experiment", text(report.experiment)},
                   {"recipe", caption},
                   {"conditions", text(report.conditions)},
                   {"answer_in_the_prompt", report.isLeaking},
                   {"trained_positions", number(report.trainedPositions)},
                   {"linted_prompts", number(report.numLintedPrompts)},
                   {"depths_percent", depths},
                   {"lengths", columns},
                   {"oracle", oracle},
                   {"by_depth", byDepth},
                   {"ends_against_middle", QJsonObject{{"ends", proportionJson(test.ends)},
                                                       {"middle", proportionJson(test.middle)},
                                                       {"p", test.p}}},
                   {"effective_length", QJsonObject{{"absolute", effectiveJson(report.absolute)},
                                                    {"relative", effectiveJson(report.relative)}}},
                   {"items", items},
                   {"trials", trials}})
        .toJson();
}

} // namespace kvscope
