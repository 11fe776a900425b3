#pragma once

#include "engine/session/open_preview_snapshot.h"

#include <QWidget>

#include <vector>

class QComboBox;
class QDoubleSpinBox;
class QHBoxLayout;
class QSpinBox;

namespace kvscope {

class ElidedLabel;

/// How a model is to be opened: device, numbers, cache, rotation, maximum context.
class OpenOptions : public QWidget
{
    Q_OBJECT
public:
    explicit OpenOptions(QWidget* parent = nullptr);

    void setRotaryOptions(const std::vector<RotaryOption>& options);
    void setChoice(const OpenChoice& choice);
    OpenChoice choice() const;
    /// Devices found, and what the choice costs with this model.
    void setPreview(const OpenPreview& preview);

Q_SIGNALS:
    void choiceChanged();
    void rotaryChanged(); ///< as well: the model's positions and summary depend on it

private:
    QComboBox* addCombo(const QString& name, const QString& help, QHBoxLayout& row);
    void buildRotation();
    void buildContext();
    void setDevices(const std::vector<DeviceReading>& devices);
    void showFactor();
    void showCost();

    QComboBox* m_device;
    QComboBox* m_dtype;
    QComboBox* m_cacheDtype;
    QComboBox* m_rotary;
    QDoubleSpinBox* m_factor;
    QSpinBox* m_context;
    ElidedLabel* m_cost;
    QHBoxLayout* m_upper;
    QHBoxLayout* m_lower;
    OpenPreview m_preview;
};

} // namespace kvscope
