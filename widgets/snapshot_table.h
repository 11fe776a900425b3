#pragma once

#include <QList>
#include <QString>
#include <QStringList>

namespace kvscope {

/// The numbers of a drawing as text: what its CSV holds and what a screen reader walks through.
struct SnapshotTable
{
    QStringList columns; ///< with units: "copy, s"
    QList<QStringList> rows;

    bool operator==(const SnapshotTable&) const = default;
};

/// RFC 4180: comma, quotes doubled, lines end in CRLF, UTF-8. Numbers are passed as they stand, so
/// they should be plain (1943, not 1,943).
QString csvText(const SnapshotTable& table);

} // namespace kvscope
