#pragma once

#include "widgets/theme.h"

#include <QStringList>
#include <QWidget>

namespace kvscope {

/// One line of text, or a few, that gives way: it elides where it has to, and then says all of it
/// in a tooltip. The text is shown as it is, never as markup.
class ElidedLabel : public QWidget
{
    Q_OBJECT
public:
    explicit ElidedLabel(QWidget* parent = nullptr);

    const QString& text() const { return m_text; }
    void setText(const QString& text);
    /// Which of the theme's colours it is drawn in; ink at first.
    void setInk(QColor Theme::*ink);
    void setAlignment(Qt::Alignment alignment);
    /// Lines it may wrap to; one at first.
    void setMaxLines(int lines);
    bool isElided() const;

    QSize sizeHint() const override;
    QSize minimumSizeHint() const override;
    int heightForWidth(int width) const override;

protected:
    bool event(QEvent* event) override;
    void paintEvent(QPaintEvent* event) override;

private:
    /// The lines as drawn at a width; the last one is elided where text is left over.
    QStringList linesFor(int width) const;

    QString m_text;
    int m_maxLines = 1;
    QColor Theme::*m_ink = &Theme::ink;
    Qt::Alignment m_alignment = Qt::AlignLeft;
};

/// Text for a tooltip in which nothing is taken for markup; long lines wrap.
QString plainTooltip(const QString& text);

} // namespace kvscope
