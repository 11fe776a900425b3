#include "widgets/token_panel.h"

#include "widgets/fonts.h"
#include "widgets/number_format.h"
#include "widgets/painted_panel.h"
#include "widgets/theme.h"
#include "widgets/token_history.h"
#include "widgets/token_panel_table.h"
#include "widgets/token_selection.h"

#include <QEvent>
#include <QHeaderView>
#include <QPainter>
#include <QStringList>
#include <QTableView>

#include <algorithm>
#include <cmath>

namespace kvscope {
namespace {

constexpr int kRefreshInterval = 250; ///< figures that change faster cannot be read
constexpr int kMargin = spacing::kStep;
constexpr int kChip = 34;
constexpr int kFactsTop = kMargin + kChip + spacing::kStep;
constexpr int kFactNameWidth = 62;
constexpr int kFactCount = 4;
constexpr int kVerdictTop = kFactsTop + kFactCount * spacing::kDenseRow + spacing::kStep;
constexpr int kVerdictHeight = 42;
constexpr std::int64_t kNeighbours = 8; ///< tokens quoted before and after
constexpr int kLayerWidth = 40;
constexpr int kKindWidth = 66;
constexpr int kSlotWidth = 62;

void styleTable(QTableView& view)
{
    view.setFrameShape(QFrame::NoFrame);
    view.setShowGrid(false);
    view.setAlternatingRowColors(true);
    view.setSelectionBehavior(QAbstractItemView::SelectRows);
    view.setSelectionMode(QAbstractItemView::SingleSelection);
    view.setWordWrap(false);
    view.verticalHeader()->hide();
    view.verticalHeader()->setSectionResizeMode(QHeaderView::Fixed);
    view.verticalHeader()->setDefaultSectionSize(spacing::kDenseRow);
    view.verticalHeader()->setMinimumSectionSize(spacing::kDenseRow);
    view.horizontalHeader()->setHighlightSections(false);
    view.horizontalHeader()->setMinimumSectionSize(24);
    view.horizontalHeader()->setSectionResizeMode(QHeaderView::Fixed);
    view.horizontalHeader()->setSectionResizeMode(TokenReachModel::Holds, QHeaderView::Stretch);
    view.setColumnWidth(TokenReachModel::Layer, kLayerWidth);
    view.setColumnWidth(TokenReachModel::Kind, kKindWidth);
    view.setColumnWidth(TokenReachModel::Slot, kSlotWidth);
}

} // namespace

TokenPanel::TokenPanel(QWidget* parent)
    : QWidget(parent)
    , m_table(new TokenReachModel(this))
    , m_view(new QTableView(this))
{
    setAccessibleName(tr("Token"));
    m_view->setModel(m_table);
    m_view->setAccessibleName(tr("Layers that hold the token"));
    m_view->setAccessibleDescription(tr("Layer, kind, whether it holds the token, slot"));
    styleTable(*m_view);
    setFocusProxy(m_view);
    m_timer.setSingleShot(true);
    m_timer.setInterval(kRefreshInterval);
    connect(&m_timer, &QTimer::timeout, this, &TokenPanel::refresh);
    refresh();
}

void TokenPanel::setTokens(TokenHistory* tokens)
{
    if (m_tokens != nullptr)
        disconnect(m_tokens, nullptr, this, nullptr);
    m_tokens = tokens;
    if (m_tokens != nullptr) {
        connect(m_tokens, &TokenHistory::tokensAppended, this, &TokenPanel::refreshSoon);
        connect(m_tokens, &TokenHistory::nllChanged, this, &TokenPanel::refreshSoon);
        // At once: the token shown may not exist any more.
        connect(m_tokens, &TokenHistory::truncated, this, &TokenPanel::refresh);
    }
    refresh();
}

void TokenPanel::setSelection(TokenSelectionModel* selection)
{
    if (m_selection != nullptr)
        disconnect(m_selection, nullptr, this, nullptr);
    m_selection = selection;
    if (m_selection != nullptr)
        connect(m_selection, &TokenSelectionModel::changed, this, &TokenPanel::refresh);
    refresh();
}

void TokenPanel::setModel(const ModelDescription& model)
{
    m_model = model;
    refresh();
}

void TokenPanel::setCache(const CacheSnapshot& cache)
{
    m_cache = cache;
    refreshSoon();
}

void TokenPanel::refreshSoon()
{
    if (!m_timer.isActive())
        m_timer.start();
}

void TokenPanel::refresh()
{
    m_timer.stop();
    m_position.reset();
    m_why = Why::Newest;
    if (m_selection != nullptr && m_selection->selection().pinned) {
        m_position = m_selection->selection().pinned;
        m_why = Why::Pinned;
    } else if (m_selection != nullptr && m_selection->selection().hovered) {
        m_position = m_selection->selection().hovered;
        m_why = Why::Hovered;
    } else if (m_tokens != nullptr && m_tokens->size() > 0) {
        m_position = m_tokens->size() - 1;
    }
    if (m_position && (m_tokens == nullptr || m_tokens->find(*m_position) == nullptr))
        m_position.reset();
    m_reach = m_position ? reachOf(*m_position, m_cache, m_model) : TokenReach{};
    m_table->setReach(m_reach);
    m_view->setVisible(m_table->rowCount() > 0);
    QStringList lines;
    for (const Fact& fact : facts())
        lines.append(fact.name + QLatin1Char(' ') + fact.value + QLatin1Char(' ') + fact.aside);
    if (m_position)
        lines.append(verdict() + QStringLiteral(". ") + verdictDetail());
    setAccessibleDescription(lines.join(QStringLiteral("; ")));
    update();
}

QString TokenPanel::verdict() const
{
    switch (m_reach.verdict) {
    case TokenVerdict::NotCached:
        return tr("Not in the cache yet");
    case TokenVerdict::Everywhere:
        return tr("Every layer holds it");
    case TokenVerdict::GlobalOnly:
        return tr("Only global layers still reach it");
    case TokenVerdict::SomeLayers:
        return tr("Some layers still reach it");
    case TokenVerdict::Gone:
        break;
    }
    return tr("Gone");
}

QString TokenPanel::verdictDetail() const
{
    const auto layers = static_cast<std::int64_t>(m_reach.layers.size());
    if (m_reach.verdict == TokenVerdict::NotCached)
        return tr("its keys and values are stored with its step");
    if (m_reach.verdict == TokenVerdict::Gone)
        return tr("none of %1 layers holds it").arg(countText(layers));
    if (m_reach.leavesWindowsIn > 0 && m_reach.verdict == TokenVerdict::Everywhere)
        return tr("%1; leaves the windows in %2 tokens")
            .arg(bytesText(m_reach.heldBytes), countText(m_reach.leavesWindowsIn));
    return tr("%1 of %2 layers hold it, %3 in all")
        .arg(countText(m_reach.layersHolding), countText(layers), bytesText(m_reach.heldBytes));
}

QString TokenPanel::textOf(std::int64_t first, std::int64_t last) const
{
    QString text;
    for (std::int64_t position = first; position <= last; ++position) {
        const TokenRecord* token = m_tokens->find(position);
        if (token != nullptr && !token->isControl)
            text += QString::fromStdString(token->text);
    }
    return text.replace(QLatin1Char('\n'), QLatin1Char(' '));
}

std::vector<TokenPanel::Fact> TokenPanel::facts() const
{
    const TokenRecord* token =
        m_position && m_tokens != nullptr ? m_tokens->find(*m_position) : nullptr;
    if (token == nullptr)
        return {};
    const std::int64_t age = m_tokens->size() - 1 - *m_position;
    const QString step = token->isPrompt ? QString() : secondsText(token->stepSeconds);
    Fact loss{tr("Loss"), missingText(), tr("not computed")};
    if (token->nll >= 0.0)
        loss = {tr("Loss"), tr("%1 nats").arg(lossText(token->nll)),
                tr("p %1").arg(std::exp(-token->nll), 0, 'g', 2)};
    return {{tr("Piece, id"), quotedPiece(token->piece), tr("id %1").arg(token->id)},
            {tr("Source"), token->isPrompt ? tr("prompt") : tr("generated"),
             step.isEmpty() ? step : tr("in %1").arg(step)},
            loss,
            {tr("Age"), age == 1 ? tr("1 token") : tr("%1 tokens").arg(countText(age)),
             age == 0 ? tr("the newest") : QString()}};
}

int TokenPanel::tableTop() const
{
    return kVerdictTop + kVerdictHeight + spacing::kStep;
}

void TokenPanel::resizeEvent(QResizeEvent* event)
{
    QWidget::resizeEvent(event);
    m_view->setGeometry(0, tableTop(), width(), std::max(height() - tableTop(), 0));
}

void TokenPanel::changeEvent(QEvent* event)
{
    QWidget::changeEvent(event);
    if (event->type() == QEvent::PaletteChange || event->type() == QEvent::FontChange)
        update();
}

void TokenPanel::paintEvent(QPaintEvent*)
{
    const Theme& theme = Theme::current();
    QPainter painter(this);
    painter.fillRect(rect(), theme.panel);
    const TokenRecord* token =
        m_position && m_tokens != nullptr ? m_tokens->find(*m_position) : nullptr;
    if (token == nullptr) {
        paintEmptyState(painter, rect(), theme, tr("No token yet"),
                        tr("Write a message; then point at a word, a slot or a dot."));
        return;
    }
    painter.setRenderHint(QPainter::Antialiasing);
    paintHeading(painter, theme, *token);
    paintFacts(painter, theme);
    paintVerdict(painter, theme);
}

void TokenPanel::paintHeading(QPainter& painter, const Theme& theme, const TokenRecord& token) const
{
    const bool isPinned = m_why == Why::Pinned;
    const QRectF chip(kMargin + 0.5, kMargin + 0.5, kChip - 1, kChip - 1);
    painter.setPen(QPen(isPinned ? theme.selection : theme.line, 1));
    painter.setBrush(isPinned ? theme.selectionBackground : theme.alternateRow);
    painter.drawRoundedRect(chip, spacing::kRadius, spacing::kRadius);
    const QString piece = QString::fromStdString(token.piece).trimmed();
    const int length = static_cast<int>(piece.size());
    painter.setFont(uiFont(length <= 2 ? TextSize::Headline : TextSize::Axis, QFont::Bold));
    painter.setPen(isPinned ? theme.selection : theme.ink);
    painter.drawText(chip.adjusted(2, 0, -2, 0), Qt::AlignCenter,
                     painter.fontMetrics().elidedText(piece, Qt::ElideRight, kChip - 5));
    const int left = kMargin + kChip + spacing::kStep;
    const QRect line(left, kMargin, width() - left - kMargin, kChip / 2);
    const QString why = isPinned                ? tr("selected")
                        : m_why == Why::Hovered ? tr("under the pointer")
                                                : tr("newest");
    const QString title = tr("Token %1").arg(countText(token.position));
    painter.setFont(uiFont(TextSize::Body, QFont::Bold));
    painter.setPen(theme.ink);
    painter.drawText(line, Qt::AlignLeft | Qt::AlignVCenter, title);
    const int after = painter.fontMetrics().horizontalAdvance(title) + spacing::kStep;
    painter.setFont(uiFont(TextSize::Secondary));
    painter.setPen(theme.ink3);
    paintElided(painter, line.adjusted(after, 0, 0, 0), Qt::AlignLeft | Qt::AlignVCenter, why);
    paintSentence(painter, theme, line.translated(0, kChip / 2));
}

void TokenPanel::paintSentence(QPainter& painter, const Theme& theme, const QRect& line) const
{
    const std::int64_t at = *m_position;
    const QString token = textOf(at, at);
    const QFont plain = uiFont(TextSize::Secondary);
    const QFont bold = uiFont(TextSize::Secondary, QFont::Bold);
    const int tokenWidth = std::min(QFontMetrics(bold).horizontalAdvance(token), line.width());
    // The token itself is never cut: what stands around it shares the rest of the line.
    const QFontMetrics metrics(plain);
    const QString all = textOf(at - kNeighbours, at - 1);
    const int half = (line.width() - tokenWidth) / 2;
    const QString before = metrics.elidedText(QStringLiteral("in “") + all, Qt::ElideLeft, half);
    int x = line.left();
    const auto write = [&](const QString& text, const QFont& font, const QColor& color) {
        painter.setFont(font);
        painter.setPen(color);
        painter.drawText(QRect(x, line.top(), line.right() - x + 1, line.height()),
                         Qt::AlignLeft | Qt::AlignVCenter, text);
        x += painter.fontMetrics().horizontalAdvance(text);
    };
    write(before, plain, theme.ink2);
    write(token, bold, m_why == Why::Pinned ? theme.selection : theme.ink);
    const QString rest = textOf(at + 1, at + kNeighbours) + QStringLiteral("”");
    write(metrics.elidedText(rest, Qt::ElideRight, std::max(line.right() - x, 0)), plain,
          theme.ink2);
}

void TokenPanel::paintFacts(QPainter& painter, const Theme& theme) const
{
    QRect line(kMargin, kFactsTop, width() - 2 * kMargin, spacing::kDenseRow);
    for (const Fact& fact : facts()) {
        painter.setFont(uiFont(TextSize::Secondary));
        painter.setPen(theme.ink2);
        painter.drawText(line, Qt::AlignLeft | Qt::AlignVCenter, fact.name);
        const QRect value = line.adjusted(kFactNameWidth, 0, 0, 0);
        painter.setFont(uiFont(TextSize::Secondary, QFont::Bold));
        painter.setPen(theme.ink);
        paintElided(painter, value, Qt::AlignLeft | Qt::AlignVCenter, fact.value);
        const int after = painter.fontMetrics().horizontalAdvance(fact.value) + spacing::kStep;
        painter.setFont(uiFont(TextSize::Secondary));
        painter.setPen(theme.ink3);
        if (after < value.width())
            paintElided(painter, value.adjusted(after, 0, 0, 0), Qt::AlignLeft | Qt::AlignVCenter,
                        fact.aside);
        line.translate(0, spacing::kDenseRow);
    }
}

void TokenPanel::paintVerdict(QPainter& painter, const Theme& theme) const
{
    const bool isGone = m_reach.verdict == TokenVerdict::Gone;
    const QRectF box(kMargin + 0.5, kVerdictTop + 0.5, width() - 2 * kMargin - 1,
                     kVerdictHeight - 1);
    painter.setPen(QPen(isGone ? theme.caution : theme.highlight, 1));
    painter.setBrush(isGone ? theme.cautionBackground : theme.highlightBackground);
    painter.drawRoundedRect(box, spacing::kRadius, spacing::kRadius);
    const QRectF text = box.adjusted(spacing::kStep, 3, -spacing::kStep, -3);
    const QRectF upper(text.left(), text.top(), text.width(), text.height() / 2);
    painter.setFont(uiFont(TextSize::Body, QFont::Bold));
    painter.setPen(theme.ink);
    paintElided(painter, upper, Qt::AlignLeft | Qt::AlignVCenter,
                isGone ? QStringLiteral("✕ ") + verdict() : verdict());
    painter.setFont(uiFont(TextSize::Secondary));
    painter.setPen(theme.ink2);
    paintElided(painter, upper.translated(0, text.height() / 2), Qt::AlignLeft | Qt::AlignVCenter,
                verdictDetail());
}

} // namespace kvscope
