#pragma once

#include <QString>
#include <QWidget>

class QLabel;
class QPushButton;

namespace kvscope {

/// A question with two answers, asked in place of a dialog. Hidden until ask().
class QuestionBar : public QWidget
{
    Q_OBJECT
public:
    explicit QuestionBar(QWidget* parent = nullptr);

    /// Shows the question and gives the first answer the keyboard.
    void ask(const QString& question, const QString& yes, const QString& no);
    void withdraw(); ///< hides it without an answer
    QString question() const;

Q_SIGNALS:
    void answered(bool isYes);

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    void answer(bool isYes);

    QLabel* m_question;
    QPushButton* m_yes;
    QPushButton* m_no;
};

} // namespace kvscope
