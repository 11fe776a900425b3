#pragma once

#include "engine/lab/sweep_report.h"

#include <QString>
#include <QWidget>

#include <optional>
#include <vector>

class QPainter;

namespace kvscope {

struct Theme;

/// What a model answered beside what was expected, how it came out, and how probable each token of
/// the right answer was (a bar a token: the taller, the less expected). Tokens that do not fit
/// beside each other stand in further rows.
class SweepAnswerBox : public QWidget
{
    Q_OBJECT
public:
    explicit SweepAnswerBox(QWidget* parent = nullptr);

    void setTrial(const SweepTrial& trial);
    void clear();

    /// "expected 742, a bare wrong number".
    QString verdict() const;
    /// "loss of the right answer: 7 0.19, 4 2.71, 2 1.84 nats".
    QString losses() const;
    /// How many of the right answer's tokens are shown with their loss at a width.
    std::size_t numShownTokens(int width) const;

    bool hasHeightForWidth() const override { return true; }
    int heightForWidth(int width) const override;
    QSize sizeHint() const override;
    QSize minimumSizeHint() const override;

protected:
    void paintEvent(QPaintEvent* event) override;
    void changeEvent(QEvent* event) override;

private:
    double answerHeight(double width) const;
    /// Columns of the tokens shown, from the top left of their area; of each its bar, its piece and
    /// its loss.
    std::vector<QRectF> tokenColumns(double width) const;
    double tokensHeight(double width) const;
    void paintTokens(QPainter& painter, const QRectF& area, const Theme& theme) const;
    void paintToken(QPainter& painter, const QRectF& column, const AnswerToken& token,
                    const Theme& theme) const;

    std::optional<SweepTrial> m_trial;
};

} // namespace kvscope
