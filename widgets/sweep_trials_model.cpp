#include "widgets/sweep_trials_model.h"

#include "widgets/elided_label.h"
#include "widgets/fonts.h"
#include "widgets/number_format.h"
#include "widgets/theme.h"

#include <QColor>

#include <algorithm>
#include <utility>

namespace kvscope {
namespace {

constexpr qsizetype kLongestShown = 400; ///< characters of an answer in a cell; the rest is elided

bool isDigits(int column)
{
    return column == SweepTrialsModel::NumberColumn || column == SweepTrialsModel::ExpectedColumn ||
           column == SweepTrialsModel::LossColumn;
}

QVariant alignment(bool isRight)
{
    return QVariant::fromValue(
        Qt::Alignment((isRight ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter));
}

bool isKey(const std::shared_ptr<const SweepReport>& report)
{
    return report && report->experiment == "passkey";
}

} // namespace

double meanAnswerNll(const SweepTrial& trial)
{
    if (trial.answerTokens.empty())
        return -1.0;
    double sum = 0.0;
    for (const AnswerToken& token : trial.answerTokens)
        sum += token.nll;
    return sum / static_cast<double>(trial.answerTokens.size());
}

QString oneLine(const std::string& text)
{
    QString line = QString::fromStdString(text).trimmed();
    line.replace(QStringLiteral("\r\n"), QStringLiteral(" ↵ "));
    line.replace(u'\n', QStringLiteral(" ↵ "));
    for (QChar& character : line)
        if (character.category() == QChar::Other_Control)
            character = u' ';
    return line.left(kLongestShown);
}

SweepTrialsModel::SweepTrialsModel(QObject* parent)
    : QAbstractTableModel(parent)
{
}

void SweepTrialsModel::setCell(std::shared_ptr<const SweepReport> report,
                               const std::optional<SweepCellKey>& key)
{
    std::vector<Row> rows = rowsOf(report.get(), key);
    const bool isSameCell = m_report && key == m_key;
    m_key = key;
    // A cell at work gains rows while it is read: those that are there stay, so the view does, too.
    const bool onlyGrows = isSameCell && rows.size() >= m_rows.size() &&
                           std::equal(m_rows.begin(), m_rows.end(), rows.begin());
    if (!onlyGrows) {
        beginResetModel();
        m_report = std::move(report);
        m_rows = std::move(rows);
        endResetModel();
        return;
    }
    const int before = rowCount();
    m_report = std::move(report);
    if (before > 0)
        Q_EMIT dataChanged(index(0, 0), index(before - 1, ColumnCount - 1));
    if (rows.size() == m_rows.size())
        return;
    beginInsertRows({}, before, static_cast<int>(rows.size()) - 1);
    m_rows = std::move(rows);
    endInsertRows();
}

void SweepTrialsModel::setFilter(TrialFilter filter)
{
    if (filter == m_filter)
        return;
    beginResetModel();
    m_filter = filter;
    m_rows = rowsOf(m_report.get(), m_key);
    endResetModel();
}

std::vector<SweepTrialsModel::Row>
SweepTrialsModel::rowsOf(const SweepReport* report, const std::optional<SweepCellKey>& key) const
{
    std::vector<Row> rows;
    const SweepCell* cell = report && key ? cellOf(*report, *key) : nullptr;
    if (!cell)
        return rows;
    int number = 0;
    for (const std::size_t index : cell->trials) {
        ++number;
        if (index >= report->trials.size())
            continue;
        if (m_filter == TrialFilter::All || !report->trials[index].isCorrect())
            rows.push_back({index, number});
    }
    return rows;
}

const SweepTrial& SweepTrialsModel::trial(int row) const
{
    return m_report->trials[m_rows[static_cast<std::size_t>(row)].trial];
}

std::optional<std::size_t> SweepTrialsModel::trialAt(int row) const
{
    if (row < 0 || row >= rowCount())
        return std::nullopt;
    return m_rows[static_cast<std::size_t>(row)].trial;
}

std::optional<int> SweepTrialsModel::rowOf(std::size_t trial) const
{
    const auto found = std::find_if(m_rows.begin(), m_rows.end(),
                                    [trial](const Row& row) { return row.trial == trial; });
    if (found == m_rows.end())
        return std::nullopt;
    return static_cast<int>(found - m_rows.begin());
}

int SweepTrialsModel::rowCount(const QModelIndex& parent) const
{
    return parent.isValid() ? 0 : static_cast<int>(m_rows.size());
}

int SweepTrialsModel::columnCount(const QModelIndex& parent) const
{
    return parent.isValid() ? 0 : ColumnCount;
}

QString SweepTrialsModel::shown(int row, int column) const
{
    const SweepTrial& of = trial(row);
    switch (column) {
    case NumberColumn:
        return QString::number(m_rows[static_cast<std::size_t>(row)].number);
    case ItemColumn:
        return oneLine(of.itemName);
    case ExpectedColumn:
        return oneLine(of.expected);
    case AnswerColumn:
        return oneLine(of.answer);
    case KindColumn:
        return kindText(of.kind);
    case LossColumn:
        return lossText(meanAnswerNll(of));
    default:
        return {};
    }
}

QString SweepTrialsModel::tooltip(int row, int column) const
{
    const SweepTrial& of = trial(row);
    QStringList lines;
    if (column == AnswerColumn)
        lines << (of.answer.empty() ? tr("(empty)") : QString::fromStdString(of.answer));
    else
        lines << shown(row, column);
    if (column == KindColumn && of.isLoose && !of.isCorrect())
        lines << tr("A plain substring search would have counted this.");
    if (of.isDisturbed)
        lines << tr("Other load ran meanwhile: its times are left out.");
    return plainTooltip(lines.join(u'\n'));
}

QVariant SweepTrialsModel::data(const QModelIndex& index, int role) const
{
    if (!index.isValid() || index.row() >= rowCount())
        return {};
    const SweepTrial& of = trial(index.row());
    switch (role) {
    case Qt::DisplayRole:
        return shown(index.row(), index.column());
    case Qt::ToolTipRole:
        return tooltip(index.row(), index.column());
    case Qt::TextAlignmentRole:
        return alignment(isDigits(index.column()));
    case Qt::FontRole:
        return isDigits(index.column()) ? digitFont() : uiFont();
    case Qt::ForegroundRole: {
        const Theme& theme = Theme::current();
        if (index.column() == KindColumn)
            return of.isCorrect() ? theme.good : theme.bad;
        return index.column() == NumberColumn ? theme.ink3 : theme.ink;
    }
    default:
        return {};
    }
}

QVariant SweepTrialsModel::headerData(int section, Qt::Orientation orientation, int role) const
{
    if (orientation != Qt::Horizontal || section < 0 || section >= ColumnCount)
        return {};
    const QString titles[ColumnCount] = {
        QStringLiteral("#"), isKey(m_report) ? tr("Key") : tr("Fact"),
        tr("Expected"),      tr("Answer"),
        tr("Kind"),          tr("Loss")};
    if (role == Qt::DisplayRole)
        return titles[section];
    if (role == Qt::ToolTipRole && section == LossColumn)
        return tr("Mean nll of the right answer's tokens, nats");
    if (role == Qt::TextAlignmentRole)
        return alignment(isDigits(section));
    return {};
}

SnapshotTable SweepTrialsModel::table() const
{
    SnapshotTable table;
    for (int column = 0; column < ColumnCount; ++column)
        table.columns.append(headerData(column, Qt::Horizontal, Qt::DisplayRole).toString());
    for (int row = 0; row < rowCount(); ++row) {
        QStringList cells;
        for (int column = 0; column < ColumnCount; ++column)
            cells.append(column == AnswerColumn ? QString::fromStdString(trial(row).answer)
                                                : shown(row, column));
        table.rows.append(cells);
    }
    return table;
}

} // namespace kvscope
