#pragma once

#include "engine/lab/sweep_report.h"
#include "engine/session/engine_snapshot.h"
#include "widgets/painted_panel.h"

#include <QElapsedTimer>

#include <cstdint>
#include <optional>
#include <vector>

namespace kvscope {

/// What the line that an experiment's progress says tells of the part at work:
/// "16,384 at 50 %, ferry: 9,984 of 16,352 tokens", "plain: 512 of 2,048 tokens".
struct RunningPart
{
    QString name;                ///< "16,384 at 50 %, ferry"; all of the line where it is another
    std::int64_t doneTokens = 0; ///< 0: not said
    std::int64_t tokens = 0;     ///< 0: not said
    std::optional<double> depth; ///< per cent, at which something is to be found
};
RunningPart runningPartFrom(const QString& what);

/// "trial 8 of 12" of the cell at work; empty where none is known to be.
QString runningTrialText(const SweepReport& report);

/// The part of an experiment that runs now: how much of its prompt the cache holds, where what is
/// asked for lies in it, where the trained positions end, and how fast it is read by position. Its
/// description is the dock's title. GUI thread.
class TrialRunningPanel : public PaintedPanel
{
    Q_OBJECT
public:
    explicit TrialRunningPanel(QWidget* parent = nullptr);

    void setTrainedPositions(std::int64_t positions) { m_trained = positions; } ///< 0: not stated
    /// \param experiment  "Needle"; \param what  as ExperimentProgress says it
    void setProgress(const QString& experiment, const QString& what);
    void setTrial(const QString& trial); ///< as runningTrialText() says it
    /// The cache of the experiment. A shorter one than before is another part's.
    void addSnapshot(const EngineSnapshot& snapshot);
    void setPaused(const QString& why); ///< empty: it goes on
    void clear();                       ///< nothing runs

    /// Tokens a second of the last stretch read; 0: not known yet.
    double tokensPerSecond() const { return m_points.empty() ? 0.0 : m_points.back().rate; }

    void paintTo(QPainter& painter, const QRectF& area, const Theme& theme) const override;
    SnapshotTable exportTable() const override;

    QSize sizeHint() const override { return {704, 108}; }
    QSize minimumSizeHint() const override { return {280, 84}; }

protected:
    void extendExport(ExportSource& source) const override;
    void paintEvent(QPaintEvent* event) override;

private:
    /// How fast the positions up to here were read.
    struct Point
    {
        std::int64_t position = 0;
        double rate = 0.0; ///< tokens a second
    };
    struct Lanes;

    bool isEmpty() const { return m_experiment.isEmpty(); }
    void beginPart();
    void describe();
    QString descriptionNow() const;
    double axisEnd() const;
    Lanes lanesIn(const QRectF& area) const;
    void paintCache(QPainter& painter, const Lanes& lanes, const Theme& theme) const;
    void paintMarks(QPainter& painter, const Lanes& lanes, const Theme& theme) const;
    void paintRate(QPainter& painter, const Lanes& lanes, const Theme& theme) const;

    QString m_experiment; ///< empty: nothing runs
    QString m_trial;
    QString m_paused;
    RunningPart m_part;
    std::int64_t m_trained = 0;
    std::int64_t m_held = 0;      ///< positions in the cache
    std::int64_t m_allocated = 0; ///< of its longest growing array, in positions
    double m_seconds = 0.0;       ///< of the last snapshot; negative: none to count from
    std::vector<Point> m_points;
    QElapsedTimer m_described;
};

} // namespace kvscope
