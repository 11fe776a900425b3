#include "widgets/report_card_painter.h"

#include "widgets/number_format.h"
#include "widgets/report_card_plots.h"
#include "widgets/report_card_table.h"
#include "widgets/report_card_text.h"
#include "widgets/theme.h"

#include <QBuffer>
#include <QCoreApplication>
#include <QFontMetricsF>
#include <QPainter>
#include <QSvgGenerator>

#include <array>

namespace kvscope {
namespace {

constexpr double kLeft = 56.0;
constexpr double kRight = kCardWidth - 56.0;
constexpr double kStripTop = 166.0;
constexpr double kStripHeight = 70.0;
constexpr double kClaimsTop = kStripTop + kStripHeight + 4.0;
constexpr double kFooterTop = 1502.0;
constexpr double kClaimHeight = (kFooterTop - kClaimsTop) / static_cast<double>(kNumCardClaims);
constexpr double kTextWidth = 374.0;
constexpr double kPlotsLeft = 462.0;

QString tr(const char* text)
{
    return QCoreApplication::translate("kvscope::ReportCard", text);
}

/// One card on one painter, in the page's units.
class CardPage
{
public:
    CardPage(QPainter& painter, const ReportCard& card, const Theme& theme)
        : m_painter(painter)
        , m_card(card)
        , m_theme(theme)
    {
    }

    void paint() const
    {
        paintTitle();
        paintFacts();
        paintStrip();
        for (std::size_t i = 0; i < m_card.claims.size(); ++i)
            paintClaim(i);
        paintFooter();
    }

private:
    void write(const QRectF& area, int alignment, const QString& text, const QFont& font,
               const QColor& color) const
    {
        m_painter.setFont(font);
        m_painter.setPen(color);
        m_painter.drawText(
            area, alignment | Qt::TextSingleLine,
            QFontMetricsF(font).elidedText(text, Qt::ElideRight, area.width() + 0.5));
    }

    void rule(double y) const
    {
        m_painter.setPen(QPen(m_theme.line, 1));
        m_painter.drawLine(QPointF(kLeft, y), QPointF(kRight, y));
    }

    void paintTitle() const
    {
        write(QRectF(kLeft, 44, 500, 18), Qt::AlignLeft | Qt::AlignVCenter,
              tr("Five claims about a context length"), cardFont(CardTextSize::Small),
              m_theme.ink2);
        write(QRectF(kLeft, 62, 640, 36), Qt::AlignLeft | Qt::AlignVCenter,
              tr("%1, %2 tokens").arg(fromUtf8(m_card.model), countText(m_card.tokens)),
              cardFont(CardTextSize::Title, QFont::Bold), m_theme.ink);
        m_painter.setPen(m_theme.ink);
        drawWrapped(m_painter, QRectF(kLeft, 100, 560, 58), fromUtf8(m_card.summary),
                    cardFont(CardTextSize::Body));
    }

    void paintFacts() const
    {
        constexpr double kLabels = 700.0;
        constexpr double kValues = kLabels + 62.0;
        constexpr double kRow = 15.5;
        const QFont font = cardFont(CardTextSize::Axis);
        double y = 40.0;
        for (const CardNote& fact : m_card.facts) {
            if (y + kRow > kStripTop - 4)
                break;
            write(QRectF(kLabels, y, 60, kRow), Qt::AlignLeft | Qt::AlignVCenter,
                  fromUtf8(fact.label), font, m_theme.ink3);
            write(QRectF(kValues, y, kRight - kValues, kRow), Qt::AlignLeft | Qt::AlignVCenter,
                  fromUtf8(fact.text), font, m_theme.ink);
            y += kRow;
        }
    }

    void paintStrip() const
    {
        const std::array<QString, kNumCardClaims> names{tr("Accepts"), tr("Behaves"), tr("Fits"),
                                                        tr("In time"), tr("Uses")};
        const double width = (kRight - kLeft) / static_cast<double>(kNumCardClaims);
        m_painter.setPen(QPen(m_theme.line, 1));
        m_painter.setBrush(Qt::NoBrush);
        m_painter.drawRect(QRectF(kLeft, kStripTop, kRight - kLeft, kStripHeight - 8));
        for (std::size_t i = 0; i < kNumCardClaims; ++i) {
            const double x = kLeft + static_cast<double>(i) * width;
            if (i > 0) {
                m_painter.setPen(QPen(m_theme.line, 1));
                m_painter.drawLine(QPointF(x, kStripTop), QPointF(x, kStripTop + kStripHeight - 8));
            }
            const CardResult& result = m_card.claims.at(i);
            const QRectF inside(x + 12, kStripTop + 6, width - 20, 18);
            write(inside, Qt::AlignLeft | Qt::AlignVCenter, names.at(i),
                  cardFont(CardTextSize::Axis), m_theme.ink2);
            writeVerdict(inside.translated(0, 17).adjusted(0, 0, 0, 2), result,
                         fromUtf8(result.brief), CardTextSize::Heading);
            write(inside.translated(0, 36), Qt::AlignLeft | Qt::AlignVCenter,
                  fromUtf8(result.condition), cardFont(CardTextSize::Axis), m_theme.ink2);
        }
    }

    /// The glyph in the verdict's colour, then the text in ink.
    void writeVerdict(const QRectF& area, const CardResult& result, const QString& text,
                      CardTextSize size) const
    {
        const QFont font = cardFont(size, QFont::Bold);
        const QString glyph = verdictGlyph(result.verdict);
        const double width = QFontMetricsF(font).horizontalAdvance(glyph) + 6.0;
        write(QRectF(area.left(), area.top(), width, area.height()),
              Qt::AlignLeft | Qt::AlignVCenter, glyph, font, verdictColor(result.verdict, m_theme));
        write(area.adjusted(width, 0, 0, 0), Qt::AlignLeft | Qt::AlignVCenter, text, font,
              result.verdict == CardVerdict::NotMeasured ? m_theme.ink3 : m_theme.ink);
    }

    void paintClaim(std::size_t index) const
    {
        const CardResult& result = m_card.claims.at(index);
        const double top = kClaimsTop + static_cast<double>(index) * kClaimHeight;
        rule(top);
        const QRectF heading(kLeft, top + 12, kTextWidth, 22);
        paintTags(heading, result);
        write(heading, Qt::AlignLeft | Qt::AlignVCenter,
              QStringLiteral("%1  %2").arg(index + 1).arg(tr(claimTitle(result.claim))),
              cardFont(CardTextSize::Heading, QFont::Bold), m_theme.ink);
        writeVerdict(QRectF(kLeft, top + 36, kTextWidth, 30), result, fromUtf8(result.headline),
                     CardTextSize::Headline);
        paintNotes(QRectF(kLeft, top + 70, kTextWidth, kClaimHeight - 76), result);
        paintPlots(QRectF(kPlotsLeft, top + 10, kRight - kPlotsLeft, kClaimHeight - 18), result);
    }

    void paintTags(const QRectF& heading, const CardResult& result) const
    {
        const QFont font = cardFont(CardTextSize::Axis);
        double right = heading.right();
        const auto paintTag = [&](const QString& text) {
            const double width = QFontMetricsF(font).horizontalAdvance(text) + 12;
            const QRectF box(right - width, heading.top() + 2, width, 17);
            m_painter.setPen(QPen(m_theme.line, 1));
            m_painter.setBrush(Qt::NoBrush);
            m_painter.drawRect(box);
            write(box, Qt::AlignCenter, text, font, m_theme.ink2);
            right = box.left() - 6;
        };
        if (result.hasArithmetic)
            paintTag(tr("grey: arithmetic"));
        if (result.isMeasured)
            paintTag(tr("measured"));
    }

    void paintNotes(const QRectF& area, const CardResult& result) const
    {
        QRectF rest = area;
        for (const CardNote& note : result.notes) {
            const QString label = fromUtf8(note.label) + QStringLiteral(". ");
            if (rest.height() < 16.0)
                return;
            m_painter.setPen(m_theme.ink2);
            rest.setTop(rest.top() + 6 +
                        drawWrapped(m_painter, rest, label + fromUtf8(note.text),
                                    cardFont(CardTextSize::Small), static_cast<int>(label.size())));
        }
    }

    void paintPlots(const QRectF& area, const CardResult& result) const
    {
        if (result.plots.empty()) {
            write(area, Qt::AlignCenter, tr("not measured"), cardFont(CardTextSize::Small),
                  m_theme.ink3);
            return;
        }
        constexpr double kGap = 12.0;
        double weights = 0.0;
        for (const CardPlot& plot : result.plots)
            weights += cardPlotWeight(plot);
        const double room = area.width() - kGap * static_cast<double>(result.plots.size() - 1);
        double left = area.left();
        for (const CardPlot& plot : result.plots) {
            const double width = room * cardPlotWeight(plot) / weights;
            paintCardPlot(m_painter, QRectF(left, area.top(), width, area.height()), plot, m_theme);
            left += width + kGap;
        }
    }

    void paintFooter() const
    {
        rule(kFooterTop);
        const QRectF line(kLeft, kFooterTop + 6, kRight - kLeft, 18);
        write(QRectF(line.left(), line.top(), line.width() * 0.6, line.height()),
              Qt::AlignLeft | Qt::AlignVCenter, fromUtf8(m_card.footnote),
              cardFont(CardTextSize::Axis), m_theme.ink3);
        write(
            QRectF(line.left() + line.width() * 0.6, line.top(), line.width() * 0.4, line.height()),
            Qt::AlignRight | Qt::AlignVCenter, fromUtf8(m_card.command),
            cardDigitFont(CardTextSize::Axis), m_theme.ink2);
    }

    QPainter& m_painter;
    const ReportCard& m_card;
    const Theme& m_theme;
};

} // namespace

QString verdictGlyph(CardVerdict verdict)
{
    switch (verdict) {
    case CardVerdict::Yes:
        return QStringLiteral("✓");
    case CardVerdict::InPart:
        return QStringLiteral("◐");
    case CardVerdict::No:
        return QStringLiteral("✕");
    case CardVerdict::NotMeasured:
        break;
    }
    return missingText();
}

QColor verdictColor(CardVerdict verdict, const Theme& theme)
{
    switch (verdict) {
    case CardVerdict::Yes:
        return theme.good;
    case CardVerdict::InPart:
        return theme.caution;
    case CardVerdict::No:
        return theme.bad;
    case CardVerdict::NotMeasured:
        break;
    }
    return theme.ink3;
}

void paintReportCard(QPainter& painter, const QRectF& area, const ReportCard& card)
{
    const Theme& theme = Theme::light();
    painter.save();
    painter.fillRect(area, theme.panel);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.translate(area.topLeft());
    const double scale = std::min(area.width() / kCardWidth, area.height() / kCardHeight);
    painter.scale(scale, scale);
    CardPage(painter, card, theme).paint();
    painter.restore();
}

ExportSource cardExportSource(std::shared_ptr<const ReportCard> card)
{
    ExportSource source;
    source.name = QStringLiteral("report-card");
    // A4 in 1/96 inch.
    source.size = QSizeF(210.0, 297.0) * (96.0 / 25.4);
    source.hasSvg = true;
    source.paint = [card](QPainter& painter, const QRectF& area, const Theme&) {
        paintReportCard(painter, area, *card);
    };
    source.csv = [card] { return csvText(reportCardTable(*card)); };
    return source;
}

ExportSource cardPlotsExportSource(std::vector<CardPlot> plots, const QString& caption)
{
    constexpr double kPlotWidth = 720.0;
    constexpr double kPlotHeight = 300.0;
    constexpr double kMargin = 12.0;
    ExportSource source;
    source.name = QStringLiteral("plots");
    source.size = QSizeF(kPlotWidth, kPlotHeight * static_cast<double>(plots.size()));
    source.caption = caption;
    source.hasSvg = true;
    source.paint = [plots = std::move(plots)](QPainter& painter, const QRectF& area,
                                              const Theme& theme) {
        QRectF part = area;
        part.setHeight(area.height() / static_cast<double>(plots.size()));
        for (const CardPlot& plot : plots) {
            paintCardPlot(painter, part.adjusted(kMargin, kMargin, -kMargin, -kMargin), plot,
                          theme);
            part.translate(0.0, part.height());
        }
    };
    return source;
}

QByteArray cardPlotSvg(const CardPlot& plot)
{
    const QRectF area(0, 0, cardPlotWeight(plot) * 280.0, kClaimHeight - 18);
    QByteArray svg;
    QBuffer buffer(&svg);
    buffer.open(QIODevice::WriteOnly);
    QSvgGenerator writer;
    writer.setOutputDevice(&buffer);
    writer.setResolution(96);
    writer.setSize(area.size().toSize());
    writer.setViewBox(area);
    {
        QPainter painter(&writer);
        paintCardPlot(painter, area, plot, Theme::light());
    }
    const auto start = svg.indexOf("<svg"); // HTML wants the element without the XML line
    return start > 0 ? svg.mid(start) : svg;
}

} // namespace kvscope
