#include "widgets/lab_limits_panel.h"

#include "widgets/fonts.h"
#include "widgets/number_format.h"
#include "widgets/plot_export.h"
#include "widgets/theme.h"

#include <QFontMetricsF>
#include <QPainter>

#include <algorithm>
#include <array>
#include <cmath>

namespace kvscope {
namespace {

constexpr double kCellPadding = 8.0;
constexpr double kRow = spacing::kListRow;
/// Columns that go first where the room is short: all logits, what concatenating copies, if every
/// layer were global, the attention's share, the step's bytes.
constexpr std::array<qsizetype, 5> kDropOrder{8, 7, 2, 6, 3};

QString gigabytes(double bytes)
{
    return bytesText(static_cast<std::uint64_t>(std::max(bytes, 0.0)));
}

QString flopsText(double flops)
{
    return QString::number(flops / 1e12, 'g', 3);
}

} // namespace

LimitsPanel::LimitsPanel(QWidget* parent)
    : PaintedPanel(QStringLiteral("limits"), tr("Limits"), parent)
{
    setDescription(tr("what a context costs by length, batch 1"));
}

void LimitsPanel::setReport(std::shared_ptr<const LimitsReport> report)
{
    m_report = std::move(report);
    setToolTip(figures().join('\n'));
    update();
}

SnapshotTable LimitsPanel::shownTable() const
{
    SnapshotTable table;
    table.columns = {tr("Length"),     tr("Cache"),          tr("All global"),
                     tr("Step reads"), tr("Ceiling, tok/s"), tr("Prefill, TFLOP"),
                     tr("Attention"),  tr("Concatenated"),   tr("All logits"),
                     tr("Fits")};
    if (m_report == nullptr)
        return table;
    for (const LimitsRow& row : m_report->rows) {
        const QString fits = !row.fitsBudget   ? QString()
                             : *row.fitsBudget ? QStringLiteral("\u2713")
                                               : QStringLiteral("\u2715");
        table.rows.append(
            {countText(row.tokens), bytesText(row.cacheBytes), bytesText(row.fullCacheBytes),
             bytesText(row.decodeBytes), QString::number(row.tokensPerSecond, 'g', 3),
             flopsText(row.denseFlops + row.globalAttentionFlops + row.windowedAttentionFlops),
             QString::number(100.0 * row.attentionShare, 'f', 1) + QStringLiteral(" %"),
             gigabytes(row.concatenationBytes), bytesText(row.allLogitsBytes), fits});
    }
    return table;
}

QStringList LimitsPanel::figures() const
{
    if (m_report == nullptr)
        return {};
    const LimitsReport& report = *m_report;
    QStringList lines;
    lines.append(tr("%1 parameters, %2 multiplied a token; weights %3, a step reads %4 of them")
                     .arg(countText(report.totalParameters), countText(report.multipliedParameters),
                          bytesText(report.weightBytes), bytesText(report.decodeWeightBytes)));
    lines.append(report.crossoverTokens
                     ? tr("attention's FLOPs overtake the dense ones at %1 tokens; one token is "
                          "%2 of cache a layer")
                           .arg(countText(std::llround(*report.crossoverTokens)),
                                bytesText(report.cacheBytesPerLayer))
                     : tr("no layer is quadratic, so attention never overtakes"));
    if (report.budget)
        lines.append(!report.budget->weightsFit ? tr("\u2715 the weights alone exceed %1")
                                                      .arg(bytesText(report.budget->budgetBytes))
                     : report.budget->isUnbounded
                         ? tr("\u2713 every layer is windowed: any length fits %1")
                               .arg(bytesText(report.budget->budgetBytes))
                         : tr("the longest context in %1, weights counted: %2 tokens")
                               .arg(bytesText(report.budget->budgetBytes),
                                    countText(report.budget->longestContext)));
    lines.append(tr("ridge %1 FLOPs a byte; attention over the cache does %2. Machine: %3")
                     .arg(report.ridge, 0, 'f', 0)
                     .arg(report.cacheIntensity, 0, 'g', 3)
                     .arg(QString::fromStdString(report.machine.source)));
    return lines;
}

std::vector<qsizetype> LimitsPanel::columnsFor(double width) const
{
    const SnapshotTable table = shownTable();
    const QFontMetricsF digits(digitFont());
    const QFontMetricsF titles(uiFont(TextSize::Secondary, QFont::Bold));
    std::vector<double> widths;
    double sum = 0.0;
    for (qsizetype column = 0; column < table.columns.size(); ++column) {
        double widest = titles.horizontalAdvance(table.columns[column]);
        for (const QStringList& row : table.rows)
            widest = std::max(widest, digits.horizontalAdvance(row[column]));
        widths.push_back(widest + 2 * kCellPadding);
        sum += widths.back();
    }
    std::vector<qsizetype> columns;
    std::vector<qsizetype> dropped;
    for (const qsizetype column : kDropOrder) {
        if (sum <= width)
            break;
        sum -= widths[static_cast<std::size_t>(column)];
        dropped.push_back(column);
    }
    for (qsizetype column = 0; column < table.columns.size(); ++column)
        if (std::find(dropped.begin(), dropped.end(), column) == dropped.end())
            columns.push_back(column);
    return columns;
}

QStringList LimitsPanel::shownColumns(double width) const
{
    QStringList titles;
    const SnapshotTable table = shownTable();
    for (const qsizetype column : columnsFor(width))
        titles.append(table.columns[column]);
    return titles;
}

double LimitsPanel::paintFigures(QPainter& painter, const QRectF& area, const Theme& theme) const
{
    double y = area.top() + spacing::kStep;
    painter.setFont(uiFont(TextSize::Secondary));
    for (const QString& line : figures()) {
        painter.setPen(line.startsWith(QChar(0x2715)) ? theme.bad : theme.ink2);
        paintElided(painter,
                    QRectF(area.left() + kCellPadding, y, area.width() - 2 * kCellPadding,
                           spacing::kDenseRow),
                    Qt::AlignLeft | Qt::AlignVCenter, line);
        y += spacing::kDenseRow;
    }
    return y + spacing::kStep;
}

void LimitsPanel::paintTable(QPainter& painter, const QRectF& area, const Theme& theme) const
{
    const SnapshotTable table = shownTable();
    const auto columns = columnsFor(area.width());
    const double width = area.width() / static_cast<double>(columns.size());
    painter.fillRect(QRectF(area.left(), area.top(), area.width(), kRow), theme.dockTitle);
    for (qsizetype row = 1; row < table.rows.size(); row += 2)
        painter.fillRect(QRectF(area.left(), area.top() + kRow * static_cast<double>(row + 1),
                                area.width(), kRow),
                         theme.alternateRow);
    double x = area.left();
    for (const qsizetype column : columns) {
        const auto cell = [&](qsizetype row) {
            return QRectF(x + 2, area.top() + kRow * static_cast<double>(row), width - kCellPadding,
                          kRow);
        };
        painter.setFont(uiFont(TextSize::Secondary, QFont::Bold));
        painter.setPen(theme.ink2);
        paintElided(painter, cell(0), Qt::AlignRight | Qt::AlignVCenter, table.columns[column]);
        painter.setFont(digitFont(TextSize::Body, column == 0 ? QFont::Bold : QFont::Normal));
        for (qsizetype row = 0; row < table.rows.size(); ++row) {
            const QString& text = table.rows[row][column];
            painter.setPen(text == QStringLiteral("\u2713")   ? theme.good
                           : text == QStringLiteral("\u2715") ? theme.bad
                                                              : theme.ink);
            painter.drawText(cell(row + 1), Qt::AlignRight | Qt::AlignVCenter, text);
        }
        x += width;
    }
}

void LimitsPanel::paintTo(QPainter& painter, const QRectF& area, const Theme& theme) const
{
    painter.fillRect(area, theme.panel);
    if (m_report == nullptr) {
        paintEmptyState(painter, area, theme, tr("No limits yet."),
                        tr("Start Limits: it is arithmetic and takes no time."));
        return;
    }
    const double top = paintFigures(painter, area, theme);
    paintTable(painter, QRectF(area.left(), top, area.width(), area.bottom() - top), theme);
}

void LimitsPanel::paintEvent(QPaintEvent*)
{
    QPainter painter(this);
    paintTo(painter, rect(), Theme::current());
    paintFocus(painter);
}

SnapshotTable LimitsPanel::exportTable() const
{
    SnapshotTable table;
    table.columns = {QStringLiteral("tokens"),
                     QStringLiteral("cache_bytes"),
                     QStringLiteral("windowed_cache_bytes"),
                     QStringLiteral("all_global_cache_bytes"),
                     QStringLiteral("all_logits_bytes"),
                     QStringLiteral("scores_bytes"),
                     QStringLiteral("dense_flops"),
                     QStringLiteral("attention_flops"),
                     QStringLiteral("attention_share"),
                     QStringLiteral("decode_bytes"),
                     QStringLiteral("decode_floor_s"),
                     QStringLiteral("tokens_per_second_ceiling"),
                     QStringLiteral("recompute_factor"),
                     QStringLiteral("concatenation_bytes"),
                     QStringLiteral("fits_budget")};
    if (m_report == nullptr)
        return table;
    for (const LimitsRow& row : m_report->rows)
        table.rows.append({QString::number(row.tokens), QString::number(row.cacheBytes),
                           QString::number(row.windowedCacheBytes),
                           QString::number(row.fullCacheBytes), QString::number(row.allLogitsBytes),
                           csvNumber(row.scoresBytes), csvNumber(row.denseFlops),
                           csvNumber(row.globalAttentionFlops + row.windowedAttentionFlops),
                           csvNumber(row.attentionShare), QString::number(row.decodeBytes),
                           csvNumber(row.decodeSeconds), csvNumber(row.tokensPerSecond),
                           csvNumber(row.recomputeFactor), csvNumber(row.concatenationBytes),
                           !row.fitsBudget   ? QString()
                           : *row.fitsBudget ? QStringLiteral("1")
                                             : QStringLiteral("0")});
    return table;
}

} // namespace kvscope
