#pragma once

#include "engine/cache/cache_snapshot.h"
#include "widgets/plot_panel.h"
#include "widgets/series_thinning.h"

#include <QPointer>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

class QCPGraph;

namespace kvscope {

class PlotView;
class TokenHistory;

/// The loss of every token by its position, in nats: a dot each, and their running mean over 64.
///
/// Marks the trained length and the positions that windowed layers still hold. Losses of generated
/// tokens appear as they come, those of the prompt where scoring it is switched on; what was not
/// computed is a gap.
class LossPlot : public PlotPanel
{
    Q_OBJECT
public:
    explicit LossPlot(QWidget* parent = nullptr);
    ~LossPlot() override;

    /// Whose losses are shown; followed as it changes.
    void setTokens(TokenHistory* tokens);
    /// Where the windows begin now.
    void setCache(const CacheSnapshot& cache);
    /// Shares its stretch of positions with other plots. Must outlive the panel.
    void setPositionView(PlotView* view);
    PlotView* positionView() const { return m_view; }
    void setScale(AxisScale scale);

    /// The oldest position that a windowed layer still holds; none without such a layer, or while
    /// nothing is cached.
    std::optional<std::int64_t> firstInWindows() const { return m_firstInWindows; }

protected:
    SnapshotTable exportTable() const override;
    ReadoutTable readoutTable() const override;
    std::optional<double> xOfToken(std::int64_t position) const override;
    std::optional<std::int64_t> tokenAt(const QPointF& pixel) const override;
    QString emptyText() const override;

private:
    static constexpr int kDotSize = 2; ///< px

    void forgetFrom(std::int64_t position);
    void takeNewLosses() const;
    void prepare(const PlotResolution& resolution);
    void applyScale();
    void restyle(const Theme& theme);
    void showTooltip(const QPointF& pixel);
    void drawWindows(QCPPainter& painter, const QRectF& area, const Theme& theme) const;
    void drawDots(QCPPainter& painter, const QRectF& area, const Theme& theme) const;
    void drawTrainedLength(QCPPainter& painter, const QRectF& area, const Theme& theme) const;
    void drawChosenDots(QCPPainter& painter, const QRectF& area, const Theme& theme) const;
    double lossAt(std::int64_t position) const;
    double smoothedAt(std::int64_t position) const;
    double meanOf(std::int64_t first, std::int64_t last) const;

    QPointer<TokenHistory> m_tokens;
    PlotView* m_view;
    QCPGraph* m_smoothedGraph;
    std::optional<std::int64_t> m_firstInWindows;
    std::int64_t m_cachedLength = 0;
    std::vector<std::size_t> m_shownDots;
    // Copied from the tokens when first asked for after a change: NaN where not computed.
    mutable std::vector<double> m_xs;
    mutable std::vector<double> m_losses;
    mutable std::vector<double> m_smoothed;
    mutable bool m_isSmoothedCurrent = true;
};

} // namespace kvscope
