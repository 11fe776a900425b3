#pragma once

#include "engine/generate/generation.h"

#include <QString>
#include <QWidget>

#include <cstdint>

class QCheckBox;
class QComboBox;
class QDoubleSpinBox;
class QFormLayout;
class QLabel;
class QLineEdit;
class QPlainTextEdit;
class QSpinBox;

namespace kvscope {

/// How the chat asks for an answer. Kept by the app between runs.
struct ChatSettings
{
    /// Cooler and longer than the engine's own defaults, which are GPT-OSS-Lite's: what a small
    /// instruction-tuned model wants.
    SamplingSettings sampling{.maxNewTokens = 256, .temperature = 0.2};
    bool newSeedEachTime = true;      ///< a fresh seed for every answer, so that Again differs
    bool scoresPrompt = false;        ///< loss by position in prefill too
    bool keepsNewestWhenFull = false; ///< without asking: system prompt and newest turns
    QString systemPrompt;             ///< empty: none, or the template's own

    bool operator==(const ChatSettings&) const = default;
};

/// "greedy, max 64", "T 0.7, p 0.9, max 64".
QString settingsSummary(const ChatSettings& settings);

/// The fields behind the composer's ⚙, as a popover. Every change is in force at once.
class SamplingSettingsEditor : public QWidget
{
    Q_OBJECT
public:
    explicit SamplingSettingsEditor(QWidget* parent = nullptr);

    const ChatSettings& settings() const { return m_settings; }
    /// Shows settings without emitting settingsChanged.
    void setSettings(const ChatSettings& settings);
    /// Positions a chat may fill, and those the model was trained on; 0: unknown.
    void setContext(std::int64_t limit, std::int64_t trained);
    /// Why the model's template takes no system prompt; empty where it does. Said under the field,
    /// which stays as it is: the text serves the next model.
    void setSystemRefusal(const QString& reason);

Q_SIGNALS:
    void settingsChanged(const kvscope::ChatSettings& settings);

private:
    void buildSampling(QFormLayout& form);
    void buildContext(QFormLayout& form);
    void read();
    void showSeedState();

    ChatSettings m_settings;
    bool m_isShowing = false; ///< fields are being filled, not edited
    QDoubleSpinBox* m_temperature;
    QDoubleSpinBox* m_topP;
    QSpinBox* m_maxNewTokens;
    QLineEdit* m_seed;
    QCheckBox* m_newSeed;
    QCheckBox* m_scoresPrompt;
    QComboBox* m_whenFull;
    QLabel* m_limit;
    QPlainTextEdit* m_systemPrompt;
    QLabel* m_systemRefusal;
};

} // namespace kvscope
