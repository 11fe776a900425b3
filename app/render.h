#pragma once

#include "engine/lab/report_card_report.h"

#include <QByteArray>
#include <QString>
#include <QStringList>

#include <ostream>

namespace kvscope {

/// A card as one HTML file with its plots as SVG. Wants a QGuiApplication.
QByteArray cardPage(const ReportCard& card);
/// A card as the JSON that renderFile() draws again.
QByteArray cardText(const ReportCard& card);

/// Draws a saved value into a picture, for the command line, which has no Qt: a card (its `schema`
/// says so), the result of needle or passkey (its `experiment` does), or the record of one,
/// finished or not (its file ends in .jsonl), or the loss.csv of a training, finished or not.
/// \param pictures  exactly one path; its ending chooses: .pdf, .png or .svg, of a card .html, of a
/// sweep .csv and .json \param err  one line where it cannot be done \returns the exit code: 0
/// done, 1 failed, 2 wrong usage
int renderFile(const QString& json, const QStringList& pictures, std::ostream& err);

/// Chooses Qt's offscreen platform where no other was chosen. Call before the application is made.
void drawWithoutScreen();

} // namespace kvscope
