#include "widgets/plot_panel.h"

#include "widgets/fonts.h"
#include "widgets/number_format.h"
#include "widgets/plot_canvas.h"
#include "widgets/plot_export.h"
#include "widgets/plot_header.h"
#include "widgets/plot_view.h"
#include "widgets/token_keys.h"
#include "widgets/token_selection.h"

#include <QContextMenuEvent>
#include <QEvent>
#include <QKeyEvent>
#include <QMenu>
#include <QPainter>

#include <algorithm>

namespace kvscope {
namespace {

// Figures that change faster cannot be read.
constexpr int kReadoutInterval = 250;
constexpr int kExportHeaderHeight = 28;
constexpr double kFlagHeight = 15.0;

} // namespace

PlotPanel::PlotPanel(const PlotTexts& texts, QWidget* parent)
    : QWidget(parent)
    , m_texts(texts)
    , m_header(new PlotHeader({texts.title, texts.question, texts.tag}, this))
    , m_canvas(new PlotCanvas(this))
    , m_readout(new TokenReadout(this))
{
    setAccessibleName(texts.title);
    setAccessibleDescription(texts.question);
    m_canvas->setAccessibleName(texts.title);
    m_canvas->setAccessibleDescription(texts.question);
    setFocusProxy(m_canvas);
    m_readoutTimer.setSingleShot(true);
    m_readoutTimer.setInterval(kReadoutInterval);
    connect(&m_readoutTimer, &QTimer::timeout, this, [this] { updateReadout(); });
    connect(m_canvas, &PlotCanvas::hovered, this, [this](const QPointF& pixel) {
        if (m_selection == nullptr)
            return;
        if (const auto token = tokenAt(pixel))
            m_selection->hover(*token);
        else
            m_selection->clearHover();
    });
    connect(m_canvas, &PlotCanvas::hoverLeft, this, [this] {
        if (m_selection != nullptr)
            m_selection->clearHover();
    });
    connect(m_canvas, &PlotCanvas::clicked, this, &PlotPanel::pick);
    m_canvas->addDrawing(PlotCanvas::Place::Overlay,
                         [this](QCPPainter& painter, const QRectF& area, const Theme& theme) {
                             drawMarks(painter, area, theme);
                         });
    m_canvas->addDrawing(PlotCanvas::Place::Above,
                         [this](QCPPainter& painter, const QRectF& area, const Theme& theme) {
                             drawEmptyText(painter, area, theme);
                         });
}

PlotPanel::~PlotPanel()
{
    // Before QWidget hides it, which would draw the marks once more through functions of the
    // derived plot that is gone by then.
    delete m_canvas;
}

void PlotPanel::setSelection(TokenSelectionModel* selection)
{
    if (m_selection != nullptr)
        disconnect(m_selection, nullptr, this, nullptr);
    m_selection = selection;
    if (m_selection != nullptr)
        connect(m_selection, &TokenSelectionModel::changed, this, [this] {
            m_canvas->updateOverlay();
            updateReadout();
        });
    if (m_canvas->view() != nullptr)
        linkFollowing(m_canvas->view());
    m_canvas->updateOverlay();
    updateReadout();
}

void PlotPanel::linkFollowing(PlotView* view)
{
    if (m_selection == nullptr || view == nullptr)
        return;
    view->setFollowing(m_selection->selection().followsHead);
    connect(view, &PlotView::followingChanged, m_selection, &TokenSelectionModel::setFollowsHead,
            Qt::UniqueConnection);
    connect(m_selection, &TokenSelectionModel::followsHeadChanged, view, &PlotView::setFollowing,
            Qt::UniqueConnection);
}

void PlotPanel::setModel(const ModelDescription& model)
{
    m_model = model;
    modelChanged();
    m_canvas->requestReplot();
}

void PlotPanel::setHeaderVisible(bool isVisible)
{
    m_header->setVisible(isVisible);
    arrange();
}

QWidget* PlotPanel::takeHeader()
{
    m_isHeaderTaken = true;
    m_header->setSurface(&Theme::dockTitle);
    arrange();
    return m_header;
}

TokenSelectionModel* PlotPanel::selection() const
{
    return m_selection;
}

QString PlotPanel::title() const
{
    return m_texts.title;
}

QString PlotPanel::description() const
{
    return m_texts.question;
}

void PlotPanel::pick(const QPointF& pixel, Qt::KeyboardModifiers modifiers)
{
    const auto token = tokenAt(pixel);
    if (m_selection == nullptr || !token)
        return;
    if (modifiers.testFlag(Qt::ShiftModifier))
        m_selection->extendTo(*token);
    else
        m_selection->pin(*token);
    m_selection->setFollowsHead(false);
}

void PlotPanel::updateReadout()
{
    m_readoutTimer.stop();
    m_readout->setTable(readoutTable());
}

void PlotPanel::updateReadoutSoon()
{
    if (!m_readoutTimer.isActive())
        m_readoutTimer.start();
}

void PlotPanel::arrange()
{
    const int top = m_isHeaderTaken || m_header->isHidden() ? 0 : m_header->height();
    const ReadoutColumns columns = readoutColumnsFor(width());
    m_readout->setColumns(columns);
    const int beside = readoutWidth(columns);
    if (!m_isHeaderTaken)
        m_header->setGeometry(0, 0, width(), m_header->height());
    m_canvas->setGeometry(0, top, std::max(width() - beside, 1), std::max(height() - top, 1));
    m_readout->setGeometry(width() - beside, top, beside, std::max(height() - top, 1));
}

void PlotPanel::resizeEvent(QResizeEvent* event)
{
    QWidget::resizeEvent(event);
    arrange();
}

void PlotPanel::paintEvent(QPaintEvent*)
{
    QPainter(this).fillRect(rect(), Theme::current().panel);
}

void PlotPanel::changeEvent(QEvent* event)
{
    QWidget::changeEvent(event);
    if (event->type() == QEvent::PaletteChange)
        update();
}

void PlotPanel::contextMenuEvent(QContextMenuEvent* event)
{
    QMenu menu(this);
    PlotView* view = m_canvas->view();
    if (view != nullptr) {
        connect(menu.addAction(tr("Fit")), &QAction::triggered, view, &PlotView::fit);
        QAction* follow = menu.addAction(tr("Follow head"));
        follow->setCheckable(true);
        follow->setChecked(view->isFollowing());
        connect(follow, &QAction::toggled, view, &PlotView::setFollowing);
        extendContextMenu(menu);
        menu.addSeparator();
    }
    addPlotExportActions(
        menu, this, [this] { return exportSource(); },
        [this](const QString& path, const std::optional<QString>& error) {
            if (error)
                Q_EMIT exportFailed(*error);
            else
                Q_EMIT exported(path);
        });
    menu.exec(event->globalPos());
}

void PlotPanel::keyPressEvent(QKeyEvent* event)
{
    if (m_selection == nullptr || !handleTokenKey(*event, *m_selection))
        QWidget::keyPressEvent(event);
}

void PlotPanel::drawFlag(QCPPainter& painter, const QRectF& area, const Theme& theme, double x,
                         const QString& text) const
{
    painter.setFont(digitFont(TextSize::Axis, QFont::Bold));
    const double width = painter.fontMetrics().horizontalAdvance(text) + 10.0;
    const double left =
        std::clamp(x - width / 2.0, area.left(), std::max(area.right() - width, area.left()));
    const QRectF flag(left, area.bottom() + 2, width, kFlagHeight);
    painter.setPen(Qt::NoPen);
    painter.setBrush(theme.selection);
    painter.drawRoundedRect(flag, spacing::kRadius, spacing::kRadius);
    painter.setPen(theme.textOn(theme.selection));
    painter.drawText(flag, Qt::AlignCenter, text);
}

void PlotPanel::drawMarks(QCPPainter& painter, const QRectF& area, const Theme& theme) const
{
    if (m_selection == nullptr)
        return;
    const TokenSelection& now = m_selection->selection();
    const auto pixelOf = [&](std::int64_t position) -> std::optional<double> {
        const auto x = xOfToken(position);
        if (!x || !m_canvas->xAxis->range().contains(*x))
            return std::nullopt;
        return m_canvas->xPixel(*x);
    };
    if (const auto range = now.range()) {
        const auto first = xOfToken(range->first);
        const auto last = xOfToken(range->last);
        if (first && last) {
            const double left = std::max(m_canvas->xPixel(*first), area.left());
            const double right = std::min(m_canvas->xPixel(*last), area.right());
            QColor tint = theme.selection;
            tint.setAlphaF(0.14F);
            if (right > left)
                painter.fillRect(QRectF(left, area.top(), right - left, area.height()), tint);
        }
    }
    const bool isExport = painter.modes().testFlag(QCPPainter::pmNoCaching);
    if (now.hovered && !isExport) {
        if (const auto x = pixelOf(*now.hovered)) {
            painter.setPen(QPen(theme.ink, 1, Qt::DashLine));
            painter.drawLine(QPointF(*x, area.top()), QPointF(*x, area.bottom()));
        }
    }
    if (now.pinned) {
        if (const auto x = pixelOf(*now.pinned)) {
            painter.setPen(QPen(theme.selection, 1.6));
            painter.drawLine(QPointF(*x, area.top()), QPointF(*x, area.bottom()));
            drawFlag(painter, area, theme, *x, countText(*now.pinned));
        }
    }
}

void PlotPanel::drawEmptyText(QCPPainter& painter, const QRectF& area, const Theme& theme) const
{
    const QString text = emptyText();
    if (text.isEmpty())
        return;
    painter.setFont(uiFont(TextSize::Secondary));
    painter.setPen(theme.ink3);
    painter.drawText(area.adjusted(8, 4, -8, -4), Qt::AlignCenter | Qt::TextWordWrap, text);
}

QString PlotPanel::csv() const
{
    return recipeComment(m_model, m_texts.title, m_texts.tag) + csvText(exportTable());
}

ExportSource PlotPanel::exportSource()
{
    ExportSource source;
    source.name = m_texts.exportName;
    source.size = size().expandedTo(QSize(480, 220));
    source.caption = recipeLine(m_model, m_texts.tag);
    source.paint = [this](QPainter& painter, const QRectF& area, const Theme& theme) {
        paintTo(painter, area, theme);
    };
    source.csv = [this] { return csv(); };
    source.hasSvg = true;
    return source;
}

void PlotPanel::paintTo(QPainter& painter, const QRectF& area, const Theme& theme)
{
    painter.save();
    painter.translate(area.topLeft());
    paintPlotHeader(painter, QRectF(0, 0, area.width(), kExportHeaderHeight),
                    {m_texts.title, m_texts.question, m_texts.tag}, theme);
    const ReadoutColumns columns = readoutColumnsFor(static_cast<int>(area.width()));
    const int beside = readoutWidth(columns);
    const double height = area.height() - kExportHeaderHeight;
    painter.translate(0, kExportHeaderHeight);
    m_canvas->paintTo(painter, QSizeF(area.width() - beside, height).toSize(), theme);
    paintReadout(painter, QRectF(area.width() - beside, 0, beside, height), readoutTable(), columns,
                 theme);
    painter.restore();
}

} // namespace kvscope
