#pragma once

#include "engine/lab/sweep_report.h"
#include "widgets/sweep_prompt.h"

#include <QWidget>

#include <optional>

class QButtonGroup;
class QLabel;
class QTextCharFormat;
class QTextCursor;
class QTextEdit;

namespace kvscope {

class PlotHeader;
class SweepAnswerBox;

/// One trial: its prompt with the statement marked and the filler's middle left out, what the model
/// answered, and where the statement was placed. GUI thread.
///
/// The prompt is not kept with a trial; it is made again when a trial is chosen. So a trial is
/// shown at once by setTrial(), and its prompt when setPrompt() brings it.
class SweepPromptPanel : public QWidget
{
    Q_OBJECT
public:
    /// Longer prompts are shown as an excerpt only, in bytes: a text view lays all of it out.
    static constexpr std::size_t kLongestWhole = 1'000'000;

    explicit SweepPromptPanel(QWidget* parent = nullptr);

    /// \param number  of the trial within its cell, from 1; 0: not said
    void setTrial(const SweepTrial& trial, int number = 0);
    void setPrompt(const ShownPrompt& prompt);
    /// Says why there is no prompt: "made again when the sweep pauses".
    void setPromptMissing(const QString& reason);
    void clear();

    /// Shows all of the prompt, or the excerpt.
    void setWhole(bool isWhole);
    bool isWhole() const;

    /// "Asked for 50 % of 4,096; placed at token 2,031 of 4,084 (49.7 %)." and what else is known.
    QString placement() const;
    /// As much of it as there is room for beneath the answer; the tooltip has all of it.
    QString shownPlacement() const;
    /// What the text view shows, as plain text.
    QString shownText() const;
    QTextEdit* textView() const { return m_text; }
    SweepAnswerBox* answerBox() const { return m_answer; }
    /// Title and choice, to stand in a dock's title bar.
    QWidget* takeHeader();

    QSize sizeHint() const override { return {440, 440}; }
    QSize minimumSizeHint() const override { return {280, 220}; }

protected:
    void paintEvent(QPaintEvent* event) override;
    void changeEvent(QEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;

private:
    void arrange();
    void showPrompt();
    void describe();
    void insert(QTextCursor& cursor, const PromptPiece& piece) const;
    void insertText(QTextCursor& cursor, const QString& text, const QTextCharFormat& format) const;

    std::optional<SweepTrial> m_trial;
    std::optional<ShownPrompt> m_prompt;
    QString m_missing; ///< why there is no prompt
    int m_number = 0;
    PlotHeader* m_header;
    bool m_isHeaderTaken = false;
    QButtonGroup* m_choice;
    QTextEdit* m_text;
    SweepAnswerBox* m_answer;
    QLabel* m_placement;
};

} // namespace kvscope
