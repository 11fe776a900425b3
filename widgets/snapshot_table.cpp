#include "widgets/snapshot_table.h"

namespace kvscope {
namespace {

QString csvField(const QString& text)
{
    const bool quoted = text.contains(u',') || text.contains(u'"') || text.contains(u'\n') ||
                        text.contains(u'\r') || text.startsWith(u' ') || text.endsWith(u' ');
    if (!quoted)
        return text;
    return u'"' + QString(text).replace(u'"', QStringLiteral("\"\"")) + u'"';
}

QString csvLine(const QStringList& fields)
{
    QStringList written;
    for (const QString& field : fields)
        written.append(csvField(field));
    return written.join(u',') + QStringLiteral("\r\n");
}

} // namespace

QString csvText(const SnapshotTable& table)
{
    QString text = csvLine(table.columns);
    for (const QStringList& row : table.rows)
        text += csvLine(row);
    return text;
}

} // namespace kvscope
