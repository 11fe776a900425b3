#include "widgets/sampling_settings.h"

#include "widgets/fonts.h"
#include "widgets/number_format.h"

#include <QCheckBox>
#include <QComboBox>
#include <QCoreApplication>
#include <QDoubleSpinBox>
#include <QFormLayout>
#include <QLabel>
#include <QLineEdit>
#include <QPlainTextEdit>
#include <QRegularExpressionValidator>
#include <QSpinBox>

#include <algorithm>

namespace kvscope {
namespace {

/// Rows in the list "when the context is full".
enum WhenFull { kAsk, kKeepNewest };

QString shortNumber(double value)
{
    return QString::number(value, 'g', 3);
}

} // namespace

QString settingsSummary(const ChatSettings& settings)
{
    const SamplingSettings& sampling = settings.sampling;
    const auto text = [](const char* source) {
        return QCoreApplication::translate("SamplingSettings", source);
    };
    const QString most = countText(sampling.maxNewTokens);
    if (sampling.temperature <= 0.0)
        return text("greedy, max %1").arg(most);
    return text("T %1, p %2, max %3")
        .arg(shortNumber(sampling.temperature), shortNumber(sampling.topP), most);
}

SamplingSettingsEditor::SamplingSettingsEditor(QWidget* parent)
    : QWidget(parent)
{
    setAccessibleName(tr("Sampling settings"));
    auto* form = new QFormLayout(this);
    form->setContentsMargins(spacing::kWide, spacing::kWide, spacing::kWide, spacing::kWide);
    form->setVerticalSpacing(6);
    form->setHorizontalSpacing(spacing::kWide);
    form->setFieldGrowthPolicy(QFormLayout::AllNonFixedFieldsGrow);
    buildSampling(*form);
    buildContext(*form);
    setSettings({});
    setContext(0, 0);
}

void SamplingSettingsEditor::buildSampling(QFormLayout& form)
{
    m_temperature = new QDoubleSpinBox;
    m_temperature->setRange(0.0, 5.0);
    m_temperature->setSingleStep(0.1);
    m_temperature->setSpecialValueText(tr("0, greedy"));
    m_temperature->setToolTip(tr("Divides the logits. At 0 the likeliest token is taken."));
    m_topP = new QDoubleSpinBox;
    m_topP->setRange(0.0, 1.0);
    m_topP->setSingleStep(0.05);
    m_topP->setToolTip(
        tr("Tokens are kept while the probability of those before them is at most this."));
    m_maxNewTokens = new QSpinBox;
    m_maxNewTokens->setRange(1, 1'000'000);
    m_maxNewTokens->setGroupSeparatorShown(true);
    m_maxNewTokens->setToolTip(tr("An answer is cut after so many tokens."));
    m_seed = new QLineEdit;
    m_seed->setFont(digitFont());
    // Every number that fits in 64 bits less one digit; a spin box holds only 31 bits.
    m_seed->setValidator(
        new QRegularExpressionValidator(QRegularExpression(QStringLiteral("[0-9]{1,19}")), m_seed));
    m_seed->setToolTip(tr("The same seed, prompt and settings give the same answer."));
    m_newSeed = new QCheckBox(tr("New seed each time"));
    form.addRow(tr("Temperature"), m_temperature);
    form.addRow(tr("Top-p"), m_topP);
    form.addRow(tr("Most new tokens"), m_maxNewTokens);
    form.addRow(tr("Seed"), m_seed);
    form.addRow(QString(), m_newSeed);
    connect(m_temperature, &QDoubleSpinBox::valueChanged, this, &SamplingSettingsEditor::read);
    connect(m_topP, &QDoubleSpinBox::valueChanged, this, &SamplingSettingsEditor::read);
    connect(m_maxNewTokens, &QSpinBox::valueChanged, this, &SamplingSettingsEditor::read);
    connect(m_seed, &QLineEdit::textChanged, this, &SamplingSettingsEditor::read);
    connect(m_newSeed, &QCheckBox::toggled, this, &SamplingSettingsEditor::read);
}

void SamplingSettingsEditor::buildContext(QFormLayout& form)
{
    m_scoresPrompt = new QCheckBox(tr("Score the prompt"));
    m_scoresPrompt->setToolTip(tr("Computes the loss of every prompt position too. Prefill takes "
                                  "longer, as the head then runs over all of them."));
    m_whenFull = new QComboBox;
    m_whenFull->addItem(tr("Ask"));
    m_whenFull->addItem(tr("Keep system prompt and newest turns"));
    m_whenFull->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
    m_whenFull->setMinimumContentsLength(20);
    m_limit = new QLabel;
    m_systemPrompt = new QPlainTextEdit;
    m_systemPrompt->setPlaceholderText(tr("None, or what the chat template sets"));
    m_systemPrompt->setTabChangesFocus(true);
    m_systemPrompt->setFixedHeight(4 * fontMetrics().lineSpacing() + 12);
    form.addRow(QString(), m_scoresPrompt);
    form.addRow(tr("Context limit"), m_limit);
    form.addRow(tr("When it is full"), m_whenFull);
    form.addRow(new QLabel(tr("System prompt")));
    form.addRow(m_systemPrompt);
    m_systemRefusal = new QLabel;
    m_systemRefusal->setWordWrap(true);
    m_systemRefusal->hide();
    form.addRow(m_systemRefusal);
    connect(m_scoresPrompt, &QCheckBox::toggled, this, &SamplingSettingsEditor::read);
    connect(m_whenFull, &QComboBox::currentIndexChanged, this, &SamplingSettingsEditor::read);
    connect(m_systemPrompt, &QPlainTextEdit::textChanged, this, &SamplingSettingsEditor::read);
}

void SamplingSettingsEditor::setSettings(const ChatSettings& settings)
{
    m_isShowing = true;
    m_settings = settings;
    m_temperature->setValue(settings.sampling.temperature);
    m_topP->setValue(settings.sampling.topP);
    m_maxNewTokens->setValue(
        static_cast<int>(std::min<std::int64_t>(settings.sampling.maxNewTokens, 1'000'000)));
    m_seed->setText(QString::number(settings.sampling.seed));
    m_newSeed->setChecked(settings.newSeedEachTime);
    m_scoresPrompt->setChecked(settings.scoresPrompt);
    m_whenFull->setCurrentIndex(settings.keepsNewestWhenFull ? kKeepNewest : kAsk);
    if (m_systemPrompt->toPlainText() != settings.systemPrompt)
        m_systemPrompt->setPlainText(settings.systemPrompt);
    m_isShowing = false;
    showSeedState();
}

void SamplingSettingsEditor::setContext(std::int64_t limit, std::int64_t trained)
{
    if (limit <= 0)
        m_limit->setText(missingText());
    else if (trained > 0 && trained != limit)
        m_limit->setText(tr("%1 positions, %2 trained").arg(countText(limit), countText(trained)));
    else
        m_limit->setText(tr("%1 positions").arg(countText(limit)));
}

void SamplingSettingsEditor::setSystemRefusal(const QString& reason)
{
    m_systemRefusal->setText(
        tr("! This model's chat template takes no system prompt (%1). Leave it empty, or put its "
           "text in front of the first message.")
            .arg(reason));
    m_systemRefusal->setVisible(!reason.isEmpty());
}

void SamplingSettingsEditor::read()
{
    if (m_isShowing)
        return;
    ChatSettings read = m_settings; // what has no field here stays
    read.sampling.temperature = m_temperature->value();
    read.sampling.topP = m_topP->value();
    read.sampling.maxNewTokens = m_maxNewTokens->value();
    read.sampling.seed = m_seed->text().toULongLong();
    read.newSeedEachTime = m_newSeed->isChecked();
    read.scoresPrompt = m_scoresPrompt->isChecked();
    read.keepsNewestWhenFull = m_whenFull->currentIndex() == kKeepNewest;
    read.systemPrompt = m_systemPrompt->toPlainText();
    showSeedState();
    if (read == m_settings)
        return;
    m_settings = read;
    Q_EMIT settingsChanged(m_settings);
}

/// Fields without effect cannot be edited: greedy takes no random number.
void SamplingSettingsEditor::showSeedState()
{
    const bool isRandom = m_temperature->value() > 0.0;
    m_topP->setEnabled(isRandom);
    m_newSeed->setEnabled(isRandom);
    m_seed->setEnabled(isRandom && !m_newSeed->isChecked());
}

} // namespace kvscope
