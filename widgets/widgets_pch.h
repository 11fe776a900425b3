#pragma once

// Precompiled for the widgets, the window and their tests: parsing Qt and QCustomPlot costs seconds
// a file.
#include "widgets/plot_include.h"

#include <QAbstractTableModel>
#include <QFontMetricsF>
#include <QHBoxLayout>
#include <QMouseEvent>
#include <QPainter>
#include <QTimer>
#include <QToolButton>
#include <QWidget>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>
