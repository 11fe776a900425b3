#include "widgets/status_strip.h"

#include "widgets/elided_label.h"
#include "widgets/fonts.h"
#include "widgets/number_format.h"
#include "widgets/theme.h"

#include <QEvent>
#include <QFontMetrics>
#include <QPainter>

#include <algorithm>

namespace kvscope {
namespace {

constexpr int kRefreshMilliseconds = 250;
constexpr int kGap = 10; ///< on either side of the line between segments

QFont figureFont()
{
    return uiFont(TextSize::Secondary, QFont::Bold);
}

QString rateText(double tokensPerSecond)
{
    return tokensPerSecond >= 99.95 ? countText(static_cast<std::int64_t>(tokensPerSecond + 0.5))
                                    : QString::number(tokensPerSecond, 'f', 1);
}

} // namespace

StatusStrip::StatusStrip(QWidget* parent)
    : QWidget(parent)
{
    setAccessibleName(tr("Status"));
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
    m_refresh.setSingleShot(true);
    m_refresh.setInterval(kRefreshMilliseconds);
    connect(&m_refresh, &QTimer::timeout, this, &StatusStrip::refresh);
    refresh();
}

void StatusStrip::setModel(const ModelDescription& model)
{
    m_model = model;
    refresh();
}

void StatusStrip::clearModel()
{
    m_model.reset();
    refresh();
}

void StatusStrip::setSnapshot(std::shared_ptr<const EngineSnapshot> snapshot)
{
    const bool isFirst = m_snapshot == nullptr;
    const bool phaseChanged =
        !isFirst && snapshot != nullptr && m_snapshot->phase != snapshot->phase;
    m_snapshot = std::move(snapshot);
    if ((isFirst || phaseChanged) && !m_refresh.isActive())
        refresh();
    if (!m_refresh.isActive())
        m_refresh.start();
}

void StatusStrip::refresh()
{
    m_segments.clear();
    if (!m_model)
        m_segments.push_back({{tr("no model"), false}});
    else if (!m_model->device.empty())
        m_segments.push_back(
            {{QString::fromStdString(m_model->device), true},
             {m_model->compute.empty()
                  ? QString()
                  : QStringLiteral(", ") + QString::fromStdString(m_model->compute),
              false}});
    if (m_model && !m_model->rotaryOverride.empty())
        m_segments.push_back({{tr("! rotation "), false},
                              {QString::fromStdString(m_model->rotary), true},
                              {tr(", not the file's"), false}});
    if (m_snapshot != nullptr) {
        if (m_model)
            addRates(*m_snapshot);
        addMemory(*m_snapshot);
    }
    const QString all = texts().join(u'\n');
    setToolTip(plainTooltip(all));
    setAccessibleDescription(texts().join(QStringLiteral("; ")));
    update();
}

void StatusStrip::addRates(const EngineSnapshot& snapshot)
{
    if (snapshot.prefillTokensPerSecond > 0.0)
        m_segments.push_back({{tr("prefill "), false},
                              {rateText(snapshot.prefillTokensPerSecond), true},
                              {tr(" tok/s"), false}});
    const double rate = snapshot.decodeTokensPerSecond;
    if (rate > 0.0)
        m_segments.push_back(
            {{tr("decode "), false},
             {rateText(rate), true},
             {tr(" tok/s, %1 ms").arg(QString::number(1000.0 / rate, 'f', 1)), false}});
}

void StatusStrip::addMemory(const EngineSnapshot& snapshot)
{
    const MemorySample& memory = snapshot.memory;
    if (m_model && memory.weights > 0)
        m_segments.push_back({{tr("weights "), false}, {bytesText(memory.weights), true}});
    if (m_model && snapshot.cache.allocatedBytes > 0) {
        const std::uint64_t live = snapshot.cache.liveBytes;
        const std::uint64_t slack =
            snapshot.cache.allocatedBytes - std::min(snapshot.cache.allocatedBytes, live);
        QString rest = tr(" live + %1 slack").arg(bytesText(slack));
        // Nothing is saved where every layer is global, and at the start of a context.
        if (live > 0 && snapshot.cache.allGlobalBytes > live)
            rest += tr(", %1 × below all-global")
                        .arg(QString::number(static_cast<double>(snapshot.cache.allGlobalBytes) /
                                                 static_cast<double>(live),
                                             'f', 2));
        m_segments.push_back({{tr("cache "), false}, {bytesText(live), true}, {rest, false}});
    }
    QString process;
    if (memory.processResident > 0)
        process = tr("process %1").arg(bytesText(memory.processResident));
    if (memory.hostFree > 0)
        process += (process.isEmpty() ? QString() : QStringLiteral(", ")) +
                   tr("free %1").arg(bytesText(memory.hostFree));
    if (!process.isEmpty())
        m_segments.push_back({{process, false}});
}

QStringList StatusStrip::texts() const
{
    QStringList texts;
    for (const Segment& segment : m_segments) {
        QString text;
        for (const Run& run : segment)
            text += run.text;
        texts << text;
    }
    return texts;
}

int StatusStrip::widthOf(const Segment& segment) const
{
    int width = 0;
    for (const Run& run : segment)
        width += QFontMetrics(run.isFigure ? figureFont() : uiFont(TextSize::Secondary))
                     .horizontalAdvance(run.text);
    return width;
}

QSize StatusStrip::sizeHint() const
{
    int width = kGap;
    for (const Segment& segment : m_segments)
        width += widthOf(segment) + 2 * kGap + 1;
    return {width, QFontMetrics(uiFont(TextSize::Secondary)).height() + 6};
}

QSize StatusStrip::minimumSizeHint() const
{
    return {80, sizeHint().height()};
}

void StatusStrip::paintEvent(QPaintEvent*)
{
    const Theme& theme = Theme::current();
    QPainter painter(this);
    const int baseline = (height() + QFontMetrics(figureFont()).ascent() -
                          QFontMetrics(figureFont()).descent() + 1) /
                         2;
    int x = kGap;
    for (const Segment& segment : m_segments) {
        if (x > kGap) {
            painter.fillRect(x, 5, 1, height() - 10, theme.line);
            x += 1 + kGap;
        }
        for (const Run& run : segment) {
            painter.setFont(run.isFigure ? figureFont() : uiFont(TextSize::Secondary));
            painter.setPen(run.isFigure ? theme.ink : theme.ink2);
            const int room = std::max(0, width() - kGap - x);
            const QString shown = painter.fontMetrics().elidedText(run.text, Qt::ElideRight, room);
            painter.drawText(x, baseline, shown);
            if (shown != run.text)
                return; // the rest is in the tooltip
            x += painter.fontMetrics().horizontalAdvance(run.text);
        }
        x += kGap;
        if (x > width() - 40)
            return;
    }
}

void StatusStrip::changeEvent(QEvent* event)
{
    QWidget::changeEvent(event);
    if (event->type() == QEvent::PaletteChange || event->type() == QEvent::FontChange)
        update();
}

} // namespace kvscope
