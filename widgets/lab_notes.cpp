#include "widgets/lab_notes.h"

#include "widgets/fonts.h"
#include "widgets/number_format.h"
#include "widgets/theme.h"

#include <QFontMetrics>
#include <QPainter>

#include <utility>

namespace kvscope {
namespace {

constexpr int kPadding = 6;
constexpr int kGap = spacing::kTight;

QString glyphOf(LabNote::Kind kind)
{
    switch (kind) {
    case LabNote::Kind::Plain:
        return {};
    case LabNote::Kind::Good:
        return QStringLiteral("\u2713 ");
    case LabNote::Kind::Caution:
        return QStringLiteral("! ");
    case LabNote::Kind::Bad:
        break;
    }
    return QStringLiteral("\u2715 ");
}

std::pair<QColor, QColor> colorsOf(LabNote::Kind kind, const Theme& theme)
{
    switch (kind) {
    case LabNote::Kind::Plain:
        return {theme.ink2, theme.panel};
    case LabNote::Kind::Good:
        return {theme.good, theme.goodBackground};
    case LabNote::Kind::Caution:
        return {theme.caution, theme.cautionBackground};
    case LabNote::Kind::Bad:
        break;
    }
    return {theme.bad, theme.badBackground};
}

int heightOf(const LabNote& note, int width)
{
    const int padding = note.kind == LabNote::Kind::Plain ? 0 : kPadding;
    const QFontMetrics metrics(uiFont(TextSize::Secondary));
    const QRect room(0, 0, std::max(width - 2 * padding, 20), 1000);
    return metrics.boundingRect(room, Qt::TextWordWrap, glyphOf(note.kind) + note.text).height() +
           (padding > 0 ? 8 : 2);
}

void addControls(std::vector<LabNote>& notes, const SweepReport& report)
{
    Proportion controls;
    for (const SweepColumn& column : report.columns) {
        controls.correct += column.control.score.correct;
        controls.trials += column.control.score.trials;
    }
    if (controls.trials == 0)
        return;
    const QString score = QStringLiteral("%1/%2").arg(controls.correct).arg(controls.trials);
    if (controls.correct == 0)
        notes.push_back({LabNote::Kind::Good,
                         LabNotes::tr("Control %1: answers cannot be guessed").arg(score)});
    else
        notes.push_back(
            {LabNote::Kind::Caution,
             LabNotes::tr("Control %1: some answers come without the fact").arg(score)});
}

} // namespace

std::vector<LabNote> notesOf(const SweepReport& report)
{
    std::vector<LabNote> notes;
    const SweepProgress& progress = report.progress;
    if (progress.reusedTokens > 0 && progress.promptTokens > 0)
        notes.push_back(
            {LabNote::Kind::Plain, LabNotes::tr("Shared prefixes read once: %1 % of tokens saved.")
                                       .arg(100.0 * static_cast<double>(progress.reusedTokens) /
                                                static_cast<double>(progress.promptTokens),
                                            0, 'f', 0)});
    if (report.isLeaking)
        notes.push_back(
            {LabNote::Kind::Bad, LabNotes::tr("Answer in the prompt: the question states it")});
    else if (report.numLintedPrompts > 0)
        notes.push_back(
            {LabNote::Kind::Good, LabNotes::tr("Leak lint: %1 prompts, no answer in them")
                                      .arg(countText(report.numLintedPrompts))});
    addControls(notes, report);
    if (progress.numDisturbed > 0)
        notes.push_back(
            {LabNote::Kind::Caution, LabNotes::tr("%1 trials under other load: times left out")
                                         .arg(countText(progress.numDisturbed))});
    return notes;
}

LabNotes::LabNotes(QWidget* parent)
    : QWidget(parent)
{
    setAccessibleName(tr("Notes"));
    QSizePolicy policy(QSizePolicy::Preferred, QSizePolicy::Fixed);
    policy.setHeightForWidth(true);
    setSizePolicy(policy);
}

void LabNotes::setNotes(std::vector<LabNote> notes)
{
    if (notes == m_notes)
        return;
    m_notes = std::move(notes);
    QStringList texts;
    for (const LabNote& note : m_notes)
        texts.append(glyphOf(note.kind) + note.text);
    setAccessibleDescription(texts.join(QStringLiteral("; ")));
    setVisible(!m_notes.empty());
    updateGeometry();
    update();
}

int LabNotes::heightForWidth(int width) const
{
    int height = 0;
    for (const LabNote& note : m_notes)
        height += heightOf(note, width) + kGap;
    return height;
}

void LabNotes::paintEvent(QPaintEvent*)
{
    const Theme& theme = Theme::current();
    QPainter painter(this);
    painter.fillRect(rect(), theme.panel);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setFont(uiFont(TextSize::Secondary));
    int y = 0;
    for (const LabNote& note : m_notes) {
        const QRect box(0, y, width(), heightOf(note, width()));
        const auto [ink, fill] = colorsOf(note.kind, theme);
        const bool isBoxed = note.kind != LabNote::Kind::Plain;
        if (isBoxed) {
            painter.setPen(QPen(ink, 1));
            painter.setBrush(fill);
            painter.drawRoundedRect(QRectF(box).adjusted(0.5, 0.5, -0.5, -0.5), spacing::kRadius,
                                    spacing::kRadius);
        }
        painter.setPen(ink);
        const int padding = isBoxed ? kPadding : 0;
        painter.drawText(box.adjusted(padding, 0, -padding, 0),
                         Qt::AlignLeft | Qt::AlignVCenter | Qt::TextWordWrap,
                         glyphOf(note.kind) + note.text);
        y += box.height() + kGap;
    }
}

} // namespace kvscope
