#pragma once

#include "engine/lab/report_card_report.h"
#include "widgets/painted_panel.h"

#include <QScrollArea>

#include <functional>
#include <memory>
#include <optional>

namespace kvscope {

/// One card as a sheet of paper. As wide as it is given; its height follows.
class ReportCardPage : public PaintedPanel
{
    Q_OBJECT
public:
    explicit ReportCardPage(QWidget* parent = nullptr);
    /// \param card  null: the empty state
    void setCard(std::shared_ptr<const ReportCard> card);
    const ReportCard* card() const { return m_card.get(); }
    /// How a card is spelt as HTML and as JSON, which widgets do not know; without, there is no
    /// such export.
    using Speller = std::function<QByteArray(const ReportCard&)>;
    void setSpellers(Speller html, Speller json);
    /// Writes the card as one HTML page. \returns the sentence for the person, if it was not
    /// written  \pre there is a card and its speller
    std::optional<QString> saveHtml(const QString& path) const;

    void paintTo(QPainter& painter, const QRectF& area, const Theme& theme) const override;
    SnapshotTable exportTable() const override;
    bool hasHeightForWidth() const override { return true; }
    int heightForWidth(int width) const override;
    QSize sizeHint() const override;

protected:
    void extendExport(ExportSource& source) const override;
    void extendContextMenu(QMenu& menu) override;
    void paintEvent(QPaintEvent* event) override;

private:
    std::shared_ptr<const ReportCard> m_card;
    Speller m_html;
    Speller m_json;
};

/// The card's page in the window: scrolled where it is higher than the view.
class ReportCardView : public QScrollArea
{
    Q_OBJECT
public:
    explicit ReportCardView(QWidget* parent = nullptr);
    void setCard(std::shared_ptr<const ReportCard> card);
    void clear();
    /// For its signals and its export.
    ReportCardPage* page() const { return m_page; }

protected:
    void resizeEvent(QResizeEvent* event) override;

private:
    void fitPage();

    ReportCardPage* m_page;
};

} // namespace kvscope
