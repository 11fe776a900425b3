#include "widgets/chat_model.h"
#include "widgets/chat_painter.h"
#include "widgets/fonts.h"
#include "widgets/number_format.h"
#include "widgets/theme.h"

#include <QCoreApplication>

namespace kvscope {
namespace {

/// What goes first where a role line is narrow.
enum Rank { kName, kState, kRange, kCount, kDetail };

QString translated(const char* text)
{
    return QCoreApplication::translate("ChatView", text);
}

QString rateText(double tokensPerSecond)
{
    return translated("%1 tok/s")
        .arg(QString::number(tokensPerSecond, 'f', tokensPerSecond < 99.95 ? 1 : 0));
}

/// How an answer that is whole came to its end, where that is worth a word.
QString endText(FinishReason finish)
{
    switch (finish) {
    case FinishReason::MaxNewTokens:
        return translated("! cut at the most new tokens");
    case FinishReason::ContextFull:
        return translated("! cut, the context is full");
    case FinishReason::EndToken:
    case FinishReason::Cancelled:
    case FinishReason::Failed:
        break;
    }
    return {};
}

void addState(const ChatRow& row, const Theme& theme, std::vector<HeaderPiece>& pieces)
{
    const QFont font = uiFont(TextSize::Secondary);
    switch (row.state) {
    case ChatRowState::Waiting:
        pieces.push_back({translated("◐ reading the prompt"), font, theme.ink2, kState});
        return;
    case ChatRowState::Writing:
        pieces.push_back({row.tokensPerSecond > 0.0
                              ? translated("● writing, %1").arg(rateText(row.tokensPerSecond))
                              : translated("● writing"),
                          font, theme.good, kState});
        return;
    case ChatRowState::Stopped:
        pieces.push_back({translated("■ stopped"), font, theme.caution, kState});
        break;
    case ChatRowState::Failed:
        pieces.push_back({translated("✕ failed"), font, theme.bad, kState});
        break;
    case ChatRowState::Complete:
        if (const QString end = endText(row.finish); !end.isEmpty())
            pieces.push_back({end, font, theme.caution, kState});
        break;
    }
    if (row.decodeSeconds > 0.0)
        pieces.push_back({secondsText(row.decodeSeconds), font, theme.ink3, kDetail});
}

} // namespace

std::vector<HeaderPiece> headerPieces(const ChatRow& row, const Theme& theme)
{
    const QFont font = uiFont(TextSize::Secondary);
    const bool isModel = row.role == ChatRole::Assistant;
    std::vector<HeaderPiece> pieces;
    pieces.push_back(
        {speakerName(row.role), uiFont(TextSize::Body, QFont::Bold), theme.ink2, kName});
    if (row.isDropped) {
        pieces.push_back({translated("not in the context"), font, theme.ink3, kState});
        return pieces;
    }
    if (const QString range = tokenRangeText(row); !range.isEmpty()) {
        pieces.push_back({range, digitFont(TextSize::Body), theme.ink3, kRange});
        const std::int64_t count =
            isModel && row.newTokens > 0 ? row.newTokens : row.lastToken - row.firstToken + 1;
        pieces.push_back(
            {count == 1 ? translated("1 token") : translated("%1 tokens").arg(countText(count)),
             font, theme.ink3, kCount});
    }
    if (row.isTemplates)
        pieces.push_back({translated("from the chat template"), font, theme.ink3, kDetail});
    if (isModel)
        addState(row, theme, pieces);
    return pieces;
}

} // namespace kvscope
