#include "widgets/sweep_map_panel.h"

#include "widgets/number_format.h"
#include "widgets/plot_header.h"
#include "widgets/sweep_export.h"
#include "widgets/theme.h"

#include <QButtonGroup>
#include <QPainter>
#include <QScrollBar>

#include <algorithm>
#include <cmath>
#include <utility>

namespace kvscope {

SweepMapPanel::SweepMapPanel(QWidget* parent)
    : PaintedPanel(QStringLiteral("sweep"), tr("Sweep map"), parent)
    , m_header(new PlotHeader({}, this))
    , m_modes(m_header->addChoice({tr("Cells"), tr("Loss"), tr("Kinds")}, tr("What cells say")))
    , m_down(new QScrollBar(Qt::Vertical, this))
    , m_sideways(new QScrollBar(Qt::Horizontal, this))
{
    connect(m_modes, &QButtonGroup::idClicked, this,
            [this](int id) { setMode(static_cast<SweepMapMode>(id)); });
    for (QScrollBar* bar : {m_down, m_sideways}) {
        bar->hide();
        connect(bar, &QScrollBar::valueChanged, this, [this] {
            forgetDrawn();
            update();
        });
    }
    describe();
}

void SweepMapPanel::setReport(std::shared_ptr<const SweepReport> report)
{
    m_report = std::move(report);
    if (m_chosen && (!m_report || !cellOf(*m_report, *m_chosen)))
        m_chosen.reset();
    if (!m_report || !cellOf(*m_report, m_cursor))
        m_cursor = {};
    m_hovered.reset();
    describe();
    arrange();
    forgetDrawn();
    update();
}

void SweepMapPanel::setMode(SweepMapMode mode)
{
    if (mode == m_mode)
        return;
    m_mode = mode;
    m_modes->button(static_cast<int>(mode))->setChecked(true);
    describe();
    forgetDrawn();
    update();
    Q_EMIT modeChanged(mode);
}

void SweepMapPanel::choose(const SweepCellKey& key)
{
    if (isEmpty() || !cellOf(*m_report, key))
        return;
    SweepCellKey cell = key;
    if (cell.role == TrialRole::Oracle)
        cell.column = 0; // one cell over all lengths
    m_cursor = key;
    m_chosen = cell;
    update();
    Q_EMIT cellChosen(cell);
}

void SweepMapPanel::clearChosen()
{
    m_chosen.reset();
    update();
}

QWidget* SweepMapPanel::takeHeader()
{
    m_isHeaderTaken = true;
    m_header->setSurface(&Theme::dockTitle);
    arrange();
    forgetDrawn();
    return m_header;
}

void SweepMapPanel::describe()
{
    const QString title = m_report ? experimentTitle(*m_report) : tr("Sweep");
    const QString question = isEmpty() ? tr("no sweep yet") : sweepMapQuestion(*m_report, m_mode);
    m_header->setTexts({title, question, tr("measured")});
    setAccessibleName(tr("%1 map").arg(title));
    setDescription(question);
}

QRectF SweepMapPanel::mapArea() const
{
    return QRectF(rect()).adjusted(0, m_isHeaderTaken ? 0 : m_header->height(), 0, 0);
}

QRectF SweepMapPanel::mapAreaBesideBars() const
{
    // isHidden, not isVisible: the answer is the same before the panel is shown.
    const double right = m_down->isHidden() ? 0.0 : m_down->sizeHint().width();
    const double bottom = m_sideways->isHidden() ? 0.0 : m_sideways->sizeHint().height();
    return mapArea().adjusted(0, 0, -right, -bottom);
}

SweepMapLayout SweepMapPanel::currentLayout() const
{
    const SweepMapShape shape = isEmpty() ? SweepMapShape{} : sweepMapShape(*m_report);
    return layOutSweepMap(
        mapAreaBesideBars(), shape,
        {static_cast<double>(m_sideways->value()), static_cast<double>(m_down->value())});
}

void SweepMapPanel::arrange()
{
    if (!m_isHeaderTaken)
        m_header->setGeometry(0, 0, width(), m_header->height());
    m_down->hide();
    m_sideways->hide();
    if (isEmpty())
        return;
    // One bar takes room from the other's direction, so the second look may want both.
    for (int look = 0; look < 2; ++look) {
        const SweepMapLayout layout = currentLayout();
        m_down->setVisible(!m_down->isHidden() || layout.scrollsDown());
        m_sideways->setVisible(!m_sideways->isHidden() || layout.scrollsSideways());
    }
    const SweepMapLayout layout = currentLayout();
    const auto pixels = [](double length) { return static_cast<int>(std::ceil(length)); };
    const int seenAcross = pixels(layout.gridRight - layout.gridLeft);
    const int seenDown = pixels(layout.view.height());
    m_sideways->setRange(0, std::max(0, pixels(layout.contentWidth) - seenAcross));
    m_sideways->setPageStep(seenAcross);
    m_sideways->setSingleStep(pixels(layout.columnWidth));
    m_down->setRange(0, std::max(0, pixels(layout.contentHeight) - seenDown));
    m_down->setPageStep(seenDown);
    m_down->setSingleStep(pixels(layout.rowHeight));
    const QRect seen = layout.view.toAlignedRect();
    m_down->setGeometry(width() - m_down->sizeHint().width(), seen.top(),
                        m_down->sizeHint().width(), seen.height());
    m_sideways->setGeometry(static_cast<int>(layout.gridLeft),
                            height() - m_sideways->sizeHint().height(), seenAcross,
                            m_sideways->sizeHint().height());
}

void SweepMapPanel::forgetDrawn()
{
    m_scene = {};
}

void SweepMapPanel::resizeEvent(QResizeEvent*)
{
    arrange();
    forgetDrawn();
}

void SweepMapPanel::paintEmpty(QPainter& painter) const
{
    paintEmptyState(painter, mapArea(), Theme::current(), tr("No sweep yet"),
                    tr("Choose lengths and depths beside, look at the plan, then start. Cells fill "
                       "as trials land."));
}

void SweepMapPanel::paintEvent(QPaintEvent*)
{
    const Theme& theme = Theme::current();
    QPainter painter(this);
    if (isEmpty()) {
        painter.fillRect(rect(), theme.panel);
        paintEmpty(painter);
        paintFocus(painter);
        return;
    }
    const SweepMapLayout layout = currentLayout();
    const double ratio = devicePixelRatioF();
    if (m_scene.isNull() || m_scene.devicePixelRatio() != ratio) {
        m_scene = QPixmap(size() * ratio);
        m_scene.setDevicePixelRatio(ratio);
        m_scene.fill(theme.panel);
        QPainter scene(&m_scene);
        scene.setRenderHint(QPainter::Antialiasing);
        SweepMapPainter(scene, *m_report, layout, m_mode, theme).paint();
    }
    painter.drawPixmap(0, 0, m_scene);
    const SweepMapPainter overlay(painter, *m_report, layout, m_mode, theme);
    if (m_hovered)
        overlay.outlineHovered(*m_hovered, Qt::SolidLine);
    if (m_chosen)
        overlay.outlineChosen(*m_chosen);
    if (hasFocus())
        overlay.outlineHovered(m_cursor, Qt::DashLine);
    paintFocus(painter);
}

void SweepMapPanel::paintTo(QPainter& painter, const QRectF& area, const Theme& theme) const
{
    painter.fillRect(area, theme.panel);
    if (isEmpty())
        paintEmptyState(painter, area, theme, tr("No sweep yet"), {});
    else
        paintSweepPicture(painter, area, *m_report, m_mode, theme);
}

void SweepMapPanel::extendExport(ExportSource& source) const
{
    if (!isEmpty())
        source = sweepExportSource(m_report, m_mode, source.caption);
}

SnapshotTable SweepMapPanel::exportTable() const
{
    return sweepTable(m_report ? *m_report : SweepReport{});
}

SnapshotTable SweepMapPanel::accessibleTable() const
{
    SnapshotTable table;
    table.columns = {
        tr("cell"),           tr("found of asked"), tr("Wilson 95 %"), tr("against the line"),
        tr("mean nll, nats"), tr("wrong answers"),  tr("state")};
    if (isEmpty())
        return table;
    for (const SweepCellKey& key : allCells(*m_report)) {
        const SweepCell& cell = *cellOf(*m_report, key);
        const SweepColumn* column = columnOf(*m_report, key);
        const bool isSkipped = column && !column->skipReason.empty();
        QStringList wrong;
        for (const KindSegment& segment : kindSegments(cell, false))
            wrong.append(tr("%1 %2").arg(segment.count).arg(kindName(segment.kind)));
        const bool hasTrials = cell.score.trials > 0;
        table.rows.append(
            {cellName(*m_report, key), hasTrials ? scoreText(cell.score) : missingText(),
             hasTrials ? intervalText(cell.interval) : missingText(),
             hasTrials && key.role == TrialRole::Asked ? verdictWord(cell.verdict) : missingText(),
             hasTrials ? lossText(cell.meanAnswerNll) : missingText(),
             wrong.join(QStringLiteral(", ")),
             isSkipped ? tr("cannot fit: %1").arg(QString::fromStdString(column->skipReason))
                       : stateName(cell.state)});
    }
    return table;
}

} // namespace kvscope
