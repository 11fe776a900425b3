#pragma once

#include "engine/session/engine_snapshot.h"

#include <QElapsedTimer>
#include <QTimer>
#include <QWidget>

#include <memory>
#include <optional>
#include <vector>

namespace kvscope {

/// The figures of the status bar: device, prefill and decode rate, weights, cache, process. New
/// ones at most four times a second; on narrow windows the rightmost give way, the tooltip has them
/// all.
class StatusStrip : public QWidget
{
    Q_OBJECT
public:
    explicit StatusStrip(QWidget* parent = nullptr);

    void setModel(const ModelDescription& model);
    void clearModel();
    void setSnapshot(std::shared_ptr<const EngineSnapshot> snapshot);
    /// All segments as plain text, as the tooltip shows them.
    QStringList texts() const;

    QSize sizeHint() const override;
    QSize minimumSizeHint() const override;

protected:
    void paintEvent(QPaintEvent* event) override;
    void changeEvent(QEvent* event) override;

private:
    /// A stretch of a segment; figures are bold.
    struct Run
    {
        QString text;
        bool isFigure = false;
    };
    using Segment = std::vector<Run>;
    void refresh();
    void addRates(const EngineSnapshot& snapshot);
    void addMemory(const EngineSnapshot& snapshot);
    int widthOf(const Segment& segment) const;

    std::optional<ModelDescription> m_model;
    std::shared_ptr<const EngineSnapshot> m_snapshot;
    std::vector<Segment> m_segments;
    QTimer m_refresh; ///< runs while a newer snapshot waits
};

} // namespace kvscope
