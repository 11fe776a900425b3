#include "widgets/report_card_view.h"

#include "widgets/number_format.h"
#include "widgets/report_card_painter.h"
#include "widgets/report_card_table.h"
#include "widgets/report_card_text.h"
#include "widgets/theme.h"

#include <QAction>
#include <QFileDialog>
#include <QFileInfo>
#include <QMenu>
#include <QPaintEvent>
#include <QPainter>
#include <QSaveFile>
#include <QStandardPaths>

#include <algorithm>
#include <utility>

namespace kvscope {
namespace {

constexpr int kNarrowest = 560; ///< below it 11 px of the page are under 6 on the screen

} // namespace

ReportCardPage::ReportCardPage(QWidget* parent)
    : PaintedPanel(QStringLiteral("report-card"), tr("Report card"), parent)
{
    QSizePolicy policy(QSizePolicy::Expanding, QSizePolicy::Fixed);
    policy.setHeightForWidth(true);
    setSizePolicy(policy);
    setDescription(tr("five claims about a context length"));
}

void ReportCardPage::setCard(std::shared_ptr<const ReportCard> card)
{
    m_card = std::move(card);
    setDescription(m_card ? tr("%1 at %2 tokens: %3")
                                .arg(fromUtf8(m_card->model), countText(m_card->tokens),
                                     fromUtf8(m_card->summary))
                          : tr("five claims about a context length"));
    update();
}

void ReportCardPage::paintTo(QPainter& painter, const QRectF& area, const Theme& theme) const
{
    if (m_card)
        return paintReportCard(painter, area, *m_card);
    painter.fillRect(area, theme.panel);
    paintEmptyState(painter, area, theme, tr("No card yet."),
                    tr("Press Start: what is accepted, fits, is in time, behaves and is used "
                       "is measured at one length."));
}

void ReportCardPage::setSpellers(Speller html, Speller json)
{
    m_html = std::move(html);
    m_json = std::move(json);
}

std::optional<QString> ReportCardPage::saveHtml(const QString& path) const
{
    const QByteArray page = m_html(*m_card);
    QSaveFile file(path);
    if (file.open(QIODevice::WriteOnly) && file.write(page) == page.size() && file.commit())
        return std::nullopt;
    return tr("%1 was not written: %2.").arg(QFileInfo(path).fileName(), file.errorString());
}

void ReportCardPage::extendContextMenu(QMenu& menu)
{
    if (!m_card || !m_html)
        return;
    connect(menu.addAction(tr("Export HTML\u2026")), &QAction::triggered, this, [this] {
        const QString folder = QStandardPaths::writableLocation(QStandardPaths::DocumentsLocation);
        const QString path = QFileDialog::getSaveFileName(
            this, tr("Export HTML"), folder + QStringLiteral("/report-card.html"),
            tr("HTML pages (*.html)"));
        if (path.isEmpty())
            return;
        if (const auto error = saveHtml(path))
            Q_EMIT exportFailed(*error);
        else
            Q_EMIT exported(path);
    });
}

SnapshotTable ReportCardPage::exportTable() const
{
    return m_card ? reportCardTable(*m_card) : SnapshotTable{};
}

int ReportCardPage::heightForWidth(int width) const
{
    return m_card ? static_cast<int>(width * kCardHeight / kCardWidth) : 160;
}

QSize ReportCardPage::sizeHint() const
{
    return {kNarrowest, heightForWidth(kNarrowest)};
}

void ReportCardPage::extendExport(ExportSource& source) const
{
    if (!m_card) { // an empty page is nothing to keep
        source.paint = {};
        source.csv = {};
        return;
    }
    source = cardExportSource(m_card);
    if (m_json)
        source.json = [card = m_card, spell = m_json] { return spell(*card); };
}

void ReportCardPage::paintEvent(QPaintEvent* /*event*/)
{
    QPainter painter(this);
    paintTo(painter, rect(), Theme::current());
    paintFocus(painter);
}

ReportCardView::ReportCardView(QWidget* parent)
    : QScrollArea(parent)
    , m_page(new ReportCardPage)
{
    setFrameShape(QFrame::NoFrame);
    setWidget(m_page);
    setToolTip(tr("Five claims about a context length, each with verdict, number, test and "
                  "conditions"));
    fitPage();
}

void ReportCardView::setCard(std::shared_ptr<const ReportCard> card)
{
    m_page->setCard(std::move(card));
    fitPage();
}

void ReportCardView::clear()
{
    setCard(nullptr);
}

void ReportCardView::resizeEvent(QResizeEvent* event)
{
    QScrollArea::resizeEvent(event);
    fitPage();
}

void ReportCardView::fitPage()
{
    const int width = std::max(kNarrowest, viewport()->width());
    m_page->resize(width, std::max(m_page->heightForWidth(width),
                                   m_page->card() == nullptr ? viewport()->height() : 0));
}

} // namespace kvscope
