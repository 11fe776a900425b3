#pragma once

#include <QString>
#include <QStyledItemDelegate>
#include <QTreeWidget>

#include <array>

namespace kvscope {

/// The experiments of the lab, in the order of the claims; last the card of all five.
enum class LabKind { Limits, Positions, Latency, Use, Needle, Passkey, Card };
inline constexpr std::array<LabKind, 7> kLabKinds{
    LabKind::Limits, LabKind::Positions, LabKind::Latency, LabKind::Use,
    LabKind::Needle, LabKind::Passkey,   LabKind::Card};
QString labTitle(LabKind kind);

enum class LabState { NotRun, Running, Paused, Done, Stopped, Failed };

/// The experiments with their states and figures: "▶ Needle 72 %". One of them is chosen.
class LabExperimentList : public QTreeWidget
{
    Q_OBJECT
public:
    explicit LabExperimentList(QWidget* parent = nullptr);

    LabKind chosen() const;
    void choose(LabKind kind);
    /// \param figure  right-aligned: "behaves", "72 %"; empty: what the state says
    void setState(LabKind kind, LabState state, const QString& figure = {});
    LabState state(LabKind kind) const;
    QString figure(LabKind kind) const;

    QSize sizeHint() const override;
    QSize minimumSizeHint() const override { return {160, sizeHint().height()}; }

Q_SIGNALS:
    void kindChosen(kvscope::LabKind kind);

private:
    QTreeWidgetItem* itemOf(LabKind kind) const;
};

} // namespace kvscope
