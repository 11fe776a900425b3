#include "widgets/report_card_table.h"

#include "widgets/report_card_text.h"

namespace kvscope {

SnapshotTable reportCardTable(const ReportCard& card)
{
    SnapshotTable table;
    table.columns = {QStringLiteral("claim"), QStringLiteral("verdict"), QStringLiteral("number"),
                     QStringLiteral("conditions"), QStringLiteral("notes")};
    for (const CardResult& result : card.claims) {
        QStringList notes;
        for (const CardNote& note : result.notes)
            notes.append(fromUtf8(note.label + ": " + note.text));
        table.rows.append({QString::fromLatin1(claimTitle(result.claim)),
                           QString::fromLatin1(verdictText(result.verdict)),
                           fromUtf8(result.headline), fromUtf8(result.condition),
                           notes.join(QLatin1Char(' '))});
    }
    return table;
}

} // namespace kvscope
