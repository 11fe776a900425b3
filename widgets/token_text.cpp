#include "widgets/token_text.h"

#include "widgets/number_format.h"
#include "widgets/token_history.h"

#include <QCoreApplication>

namespace kvscope {
namespace {

QString tr(const char* text)
{
    return QCoreApplication::translate("kvscope::TokenText", text);
}

} // namespace

QString tokenName(const TokenHistory* history, std::int64_t position)
{
    const TokenRecord* token = history ? history->find(position) : nullptr;
    return token ? quotedPiece(token->piece) : tr("token %1").arg(countText(position));
}

QString tokenTooltip(const TokenHistory* history, std::int64_t position, const QStringList& lines)
{
    const TokenRecord* token = history ? history->find(position) : nullptr;
    QString text = QStringLiteral("<p style='white-space:pre'><b>") +
                   tokenName(history, position).toHtmlEscaped() + QStringLiteral("</b>");
    if (token) {
        text += tr("  id %1").arg(token->id);
        text += token->nll < 0 ? tr("  nll %1").arg(missingText())
                               : tr("  nll %1 nats").arg(lossText(token->nll));
    }
    for (const QString& line : lines)
        text += QStringLiteral("<br>") + line.toHtmlEscaped();
    return text + QStringLiteral("</p>");
}

} // namespace kvscope
