#include "widgets/open_options.h"

#include "widgets/elided_label.h"
#include "widgets/fonts.h"
#include "widgets/number_format.h"

#include <QComboBox>
#include <QDoubleSpinBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QSignalBlocker>
#include <QSpinBox>
#include <QStandardItemModel>
#include <QVBoxLayout>

#include <algorithm>

namespace kvscope {
namespace {

/// An emptied field means the model's own context.
class ContextBox : public QSpinBox
{
protected:
    void fixup(QString& text) const override
    {
        if (text.trimmed().isEmpty())
            text = specialValueText();
    }
};

constexpr int kContextStep = 1024;
constexpr int kMostContext = 1'000'000'000;

void selectData(QComboBox& box, const QString& data)
{
    const int index = box.findData(data);
    box.setCurrentIndex(index >= 0 ? index : 0);
}

} // namespace

OpenOptions::OpenOptions(QWidget* parent)
    : QWidget(parent)
    , m_factor(new QDoubleSpinBox)
    , m_context(new ContextBox)
    , m_cost(new ElidedLabel)
    , m_upper(new QHBoxLayout)
    , m_lower(new QHBoxLayout)
{
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(spacing::kStep);
    for (QHBoxLayout* row : {m_upper, m_lower}) {
        row->setSpacing(spacing::kStep);
        column->addLayout(row);
    }
    m_device =
        addCombo(tr("&Device"), tr("Where weights and cache lie and products run."), *m_upper);
    m_dtype =
        addCombo(tr("&Numbers"),
                 tr("What products run in. auto: as stored, with the fast products."), *m_upper);
    m_cacheDtype = addCombo(tr("C&ache"),
                            tr("Numbers of keys and values. auto: follows the numbers."), *m_upper);
    for (QComboBox* box : {m_dtype, m_cacheDtype})
        for (const char* name : {"auto", "float32", "bfloat16", "float16"})
            box->addItem(QString::fromLatin1(name), QString::fromLatin1(name));
    for (const QString& name : {QStringLiteral("int8"), QStringLiteral("fp8")})
        m_cacheDtype->addItem(name, name);
    setDevices({{"cpu", "this machine", std::nullopt, {}}});
    for (QComboBox* box : {m_device, m_dtype, m_cacheDtype})
        connect(box, &QComboBox::currentIndexChanged, this, [this] {
            showCost();
            Q_EMIT choiceChanged();
        });
    buildRotation();
    buildContext();
    m_upper->addStretch();
    setRotaryOptions({});
}

QComboBox* OpenOptions::addCombo(const QString& name, const QString& help, QHBoxLayout& row)
{
    auto* box = new QComboBox;
    auto* label = new QLabel(name);
    label->setBuddy(box);
    box->setToolTip(help);
    box->setAccessibleName(QString(name).remove(u'&'));
    box->setAccessibleDescription(help);
    box->setSizeAdjustPolicy(QComboBox::AdjustToContents);
    if (row.count() > 0)
        row.addSpacing(spacing::kStep);
    row.addWidget(label);
    row.addWidget(box);
    return box;
}

void OpenOptions::buildRotation()
{
    m_rotary =
        addCombo(tr("&Rotation"),
                 tr("Positions are rotated in by the file's scheme, or by another one put in "
                    "its place: every result then says so."),
                 *m_lower);
    // Its longest name would push the context out of a narrow dialog; the list shows it whole.
    m_rotary->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
    m_rotary->setMinimumContentsLength(7);
    m_factor->setRange(1.0, 1024.0);
    m_factor->setValue(2.0);
    m_factor->setDecimals(2);
    m_factor->setPrefix(QStringLiteral("× "));
    m_factor->setAccessibleName(tr("Factor of the rotation"));
    m_factor->setToolTip(tr("How many times the trained positions."));
    m_lower->addWidget(m_factor);
    const auto tell = [this] {
        showFactor();
        Q_EMIT choiceChanged();
        Q_EMIT rotaryChanged();
    };
    connect(m_rotary, &QComboBox::currentIndexChanged, this, tell);
    connect(m_factor, &QDoubleSpinBox::valueChanged, this, tell);
}

void OpenOptions::buildContext()
{
    auto* label = new QLabel(tr("Conte&xt"));
    label->setBuddy(m_context);
    m_context->setRange(0, kMostContext);
    m_context->setSingleStep(kContextStep);
    m_context->setGroupSeparatorShown(true);
    m_context->setSpecialValueText(tr("the model's"));
    m_context->setAccessibleName(tr("Maximum context in tokens; 0: the model's"));
    m_context->setToolTip(tr("Positions a chat may use. 0: what the model was made for."));
    m_cost->setInk(&Theme::ink2);
    m_cost->setAccessibleName(tr("Cache at the maximum context"));
    m_lower->addSpacing(spacing::kStep);
    m_lower->addWidget(label);
    m_lower->addWidget(m_context);
    m_lower->addWidget(m_cost, 1);
    connect(m_context, &QSpinBox::valueChanged, this, [this] {
        showCost();
        Q_EMIT choiceChanged();
    });
}

void OpenOptions::setRotaryOptions(const std::vector<RotaryOption>& options)
{
    const QSignalBlocker blocker(m_rotary);
    const QString chosen = m_rotary->currentData().toString();
    m_rotary->clear();
    m_rotary->addItem(tr("the file's"), QString());
    auto* items = qobject_cast<QStandardItemModel*>(m_rotary->model());
    for (const RotaryOption& option : options) {
        m_rotary->addItem(QString::fromStdString(option.name), QString::fromStdString(option.name));
        QStandardItem* item = items->item(m_rotary->count() - 1);
        item->setData(option.takesFactor, Qt::UserRole + 1);
        item->setToolTip(
            QString::fromStdString(option.unusable.empty() ? option.meaning : option.unusable));
        item->setEnabled(option.unusable.empty());
    }
    selectData(*m_rotary, chosen);
    showFactor();
}

void OpenOptions::setDevices(const std::vector<DeviceReading>& devices)
{
    const QSignalBlocker blocker(m_device);
    const QString chosen = m_device->currentData().toString();
    m_device->clear();
    auto* items = qobject_cast<QStandardItemModel*>(m_device->model());
    for (const DeviceReading& device : devices) {
        const QString id = QString::fromStdString(device.id);
        m_device->addItem(id, id);
        QStandardItem* item = items->item(m_device->count() - 1);
        item->setToolTip(
            QString::fromStdString(device.unusable.empty() ? device.name : device.unusable));
        item->setEnabled(device.unusable.empty());
    }
    if (!chosen.isEmpty() && m_device->findData(chosen) < 0)
        m_device->addItem(chosen, chosen); // asked for by name; the engine says if it is not there
    selectData(*m_device, chosen);
}

void OpenOptions::setChoice(const OpenChoice& choice)
{
    const QSignalBlocker device(m_device);
    const QSignalBlocker dtype(m_dtype);
    const QSignalBlocker cacheDtype(m_cacheDtype);
    const QSignalBlocker rotary(m_rotary);
    const QSignalBlocker factor(m_factor);
    const QSignalBlocker context(m_context);
    const QString id = QString::fromStdString(choice.device);
    if (m_device->findData(id) < 0)
        m_device->addItem(id, id);
    selectData(*m_device, id);
    selectData(*m_dtype, QString::fromStdString(choice.dtype));
    selectData(*m_cacheDtype, QString::fromStdString(choice.cacheDtype));
    const QStringList scheme = QString::fromStdString(choice.rotary).split(u':');
    selectData(*m_rotary, scheme.value(0));
    if (scheme.size() > 1)
        m_factor->setValue(scheme.value(1).toDouble());
    m_context->setValue(static_cast<int>(std::min<std::int64_t>(choice.maxContext, kMostContext)));
    showFactor();
    showCost();
}

OpenChoice OpenOptions::choice() const
{
    OpenChoice choice;
    choice.device = m_device->currentData().toString().toStdString();
    choice.dtype = m_dtype->currentData().toString().toStdString();
    choice.cacheDtype = m_cacheDtype->currentData().toString().toStdString();
    choice.rotary = m_rotary->currentData().toString().toStdString();
    if (m_rotary->currentData(Qt::UserRole + 1).toBool())
        choice.rotary += ':' + QString::number(m_factor->value(), 'g', 8).toStdString();
    choice.maxContext = m_context->value();
    return choice;
}

void OpenOptions::setPreview(const OpenPreview& preview)
{
    m_preview = preview;
    if (!preview.devices.empty())
        setDevices(preview.devices);
    if (!preview.rotaryOptions.empty())
        setRotaryOptions(preview.rotaryOptions);
    m_context->setSpecialValueText(
        preview.extendedPositions > 0
            ? tr("the model's, %1").arg(countText(preview.extendedPositions))
            : tr("the model's"));
    // sizeHint() looks at no more than 18 letters of the text.
    m_context->setMinimumWidth(
        m_context->fontMetrics().horizontalAdvance(m_context->specialValueText()) + 44);
    showCost();
}

void OpenOptions::showFactor()
{
    const bool takesFactor = m_rotary->currentData(Qt::UserRole + 1).toBool();
    m_factor->setEnabled(takesFactor);
}

void OpenOptions::showCost()
{
    if (!m_preview.opens() || m_preview.extendedPositions + m_context->value() <= 0) {
        m_cost->setText({});
        return;
    }
    const FitEstimate fit = estimateFit(m_preview, choice());
    const bool isBeyond =
        m_preview.extendedPositions > 0 && fit.context > m_preview.extendedPositions;
    m_cost->setInk(isBeyond ? &Theme::caution : &Theme::ink2);
    QString text = tr("%1 of cache in %2")
                       .arg(bytesText(fit.cacheBytes), QString::fromStdString(fit.cacheDtype));
    if (isBeyond)
        text = QStringLiteral("! ") + tr("beyond what the model was made for; ") + text;
    m_cost->setText(text);
}

} // namespace kvscope
