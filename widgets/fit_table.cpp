#include "widgets/fit_table.h"

#include "widgets/fonts.h"
#include "widgets/number_format.h"
#include "widgets/theme.h"

#include <QHeaderView>
#include <QPainter>
#include <QStyledItemDelegate>

#include <algorithm>
#include <cmath>
#include <optional>

namespace kvscope {
namespace {

constexpr int kMostRows = 8;
constexpr std::int64_t kShortest = 1024;
constexpr int kBarWidth = 120;
constexpr int kRowHeight = spacing::kDenseRow + 2;
constexpr double kGiB = 1024.0 * 1024.0 * 1024.0;
constexpr double kMiB = 1024.0 * 1024.0;

/// Draws weights, cache, growth copy and working room end to end, with a mark at what is free.
class BarDelegate : public QStyledItemDelegate
{
public:
    BarDelegate(const FitModel& model, QObject* parent)
        : QStyledItemDelegate(parent)
        , m_model(model)
    {
    }

    void paint(QPainter* painter, const QStyleOptionViewItem& option,
               const QModelIndex& index) const override
    {
        QStyledItemDelegate::paint(painter, option, index);
        const FitEstimate& fit = m_model.estimate(index.row(), 0);
        const Theme& theme = Theme::current();
        const QRectF area = QRectF(option.rect).adjusted(6, 6, -6, -6);
        const double scale = area.width() / static_cast<double>(m_model.largestBytes());
        double x = area.left();
        for (const auto& [bytes, color] :
             {std::pair{fit.weightBytes, theme.weights}, std::pair{fit.cacheBytes, theme.global},
              std::pair{fit.growthBytes, theme.growthCopy},
              std::pair{fit.workBytes, theme.scratch}}) {
            const double width = static_cast<double>(bytes) * scale;
            painter->fillRect(QRectF(x, area.top(), width, area.height()), color);
            x += width;
        }
        if (fit.freeBytes) {
            const double mark = area.left() + static_cast<double>(*fit.freeBytes) * scale;
            painter->fillRect(
                QRectF(std::round(mark), option.rect.top() + 3, 2, option.rect.height() - 6),
                theme.ink);
        }
    }

private:
    const FitModel& m_model;
};

} // namespace

std::vector<std::int64_t> fitLengths(std::int64_t maximum)
{
    std::vector<std::int64_t> lengths{maximum};
    std::int64_t length = kShortest;
    while (length < maximum && length <= maximum / 2)
        length *= 2;
    for (; length >= kShortest && lengths.size() < kMostRows; length /= 2)
        if (length < maximum)
            lengths.push_back(length);
    std::reverse(lengths.begin(), lengths.end());
    return lengths;
}

void FitModel::setPreview(const OpenPreview& preview, const OpenChoice& choice)
{
    beginResetModel();
    m_devices.clear();
    m_rows.clear();
    // The chosen device first: the bar and the sums are of it.
    m_devices.push_back(choice.device);
    for (const DeviceReading& device : preview.devices)
        if (device.id != choice.device && device.unusable.empty())
            m_devices.push_back(device.id);
    const std::int64_t maximum =
        choice.maxContext > 0 ? choice.maxContext : preview.extendedPositions;
    if (preview.opens() && maximum > 0)
        for (const std::int64_t length : fitLengths(maximum)) {
            std::vector<FitEstimate> row;
            OpenChoice one = choice;
            for (const std::string& device : m_devices) {
                one.device = device;
                row.push_back(estimateFit(preview, one, length));
            }
            m_rows.push_back(std::move(row));
        }
    endResetModel();
}

void FitModel::clear()
{
    beginResetModel();
    m_rows.clear();
    m_devices.clear();
    endResetModel();
}

int FitModel::rowCount(const QModelIndex& parent) const
{
    return parent.isValid() ? 0 : static_cast<int>(m_rows.size());
}

int FitModel::columnCount(const QModelIndex& parent) const
{
    return parent.isValid() ? 0 : FirstDevice + static_cast<int>(m_devices.size());
}

const FitEstimate& FitModel::estimate(int row, int device) const
{
    return m_rows.at(static_cast<std::size_t>(row)).at(static_cast<std::size_t>(device));
}

std::uint64_t FitModel::largestBytes() const
{
    std::uint64_t largest = 1;
    for (const auto& row : m_rows)
        largest = std::max({largest, row.front().totalBytes(), row.front().freeBytes.value_or(0)});
    // Far more free than needed would leave no bar to see: the mark then lies beyond the end.
    const std::uint64_t needed = m_rows.empty() ? 1 : m_rows.back().front().totalBytes();
    return std::max<std::uint64_t>(1, std::min(largest, saturatingMultiply(needed, 2)));
}

QString FitModel::unit() const
{
    const bool isLarge =
        !m_rows.empty() && static_cast<double>(m_rows.back().front().totalBytes()) >= kGiB;
    return isLarge ? QStringLiteral("GiB") : QStringLiteral("MiB");
}

QString FitModel::inUnit(std::uint64_t bytes) const
{
    const bool isLarge = unit() == QStringLiteral("GiB");
    return QString::number(static_cast<double>(bytes) / (isLarge ? kGiB : kMiB), 'f',
                           isLarge ? 2 : 1);
}

QString FitModel::deviceText(const FitEstimate& fit) const
{
    if (!fit.freeBytes)
        return QStringLiteral("? ") + tr("not known");
    if (fit.fits())
        return QStringLiteral("✓ ") +
               tr("fits, %1 left").arg(bytesText(*fit.freeBytes - fit.totalBytes()));
    return QStringLiteral("✕ ") +
           tr("%1 too much").arg(bytesText(fit.totalBytes() - *fit.freeBytes));
}

QString FitModel::cellText(int row, int column) const
{
    const FitEstimate& fit = estimate(row, std::max(0, column - FirstDevice));
    switch (column) {
    case ContextColumn:
        return countText(fit.context);
    case CacheColumn:
        return inUnit(fit.cacheBytes);
    case GrowthColumn:
        return inUnit(fit.growthBytes);
    case TotalColumn:
        return inUnit(fit.totalBytes());
    case BarColumn:
        return {};
    default:
        return deviceText(fit);
    }
}

QVariant FitModel::data(const QModelIndex& index, int role) const
{
    if (!index.isValid() || index.row() >= rowCount())
        return {};
    const int column = index.column();
    const Theme& theme = Theme::current();
    const bool isDevice = column >= FirstDevice;
    const FitEstimate& fit = estimate(index.row(), std::max(0, column - FirstDevice));
    switch (role) {
    case Qt::DisplayRole:
        return cellText(index.row(), column);
    case Qt::TextAlignmentRole:
        return static_cast<int>(Qt::AlignRight | Qt::AlignVCenter);
    case Qt::FontRole:
        return isDevice ? uiFont(TextSize::Secondary)
                        : digitFont(TextSize::Body, column == ContextColumn || column == TotalColumn
                                                        ? QFont::Bold
                                                        : QFont::Normal);
    case Qt::ForegroundRole:
        if (isDevice)
            return !fit.freeBytes ? theme.ink2 : fit.fits() ? theme.good : theme.bad;
        return theme.ink;
    case Qt::BackgroundRole:
        if (isDevice && fit.freeBytes)
            return QBrush(fit.fits() ? theme.goodBackground : theme.badBackground);
        return {};
    case Qt::AccessibleTextRole:
        return column == BarColumn ? tr("%1 %2 in all").arg(inUnit(fit.totalBytes()), unit())
                                   : cellText(index.row(), column);
    default:
        return {};
    }
}

QVariant FitModel::headerData(int section, Qt::Orientation orientation, int role) const
{
    if (orientation != Qt::Horizontal)
        return {};
    if (role == Qt::TextAlignmentRole)
        return static_cast<int>((section == BarColumn ? Qt::AlignLeft : Qt::AlignRight) |
                                Qt::AlignVCenter);
    if (role != Qt::DisplayRole)
        return {};
    const FitEstimate* first = m_rows.empty() ? nullptr : &m_rows.front().front();
    switch (section) {
    case ContextColumn:
        return tr("Context");
    case CacheColumn:
        return tr("Cache, %1").arg(unit());
    case GrowthColumn:
        return tr("Growth\ncopy, %1").arg(unit());
    case TotalColumn:
        return tr("Total, %1").arg(unit());
    case BarColumn:
        return first == nullptr ? QString()
                                : tr("with weights %1,\nworking room %2")
                                      .arg(inUnit(first->weightBytes), inUnit(first->workBytes));
    default:
        break;
    }
    const auto device = static_cast<std::size_t>(section - FirstDevice);
    const auto& reading = m_rows.front().at(device);
    const QString name = QString::fromStdString(m_devices.at(device));
    return reading.freeBytes ? tr("%1\n%2 free").arg(name, bytesText(*reading.freeBytes)) : name;
}

FitTable::FitTable(QWidget* parent)
    : QTableView(parent)
    , m_model(new FitModel(this))
{
    setModel(m_model);
    setItemDelegateForColumn(FitModel::BarColumn, new BarDelegate(*m_model, this));
    setAccessibleName(tr("Memory by context length"));
    setShowGrid(false);
    setTabKeyNavigation(false);
    setSelectionBehavior(QAbstractItemView::SelectRows);
    setHorizontalScrollMode(QAbstractItemView::ScrollPerPixel);
    setVerticalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    setWordWrap(false);
    verticalHeader()->hide();
    verticalHeader()->setDefaultSectionSize(kRowHeight);
    verticalHeader()->setSectionResizeMode(QHeaderView::Fixed);
    horizontalHeader()->setHighlightSections(false);
    horizontalHeader()->setFont(uiFont(TextSize::Secondary));
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
}

void FitTable::setPreview(const OpenPreview& preview, const OpenChoice& choice)
{
    m_model->setPreview(preview, choice);
    fitColumns();
    updateGeometry();
}

void FitTable::clear()
{
    m_model->clear();
    updateGeometry();
}

void FitTable::fitColumns()
{
    if (m_model->rowCount() == 0)
        return;
    resizeColumnsToContents();
    for (int column = 0; column < m_model->columnCount(); ++column)
        setColumnWidth(column, columnWidth(column) + spacing::kStep);
    setColumnWidth(FitModel::BarColumn, std::max(kBarWidth, columnWidth(FitModel::BarColumn)));
    horizontalHeader()->setSectionResizeMode(FitModel::BarColumn, QHeaderView::Stretch);
    horizontalHeader()->setMinimumSectionSize(60);
}

QSize FitTable::sizeHint() const
{
    const int rows = verticalHeader()->length();
    return {560, horizontalHeader()->sizeHint().height() + rows + 2 * frameWidth()};
}

QSize FitTable::minimumSizeHint() const
{
    return {200, sizeHint().height()};
}

} // namespace kvscope
