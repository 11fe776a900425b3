#include "widgets/open_summary.h"

#include "widgets/fit_table.h"
#include "widgets/fonts.h"
#include "widgets/number_format.h"
#include "widgets/theme.h"

#include <QGridLayout>
#include <QLabel>
#include <QPaintEvent>
#include <QPainter>
#include <QVBoxLayout>

#include <algorithm>

namespace kvscope {
namespace {

/// A surface with an edge, titled as docks are: what it is, and in grey how it is known.
class TitledPanel : public QWidget
{
public:
    TitledPanel(const QString& title, const QString& about)
        : m_column(new QVBoxLayout(this))
    {
        m_column->setContentsMargins(spacing::kWide, spacing::kStep, spacing::kWide,
                                     spacing::kStep);
        m_column->setSpacing(spacing::kTight);
        auto* heading = new QLabel(QStringLiteral("<b>%1</b> &nbsp;%2").arg(title, about));
        m_column->addWidget(heading);
    }
    QVBoxLayout& column() { return *m_column; }

protected:
    void paintEvent(QPaintEvent*) override
    {
        const Theme& theme = Theme::current();
        QPainter painter(this);
        painter.fillRect(rect(), theme.line);
        painter.fillRect(rect().adjusted(1, 1, -1, -1), theme.panel);
    }

private:
    QVBoxLayout* m_column;
};

/// A label whose colour follows the theme.
class InkLabel : public QLabel
{
public:
    InkLabel(const QString& text, QColor Theme::*ink)
        : QLabel(text)
        , m_ink(ink)
    {
        setTextFormat(Qt::PlainText);
        setWordWrap(true);
        setTextInteractionFlags(Qt::TextSelectableByMouse);
        color();
    }

protected:
    void changeEvent(QEvent* event) override
    {
        QLabel::changeEvent(event);
        if (event->type() == QEvent::StyleChange)
            color();
    }

private:
    void color()
    {
        QPalette own = palette();
        const QColor wanted = Theme::current().*m_ink;
        if (own.color(QPalette::WindowText) == wanted)
            return;
        own.setColor(QPalette::WindowText, wanted);
        setPalette(own);
    }
    QColor Theme::*m_ink;
};

/// A key of what the bar's colours stand for.
class FitKey : public QWidget
{
public:
    FitKey()
    {
        setFont(uiFont(TextSize::Secondary));
        setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
        setAccessibleName(
            tr("Weights, cache, growth copy, working room; a line marks free memory"));
    }
    QSize sizeHint() const override { return {420, fontMetrics().height() + 4}; }
    QSize minimumSizeHint() const override { return {0, sizeHint().height()}; }

protected:
    void paintEvent(QPaintEvent*) override
    {
        const Theme& theme = Theme::current();
        QPainter painter(this);
        int x = 0;
        const auto add = [&](const QColor& color, int width, const QString& text) {
            painter.fillRect(QRect(x, (height() - 10) / 2, width, 10), color);
            painter.setPen(theme.ink2);
            x += width + spacing::kTight;
            painter.drawText(QRect(x, 0, this->width() - x, height()), Qt::AlignVCenter, text);
            x += fontMetrics().horizontalAdvance(text) + spacing::kBlock;
        };
        add(theme.weights, 10, tr("weights"));
        add(theme.global, 10, tr("cache"));
        add(theme.growthCopy, 10, tr("growth copy"));
        add(theme.scratch, 10, tr("working room"));
        add(theme.ink, 2, tr("free now"));
    }
};

} // namespace

OpenSummary::OpenSummary(QWidget* parent)
    : QScrollArea(parent)
    , m_title(new QLabel)
    , m_text(new QLabel)
    , m_lines(new QGridLayout)
    , m_longest(new QLabel)
    , m_fits(new FitTable)
{
    setWidgetResizable(true);
    setFrameShape(QFrame::NoFrame);
    setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    auto* content = new QWidget;
    auto* column = new QVBoxLayout(content);
    column->setContentsMargins(0, spacing::kStep, 0, 0);
    column->setSpacing(spacing::kStep);
    m_message = buildMessage();
    m_model = buildModel();
    m_fit = buildFit();
    column->addWidget(m_message, 1);
    column->addWidget(m_model);
    column->addWidget(m_fit);
    column->addStretch();
    setWidget(content);
    setAccessibleName(tr("Summary"));
    setFocusPolicy(Qt::NoFocus);
}

QWidget* OpenSummary::buildMessage()
{
    auto* widget = new QWidget;
    auto* column = new QVBoxLayout(widget);
    column->addStretch();
    m_title->setFont(uiFont(TextSize::Body, QFont::Bold));
    for (QLabel* label : {m_title, m_text}) {
        label->setAlignment(Qt::AlignCenter);
        label->setWordWrap(true);
        label->setTextFormat(Qt::PlainText);
        label->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
        column->addWidget(label);
    }
    column->addStretch();
    return widget;
}

QWidget* OpenSummary::buildModel()
{
    auto* panel = new TitledPanel(tr("What it is"), tr("from the header, no weights read"));
    m_lines->setHorizontalSpacing(spacing::kWide);
    m_lines->setVerticalSpacing(spacing::kHair);
    m_lines->setColumnStretch(1, 1);
    panel->column().addLayout(m_lines);
    return panel;
}

QWidget* OpenSummary::buildFit()
{
    auto* panel =
        new TitledPanel(tr("Does it fit?"), tr("arithmetic, against memory read just now"));
    panel->column().addWidget(m_fits);
    m_longest->setTextFormat(Qt::PlainText);
    auto* foot = new QHBoxLayout;
    foot->setSpacing(spacing::kBlock);
    foot->addWidget(m_longest);
    foot->addWidget(new FitKey, 1);
    panel->column().addLayout(foot);
    return panel;
}

void OpenSummary::clearLines()
{
    while (QLayoutItem* item = m_lines->takeAt(0)) {
        delete item->widget();
        delete item;
    }
}

void OpenSummary::setPreview(const OpenPreview& preview, const OpenChoice& choice)
{
    clearLines();
    int row = 0;
    const auto add = [this, &row](const QString& label, QColor Theme::*labelInk,
                                  const QString& value, QColor Theme::*valueInk) {
        auto* name = new InkLabel(label, labelInk);
        name->setWordWrap(false);
        m_lines->addWidget(name, row, 0, Qt::AlignTop);
        m_lines->addWidget(new InkLabel(value, valueInk), row++, 1);
    };
    for (const PreviewLine& line : preview.summary)
        if (line.label.rfind("Fits", 0) != 0) // the table below says it
            add(QString::fromStdString(line.label), &Theme::ink2,
                QString::fromStdString(line.value), &Theme::ink);
    const auto isSaid = [&preview](const std::string& text) {
        return std::any_of(preview.summary.begin(), preview.summary.end(),
                           [&](const PreviewLine& line) { return line.value == text; });
    };
    for (const std::string& warning : preview.warnings) {
        if (isSaid(warning))
            continue;
        add(QStringLiteral("! ") + tr("Warning"), &Theme::caution, QString::fromStdString(warning),
            &Theme::ink);
    }
    setChoice(preview, choice);
    m_message->hide();
    m_model->show();
}

void OpenSummary::setChoice(const OpenPreview& preview, const OpenChoice& choice)
{
    m_fits->setPreview(preview, choice);
    QStringList longest;
    OpenChoice one = choice;
    one.maxContext = 0; // what memory allows, whatever was chosen
    for (const DeviceReading& device : preview.devices) {
        one.device = device.id;
        const FitEstimate fit = estimateFit(preview, one);
        if (device.unusable.empty() && fit.freeBytes)
            longest << tr("%1 tokens on %2")
                           .arg(countText(fit.longestContext), QString::fromStdString(device.id));
    }
    m_longest->setText(tr("Longest that fits: %1").arg(longest.join(QStringLiteral(" · "))));
    m_longest->setVisible(!longest.isEmpty());
    m_fit->setVisible(m_fits->fits().rowCount() > 0);
}

void OpenSummary::showMessage(const QString& title, const QString& text)
{
    m_title->setText(title);
    m_text->setText(text);
    m_model->hide();
    m_fit->hide();
    m_message->show();
}

QString OpenSummary::shownMessage() const
{
    return m_message->isHidden() ? QString() : m_title->text() + u'\n' + m_text->text();
}

} // namespace kvscope
