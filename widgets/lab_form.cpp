#include "widgets/lab_form.h"

#include "widgets/fonts.h"

#include <QCheckBox>
#include <QComboBox>
#include <QFileDialog>
#include <QFormLayout>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QRegularExpression>
#include <QSpinBox>
#include <QToolButton>

#include <algorithm>
#include <cmath>

namespace kvscope {
namespace {

constexpr qlonglong kLongest = qlonglong{1} << 40;

QStringList wordsOf(const QString& text)
{
    return text.split(QRegularExpression(QStringLiteral("[,;\\s]+")), Qt::SkipEmptyParts);
}

} // namespace

std::optional<std::vector<std::int64_t>> lengthsFrom(const QString& text)
{
    std::vector<std::int64_t> lengths;
    for (QString word : wordsOf(text)) {
        const bool isThousands = word.endsWith('K', Qt::CaseInsensitive);
        if (isThousands)
            word.chop(1);
        bool isNumber = false;
        const qlonglong length = word.toLongLong(&isNumber);
        if (!isNumber || length < 1 || length > kLongest / (isThousands ? 1024 : 1))
            return std::nullopt;
        lengths.push_back(isThousands ? length * 1024 : length);
    }
    return lengths;
}

std::optional<std::vector<double>> depthsFrom(const QString& text)
{
    std::vector<double> depths;
    for (const QString& word : wordsOf(text)) {
        bool isNumber = false;
        const double depth = word.toDouble(&isNumber);
        if (!isNumber || !(depth >= 0.0 && depth <= 100.0)) // NaN is neither
            return std::nullopt;
        depths.push_back(depth);
    }
    return depths;
}

LabForm::LabForm(QWidget* parent)
    : QWidget(parent)
    , m_rows(new QFormLayout(this))
{
    m_rows->setContentsMargins(0, 0, 0, 0);
    m_rows->setHorizontalSpacing(spacing::kWide);
    m_rows->setVerticalSpacing(spacing::kTight);
    m_rows->setLabelAlignment(Qt::AlignLeft);
    m_rows->setFieldGrowthPolicy(QFormLayout::AllNonFixedFieldsGrow);
}

void LabForm::addRow(const QString& name, const QString& label, QWidget* field)
{
    auto* text = new QLabel(label);
    text->setBuddy(field);
    m_rows->addRow(text, field);
    field->setAccessibleName(label);
    field->setObjectName(name);
    m_fields[name] = field;
}

QLineEdit* LabForm::addLine(const QString& name, const QString& label, const QString& text)
{
    auto* line = new QLineEdit(text);
    line->setFont(digitFont());
    addRow(name, label, line);
    connect(line, &QLineEdit::textChanged, this, &LabForm::changed);
    return line;
}

void LabForm::addLengths(const QString& name, const QString& label, const QString& text,
                         Empty empty, const QString& hint)
{
    QLineEdit* line = addLine(name, label, text);
    line->setToolTip(hint);
    if (empty == Empty::Allowed)
        line->setPlaceholderText(hint);
    m_checks[name] = [line, empty, label]() -> QString {
        const auto lengths = lengthsFrom(line->text());
        if (!lengths)
            return tr("%1: whole numbers of tokens are expected, as 1024, 2K").arg(label);
        return lengths->empty() && empty == Empty::Refused
                   ? tr("%1: at least one is needed").arg(label)
                   : QString();
    };
}

void LabForm::addDepths(const QString& name, const QString& label, const QString& text)
{
    QLineEdit* line = addLine(name, label, text);
    line->setToolTip(tr("Where in the context, per cent of it"));
    m_checks[name] = [line, label]() -> QString {
        const auto depths = depthsFrom(line->text());
        return !depths || depths->empty() ? tr("%1: per cent from 0 to 100 are expected").arg(label)
                                          : QString();
    };
}

void LabForm::addNumber(const QString& name, const QString& label, std::int64_t value,
                        std::int64_t least, std::int64_t most, const QString& zeroText)
{
    auto* box = new QSpinBox;
    box->setFont(digitFont());
    box->setGroupSeparatorShown(true);
    box->setRange(static_cast<int>(least), static_cast<int>(std::min<std::int64_t>(most, 1 << 30)));
    if (!zeroText.isEmpty())
        box->setSpecialValueText(zeroText);
    box->setValue(static_cast<int>(value));
    addRow(name, label, box);
    connect(box, &QSpinBox::valueChanged, this, &LabForm::changed);
}

void LabForm::addPath(const QString& name, const QString& label, const QString& placeholder)
{
    auto* row = new QWidget;
    auto* layout = new QHBoxLayout(row);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(spacing::kTight);
    auto* line = new QLineEdit;
    line->setPlaceholderText(placeholder);
    line->setClearButtonEnabled(true);
    line->setAccessibleName(label);
    auto* browse = new QToolButton;
    browse->setText(QStringLiteral("\u2026"));
    browse->setToolTip(tr("Choose a text file"));
    browse->setAccessibleName(tr("Choose a file: %1").arg(label));
    layout->addWidget(line, 1);
    layout->addWidget(browse);
    addRow(name, label, row);
    row->setFocusProxy(line);
    m_fields[name] = line;
    connect(line, &QLineEdit::textChanged, this, &LabForm::changed);
    connect(browse, &QToolButton::clicked, this, [this, line] {
        const QString path = QFileDialog::getOpenFileName(this, tr("Text file"), line->text());
        if (!path.isEmpty())
            line->setText(path);
    });
}

void LabForm::addCheck(const QString& name, const QString& label, const QString& hint)
{
    auto* box = new QCheckBox(label);
    box->setToolTip(hint);
    m_rows->addRow(box); // over both columns: its own text is the label
    box->setObjectName(name);
    m_fields[name] = box;
    connect(box, &QCheckBox::toggled, this, &LabForm::changed);
}

void LabForm::addChoice(const QString& name, const QString& label, const QStringList& choices,
                        bool isEditable)
{
    auto* box = new QComboBox;
    box->setEditable(isEditable);
    box->addItems(choices);
    box->setMinimumContentsLength(8);
    box->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
    addRow(name, label, box);
    connect(box, &QComboBox::currentTextChanged, this, &LabForm::changed);
}

void LabForm::setChoices(const QString& name, const QStringList& choices)
{
    auto* box = static_cast<QComboBox*>(m_fields.at(name));
    const QSignalBlocker blocker(box);
    const QString chosen = box->currentText();
    box->clear();
    box->addItems(choices);
    if (choices.contains(chosen) || box->isEditable())
        box->setCurrentText(choices.contains(chosen) ? chosen : choices.value(0));
}

void LabForm::setHint(const QString& name, const QString& hint)
{
    m_fields.at(name)->setToolTip(hint);
}

std::vector<std::int64_t> LabForm::lengths(const QString& name) const
{
    const auto* line = static_cast<QLineEdit*>(m_fields.at(name));
    return lengthsFrom(line->text()).value_or(std::vector<std::int64_t>());
}

std::vector<double> LabForm::depths(const QString& name) const
{
    const auto* line = static_cast<QLineEdit*>(m_fields.at(name));
    return depthsFrom(line->text()).value_or(std::vector<double>());
}

std::int64_t LabForm::number(const QString& name) const
{
    return static_cast<QSpinBox*>(m_fields.at(name))->value();
}

std::string LabForm::text(const QString& name) const
{
    QWidget* field = m_fields.at(name);
    if (const auto* box = qobject_cast<QComboBox*>(field))
        return box->currentText().trimmed().toStdString();
    return static_cast<QLineEdit*>(field)->text().toStdString();
}

bool LabForm::isChecked(const QString& name) const
{
    return static_cast<QCheckBox*>(m_fields.at(name))->isChecked();
}

void LabForm::setText(const QString& name, const QString& text)
{
    QWidget* field = m_fields.at(name);
    if (auto* box = qobject_cast<QComboBox*>(field))
        box->setCurrentText(text);
    else
        static_cast<QLineEdit*>(field)->setText(text);
}

void LabForm::setNumber(const QString& name, std::int64_t value)
{
    static_cast<QSpinBox*>(m_fields.at(name))->setValue(static_cast<int>(value));
}

void LabForm::setChecked(const QString& name, bool isChecked)
{
    static_cast<QCheckBox*>(m_fields.at(name))->setChecked(isChecked);
}

bool LabForm::put(const QString& name, const QString& text)
{
    const auto found = m_fields.find(name);
    if (found == m_fields.end())
        return false;
    if (qobject_cast<QSpinBox*>(found->second) != nullptr)
        setNumber(name, text.toLongLong());
    else if (qobject_cast<QCheckBox*>(found->second) != nullptr)
        setChecked(name, text == QStringLiteral("1"));
    else
        setText(name, text);
    return true;
}

QString LabForm::problem() const
{
    for (const auto& [name, check] : m_checks)
        if (const QString problem = check(); !problem.isEmpty())
            return problem;
    return {};
}

} // namespace kvscope
