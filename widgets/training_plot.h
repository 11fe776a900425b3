#pragma once

#include "engine/train/training_report.h"
#include "widgets/export_menu.h"

#include <QRectF>
#include <QSizeF>
#include <QString>

#include <memory>

class QPainter;

namespace kvscope {

struct Theme;

/// Where things stand in a picture of a training: losses above, the experts' balance below, over
/// the same steps.
struct TrainingPlotLayout
{
    QRectF losses;            ///< the axes' area
    QRectF balance;           ///< the axes' area
    QSizeF size;              ///< of all
    double lastStep = 1.0;    ///< right end of the x axes
    double mostLoss = 1.0;    ///< top of the upper y axis, nats
    double mostBalance = 2.0; ///< top of the lower y axis

    double xOf(double step) const { return losses.left() + losses.width() * step / lastStep; }
};

/// \param report  has a step
TrainingPlotLayout trainingPlotLayout(const TrainingReport& report);

/// Draws the losses of answers and of text in nats and the balance of the experts' load, by step:
/// each step faintly, the mean of the last 25 above it. Dashed lines mark where phases begin,
/// dotted ones where the texts become longer. Both y axes begin at 0.
void paintTrainingPlot(QPainter& painter, const QRectF& area, const TrainingReport& report,
                       const Theme& theme);

/// Its picture. \param report  not null, has a step
ExportSource trainingExportSource(std::shared_ptr<const TrainingReport> report,
                                  const QString& caption);

} // namespace kvscope
