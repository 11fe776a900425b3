#pragma once

#include "widgets/series_thinning.h"

#include <QObject>

#include <map>

namespace kvscope {

/// The stretch of the x axis that plots show: zooming, panning and following the newest point.
///
/// Plots with the same unit share one view, and so move together. While it follows, the view ends a
/// step (1.25 times) past the head and moves only when the head passes its end. Zooming or panning
/// ends following; fit() and setFollowing(true) start it again.
class PlotView : public QObject
{
    Q_OBJECT
public:
    /// \param smallestFit  what a fitted view shows at least, in the axis' unit; positive
    explicit PlotView(double smallestFit, QObject* parent = nullptr);

    double lower() const { return m_lower; }
    double upper() const { return m_upper; }
    double head() const { return m_head; }
    bool isFollowing() const { return m_isFollowing; }
    AxisScale scale() const { return m_scale; }

    /// A plot's newest x; the head is the furthest that any plot of this view told. Going back (a
    /// new chat) shrinks a following view again.
    void setHead(const QObject* plot, double head);
    /// On: brings the head into view, keeping the width that was zoomed to.
    void setFollowing(bool isFollowing);
    void setScale(AxisScale scale);
    /// Shows everything from the start, and follows.
    void fit();
    /// Makes the stretch `factor` times as wide around `anchor`; below 1 zooms in.
    void zoomAt(double anchor, double factor);
    /// Moves by a share of the width; positive shows later points.
    void panBy(double share);

Q_SIGNALS:
    void changed(); ///< range or scale
    void followingChanged(bool isFollowing);

private:
    void show(double lower, double upper);
    void followHead();
    void stopFollowing();
    double fittedUpper() const;
    /// The smallest x that can be shown: 1 on a logarithmic axis, which has no zero.
    double floor() const { return m_scale == AxisScale::Log ? 1.0 : 0.0; }
    double toLinear(double x) const;
    double fromLinear(double x) const;

    double m_smallestFit;
    double m_lower = 0.0;
    double m_upper;
    std::map<const QObject*, double> m_heads;
    double m_head = 0.0;
    AxisScale m_scale = AxisScale::Linear;
    bool m_isFollowing = true;
    bool m_isFitted = true; ///< shows everything; a head that moves on only grows it
};

} // namespace kvscope
