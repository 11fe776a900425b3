#include "widgets/plot_view.h"

#include <algorithm>
#include <cmath>

namespace kvscope {
namespace {

// A following, zoomed-in view leaves this share of its width free, so that it moves now and then
// and not with every token.
constexpr double kShareAhead = 0.2;

} // namespace

PlotView::PlotView(double smallestFit, QObject* parent)
    : QObject(parent)
    , m_smallestFit(smallestFit)
    , m_upper(smallestFit)
{
}

double PlotView::toLinear(double x) const
{
    return m_scale == AxisScale::Log ? std::log(std::max(x, 1e-9)) : x;
}

double PlotView::fromLinear(double x) const
{
    return m_scale == AxisScale::Log ? std::exp(x) : x;
}

double PlotView::fittedUpper() const
{
    return steppedMaximum(m_smallestFit, m_head);
}

void PlotView::show(double lower, double upper)
{
    if (lower == m_lower && upper == m_upper)
        return;
    m_lower = lower;
    m_upper = upper;
    Q_EMIT changed();
}

void PlotView::setHead(const QObject* plot, double head)
{
    if (m_heads.emplace(plot, head).second)
        connect(plot, &QObject::destroyed, this, [this, plot] { m_heads.erase(plot); });
    m_heads[plot] = head;
    double furthest = 0.0;
    for (const auto& [teller, told] : m_heads)
        furthest = std::max(furthest, told);
    if (furthest == m_head)
        return;
    m_head = furthest;
    if (m_isFollowing)
        followHead();
}

void PlotView::followHead()
{
    if (m_isFitted) {
        show(floor(), fittedUpper());
        return;
    }
    if (m_head >= m_lower && m_head <= m_upper)
        return;
    const double width = toLinear(m_upper) - toLinear(m_lower);
    const double lower =
        std::max(toLinear(m_head) - width * (1.0 - kShareAhead), toLinear(floor()));
    show(fromLinear(lower), fromLinear(lower + width));
}

void PlotView::setFollowing(bool isFollowing)
{
    if (isFollowing == m_isFollowing)
        return;
    m_isFollowing = isFollowing;
    if (isFollowing)
        followHead();
    Q_EMIT followingChanged(isFollowing);
}

void PlotView::stopFollowing()
{
    m_isFitted = false;
    setFollowing(false);
}

void PlotView::setScale(AxisScale scale)
{
    if (scale == m_scale)
        return;
    m_scale = scale;
    m_lower = std::max(m_lower, floor());
    if (m_isFitted) {
        m_lower = floor();
        m_upper = fittedUpper();
    }
    if (m_upper <= m_lower)
        m_upper = m_lower * 2.0;
    Q_EMIT changed();
}

void PlotView::fit()
{
    m_isFitted = true;
    show(floor(), fittedUpper());
    setFollowing(true);
}

void PlotView::zoomAt(double anchor, double factor)
{
    // Between a few points and a few times the data: further is only empty.
    const double at = toLinear(std::clamp(anchor, m_lower, m_upper));
    double lower = at - (at - toLinear(m_lower)) * factor;
    double upper = at + (toLinear(m_upper) - at) * factor;
    lower = std::max(fromLinear(lower), floor());
    upper = std::min(fromLinear(upper), std::max(fittedUpper() * 4.0, m_upper));
    const double smallest = m_scale == AxisScale::Log ? lower * 1.05 - lower : m_smallestFit / 32.0;
    if (factor < 1.0 && upper - lower < smallest)
        return;
    stopFollowing();
    show(lower, upper);
}

void PlotView::panBy(double share)
{
    const double width = toLinear(m_upper) - toLinear(m_lower);
    const double limit = std::max(toLinear(fittedUpper() * 4.0), toLinear(m_upper));
    const double lower = std::clamp(toLinear(m_lower) + width * share, toLinear(floor()),
                                    std::max(limit - width, toLinear(floor())));
    stopFollowing();
    show(fromLinear(lower), fromLinear(lower + width));
}

} // namespace kvscope
