#include "widgets/lab_experiment_list.h"

#include "widgets/fonts.h"
#include "widgets/theme.h"

#include <QHeaderView>
#include <QPainter>

namespace kvscope {
namespace {

constexpr int kStateRole = Qt::UserRole;
constexpr int kFigureRole = Qt::UserRole + 1;
constexpr int kGlyphWidth = 26;

struct StateLook
{
    QString glyph;
    QString text; ///< where there is no figure
    QColor Theme::*color;
};

StateLook lookOf(LabState state)
{
    switch (state) {
    case LabState::NotRun:
        return {QStringLiteral("\u2013"), LabExperimentList::tr("not run"), &Theme::ink3};
    case LabState::Running:
        return {QStringLiteral("\u25b6"), LabExperimentList::tr("running"), &Theme::highlight};
    case LabState::Paused:
        return {QStringLiteral("\u2016"), LabExperimentList::tr("paused"), &Theme::caution};
    case LabState::Done:
        return {QStringLiteral("\u2713"), LabExperimentList::tr("done"), &Theme::good};
    case LabState::Stopped:
        return {QStringLiteral("\u25d0"), LabExperimentList::tr("stopped"), &Theme::caution};
    case LabState::Failed:
        break;
    }
    return {QStringLiteral("\u2715"), LabExperimentList::tr("failed"), &Theme::bad};
}

/// Glyph, name, and the figure at the right.
class ExperimentDelegate : public QStyledItemDelegate
{
public:
    using QStyledItemDelegate::QStyledItemDelegate;

    QSize sizeHint(const QStyleOptionViewItem&, const QModelIndex&) const override
    {
        return {160, spacing::kListRow};
    }
    void paint(QPainter* painter, const QStyleOptionViewItem& option,
               const QModelIndex& index) const override
    {
        const Theme& theme = Theme::current();
        const bool isChosen = option.state.testFlag(QStyle::State_Selected);
        const auto look = lookOf(static_cast<LabState>(index.data(kStateRole).toInt()));
        const QColor ink = isChosen ? theme.textOn(theme.highlight) : theme.ink;
        painter->save();
        if (isChosen)
            painter->fillRect(option.rect, theme.highlight);
        painter->setFont(uiFont());
        painter->setPen(isChosen ? ink : theme.*look.color);
        painter->drawText(
            QRect(option.rect.left(), option.rect.top(), kGlyphWidth, option.rect.height()),
            Qt::AlignCenter, look.glyph);
        painter->setPen(ink);
        const QRect text = option.rect.adjusted(kGlyphWidth, 0, -spacing::kStep, 0);
        painter->drawText(text, Qt::AlignLeft | Qt::AlignVCenter, index.data().toString());
        painter->setFont(uiFont(TextSize::Secondary));
        painter->setPen(isChosen ? ink : theme.ink3);
        painter->drawText(text, Qt::AlignRight | Qt::AlignVCenter,
                          index.data(kFigureRole).toString());
        painter->restore();
    }
};

} // namespace

QString labTitle(LabKind kind)
{
    switch (kind) {
    case LabKind::Limits:
        return LabExperimentList::tr("Limits");
    case LabKind::Positions:
        return LabExperimentList::tr("Positions");
    case LabKind::Latency:
        return LabExperimentList::tr("Latency");
    case LabKind::Use:
        return LabExperimentList::tr("Use");
    case LabKind::Needle:
        return LabExperimentList::tr("Needle");
    case LabKind::Passkey:
        return LabExperimentList::tr("Passkey");
    case LabKind::Card:
        break;
    }
    return LabExperimentList::tr("Report card");
}

LabExperimentList::LabExperimentList(QWidget* parent)
    : QTreeWidget(parent)
{
    setAccessibleName(tr("Experiments"));
    setColumnCount(1);
    header()->hide();
    setRootIsDecorated(false);
    setUniformRowHeights(true);
    setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    setVerticalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Fixed);
    setItemDelegate(new ExperimentDelegate(this));
    for (const LabKind kind : kLabKinds) {
        auto* item = new QTreeWidgetItem(this);
        item->setText(0, labTitle(kind));
        setState(kind, LabState::NotRun);
    }
    setCurrentItem(topLevelItem(0));
    connect(this, &QTreeWidget::currentItemChanged, this, [this] { Q_EMIT kindChosen(chosen()); });
}

QTreeWidgetItem* LabExperimentList::itemOf(LabKind kind) const
{
    return topLevelItem(static_cast<int>(kind));
}

LabKind LabExperimentList::chosen() const
{
    return static_cast<LabKind>(std::max(0, indexOfTopLevelItem(currentItem())));
}

void LabExperimentList::choose(LabKind kind)
{
    setCurrentItem(itemOf(kind));
}

void LabExperimentList::setState(LabKind kind, LabState state, const QString& figure)
{
    QTreeWidgetItem* item = itemOf(kind);
    const QString shown = figure.isEmpty() ? lookOf(state).text : figure;
    item->setData(0, kStateRole, static_cast<int>(state));
    item->setData(0, kFigureRole, shown);
    item->setData(0, Qt::AccessibleTextRole,
                  QStringLiteral("%1: %2, %3").arg(labTitle(kind), lookOf(state).text, shown));
}

LabState LabExperimentList::state(LabKind kind) const
{
    return static_cast<LabState>(itemOf(kind)->data(0, kStateRole).toInt());
}

QString LabExperimentList::figure(LabKind kind) const
{
    return itemOf(kind)->data(0, kFigureRole).toString();
}

QSize LabExperimentList::sizeHint() const
{
    return {260, static_cast<int>(kLabKinds.size()) * spacing::kListRow + 2 * frameWidth()};
}

} // namespace kvscope
