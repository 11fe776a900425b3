#include "widgets/number_format.h"

namespace kvscope {

QString quotedPiece(const std::string& piece)
{
    QString shown;
    for (const QChar character : QString::fromStdString(piece)) {
        if (character == u'\n')
            shown += QStringLiteral("↵");
        else if (character == u'\t')
            shown += QStringLiteral("⇥");
        else if (character == u'\r')
            shown += QStringLiteral("␍");
        else if (character.category() == QChar::Other_Control)
            shown += QStringLiteral("␀");
        else
            shown += character;
    }
    return u'“' + shown + u'”';
}

} // namespace kvscope
