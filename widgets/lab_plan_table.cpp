#include "widgets/lab_plan_table.h"

#include "widgets/fonts.h"
#include "widgets/number_format.h"
#include "widgets/theme.h"

#include <QFontMetricsF>
#include <QPainter>

#include <algorithm>
#include <cmath>

namespace kvscope {
namespace {

constexpr double kRow = spacing::kDenseRow;
constexpr double kPadding = 6.0;
constexpr qsizetype kMostRows = 8; ///< then "and 3 more"

/// Tokens as the plan says them: exact below 100,000, then in thousands, then in millions.
QString tokensText(std::int64_t tokens)
{
    constexpr std::int64_t kExact = 100'000;
    constexpr std::int64_t kThousands = 10'000'000;
    if (tokens < kExact)
        return countText(tokens);
    return tokens < kThousands ? LabPlanTable::tr("%1 k").arg(countText(tokens / 1000))
                               : LabPlanTable::tr("%1 M").arg(countText(tokens / 1'000'000));
}

/// What a reason takes at a width; it is wrapped, not cut.
int reasonHeight(const QString& reason, double width)
{
    const QRectF box = QFontMetricsF(uiFont(TextSize::Secondary))
                           .boundingRect(QRectF(0, 0, std::max(40.0, width), 10000),
                                         Qt::AlignLeft | Qt::TextWordWrap, reason);
    return static_cast<int>(std::ceil(box.height())) + 2;
}

bool isRefused(const QString& label)
{
    return label.startsWith(QChar(0x2715));
}

} // namespace

LabPlanTable::LabPlanTable(QWidget* parent)
    : PaintedPanel(QStringLiteral("plan"), tr("Plan"), parent)
{
    setDescription(tr("what will be run"));
    QSizePolicy policy(QSizePolicy::Preferred, QSizePolicy::Fixed);
    policy.setHeightForWidth(true);
    setSizePolicy(policy);
}

void LabPlanTable::showTable(const SnapshotTable& table, const QStringList& reasons)
{
    m_table = table;
    m_reasons = reasons;
    setToolTip(reasons.join('\n'));
    setAccessibleDescription((QStringList(description()) + reasons).join(QStringLiteral("; ")));
    updateGeometry();
    update();
}

void LabPlanTable::setPlan(const ExperimentPlan& plan)
{
    if (plan.sweep != nullptr)
        return setSweep(*plan.sweep);
    SnapshotTable table;
    table.columns = {QString(), tr("Tokens"), tr("About")};
    QStringList reasons;
    for (const PlanRow& row : plan.rows) {
        QString label = QString::fromStdString(row.label);
        if (!row.skipReason.empty()) {
            reasons.append(label + QStringLiteral(": ") + QString::fromStdString(row.skipReason));
            label.prepend(QStringLiteral("\u2715 "));
        } else if (row.isBeyondTrained) {
            label += tr(" \u25b8 beyond");
        }
        table.rows.append({label, row.tokens > 0 ? tokensText(row.tokens) : missingText(),
                           row.seconds > 0.0 ? secondsText(row.seconds) : missingText()});
    }
    if (table.rows.size() > kMostRows) {
        const qsizetype more = table.rows.size() - kMostRows + 1;
        table.rows.remove(kMostRows - 1, more);
        table.rows.append({tr("and %1 more").arg(more), {}, {}});
    }
    showTable(table, reasons);
}

void LabPlanTable::setSweep(const SweepReport& report)
{
    SnapshotTable table;
    table.columns = {tr("controls too"), tr("Cells"), tr("Trials"), tr("Tokens")};
    const auto add = [&](const QString& label, const SweepAmount& amount) {
        if (amount.cells > 0 || amount.trials > 0)
            table.rows.append({label, countText(amount.cells), countText(amount.trials),
                               tokensText(amount.tokens)});
    };
    const SweepProgress& progress = report.progress;
    add(tr("Done"), progress.done);
    add(tr("Running"), progress.running);
    add(tr("Queued"), progress.queued);
    add(tr("\u2715 Cannot fit"), progress.cannotFit);
    QStringList reasons;
    for (const SweepColumn& column : report.columns)
        if (!column.skipReason.empty())
            reasons.append(countText(column.tokens) + QStringLiteral(": ") +
                           QString::fromStdString(column.skipReason));
    showTable(table, reasons);
}

void LabPlanTable::clear()
{
    showTable({}, {});
}

QSize LabPlanTable::sizeHint() const
{
    return {260, heightForWidth(260)};
}

int LabPlanTable::heightForWidth(int width) const
{
    const auto lines = m_table.rows.isEmpty() ? 0 : m_table.rows.size() + 1;
    int height = static_cast<int>(kRow * static_cast<double>(lines)) + 2;
    for (const QString& reason : m_reasons)
        height += reasonHeight(reason, width - 2 * kPadding);
    return height;
}

void LabPlanTable::paintTo(QPainter& painter, const QRectF& area, const Theme& theme) const
{
    painter.fillRect(area, theme.panel);
    if (m_table.rows.isEmpty())
        return;
    const auto count = static_cast<double>(m_table.columns.size());
    const double valueWidth = std::floor(std::min(70.0, area.width() / (count + 0.8)));
    const double nameWidth = area.width() - valueWidth * (count - 1.0);
    painter.fillRect(QRectF(area.left(), area.top(), area.width(), kRow), theme.dockTitle);
    const auto line = [&](const QStringList& cells, double y, const QFont& values,
                          const QColor& color) {
        painter.setPen(color);
        painter.setFont(uiFont(TextSize::Secondary));
        paintElided(painter, QRectF(area.left() + kPadding, y, nameWidth - kPadding, kRow),
                    Qt::AlignLeft | Qt::AlignVCenter, cells[0]);
        painter.setFont(values);
        for (qsizetype i = 1; i < cells.size(); ++i)
            painter.drawText(
                QRectF(area.left() + nameWidth + valueWidth * static_cast<double>(i - 1), y,
                       valueWidth - kPadding, kRow),
                Qt::AlignRight | Qt::AlignVCenter, cells[i]);
    };
    line(m_table.columns, area.top(), uiFont(TextSize::Secondary), theme.ink2);
    double y = area.top() + kRow;
    for (const QStringList& row : m_table.rows) {
        line(row, y, digitFont(TextSize::Secondary), isRefused(row[0]) ? theme.bad : theme.ink);
        y += kRow;
    }
    painter.setFont(uiFont(TextSize::Secondary));
    painter.setPen(theme.bad);
    for (const QString& reason : m_reasons) {
        const double height = reasonHeight(reason, area.width() - 2 * kPadding);
        painter.drawText(QRectF(area.left() + kPadding, y + 2, area.width() - 2 * kPadding, height),
                         Qt::AlignLeft | Qt::AlignTop | Qt::TextWordWrap, reason);
        y += height;
    }
    painter.setPen(QPen(theme.line, 1));
    painter.setBrush(Qt::NoBrush);
    painter.drawRect(QRectF(area.left() + 0.5, area.top() + 0.5, area.width() - 1,
                            kRow * static_cast<double>(m_table.rows.size() + 1)));
}

void LabPlanTable::paintEvent(QPaintEvent*)
{
    QPainter painter(this);
    paintTo(painter, rect(), Theme::current());
    paintFocus(painter);
}

} // namespace kvscope
