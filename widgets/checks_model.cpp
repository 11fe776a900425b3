#include "widgets/checks_model.h"

#include "widgets/elided_label.h"
#include "widgets/fonts.h"
#include "widgets/number_format.h"
#include "widgets/theme.h"

#include <QCoreApplication>

#include <algorithm>

namespace kvscope {
namespace {

QString fromStd(std::string_view text)
{
    return QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size()));
}

/// "1,785,664 – 31,866,688", or "at 24" where nothing was read there.
QString bytesRange(const CheckEntry& check)
{
    if (!check.bytes)
        return {};
    const QString begin = countText(static_cast<std::int64_t>(check.bytes->begin));
    if (check.bytes->begin == check.bytes->end)
        return ChecksModel::tr("at %1").arg(begin);
    return begin + QStringLiteral(" – ") + countText(static_cast<std::int64_t>(check.bytes->end));
}

/// A sentence without the names that stand in the row already.
QString foundText(const CheckEntry& check)
{
    QString text = fromStd(check.found);
    const QString file = fromStd(check.file) + QStringLiteral(": ");
    if (!check.file.empty() && text.startsWith(file))
        text.remove(0, file.size());
    const QString subject = fromStd(check.what).section(u':', 0, 0) + u' ';
    if (text.startsWith(subject))
        text.remove(0, subject.size());
    return text;
}

QColor resultColor(CheckResult result)
{
    const Theme& theme = Theme::current();
    return result == CheckResult::Passed    ? theme.good
           : result == CheckResult::Warning ? theme.caution
                                            : theme.bad;
}

QString cellText(const CheckEntry& check, int column)
{
    switch (column) {
    case ChecksModel::ResultColumn:
        return resultText(check.result);
    case ChecksModel::SectionColumn:
        return fromStd(sectionName(check.section));
    case ChecksModel::WhatColumn:
        return fromStd(check.what);
    case ChecksModel::FoundColumn:
        return foundText(check);
    case ChecksModel::BytesColumn:
        return bytesRange(check);
    default:
        return {};
    }
}

} // namespace

QString wholeText(const CheckEntry& check)
{
    QStringList lines{resultText(check.result) + QStringLiteral(": ") + fromStd(check.what)};
    if (!check.found.empty())
        lines << fromStd(check.found);
    QString place = fromStd(check.file);
    if (check.bytes)
        place += (place.isEmpty() ? QString() : QStringLiteral(", ")) +
                 ChecksModel::tr("bytes %1 (the last excluded)").arg(bytesRange(check));
    if (!place.isEmpty())
        lines << place;
    return lines.join(u'\n');
}

QString resultText(CheckResult result)
{
    switch (result) {
    case CheckResult::Passed:
        return QStringLiteral("✓ ") + ChecksModel::tr("passed");
    case CheckResult::Warning:
        return QStringLiteral("! ") + ChecksModel::tr("warning");
    case CheckResult::Failed:
        break;
    }
    return QStringLiteral("✕ ") + ChecksModel::tr("failed");
}

void ChecksModel::setChecks(std::vector<CheckEntry> checks)
{
    beginResetModel();
    m_checks = std::move(checks);
    endResetModel();
}

int ChecksModel::count(CheckResult result) const
{
    return static_cast<int>(
        std::count_if(m_checks.begin(), m_checks.end(),
                      [result](const CheckEntry& check) { return check.result == result; }));
}

int ChecksModel::rowCount(const QModelIndex& parent) const
{
    return parent.isValid() ? 0 : static_cast<int>(m_checks.size());
}

int ChecksModel::columnCount(const QModelIndex& parent) const
{
    return parent.isValid() ? 0 : ColumnCount;
}

QVariant ChecksModel::data(const QModelIndex& index, int role) const
{
    if (!index.isValid() || index.row() >= rowCount())
        return {};
    const CheckEntry& entry = check(index.row());
    switch (role) {
    case Qt::DisplayRole:
        return cellText(entry, index.column());
    case Qt::ToolTipRole:
        return plainTooltip(wholeText(entry));
    case Qt::AccessibleDescriptionRole:
        return wholeText(entry);
    case Qt::ForegroundRole:
        if (index.column() == ResultColumn ||
            (entry.result != CheckResult::Passed && index.column() == FoundColumn))
            return resultColor(entry.result);
        return index.column() == WhatColumn ? Theme::current().ink : Theme::current().ink2;
    case Qt::FontRole:
        return index.column() == BytesColumn ? digitFont() : uiFont();
    case Qt::TextAlignmentRole:
        return static_cast<int>((index.column() == BytesColumn ? Qt::AlignRight : Qt::AlignLeft) |
                                Qt::AlignVCenter);
    default:
        return {};
    }
}

QVariant ChecksModel::headerData(int section, Qt::Orientation orientation, int role) const
{
    if (orientation != Qt::Horizontal)
        return {};
    if (role == Qt::TextAlignmentRole)
        return static_cast<int>((section == BytesColumn ? Qt::AlignRight : Qt::AlignLeft) |
                                Qt::AlignVCenter);
    if (role != Qt::DisplayRole)
        return {};
    const QStringList titles{tr("Result"), tr("Part"), tr("What was checked"), tr("What was found"),
                             tr("Bytes of the file")};
    return titles.value(section);
}

ChecksFilter::ChecksFilter(ChecksModel* checks, QObject* parent)
    : QSortFilterProxyModel(parent)
    , m_checks(checks)
{
    setSourceModel(checks);
}

void ChecksFilter::setLeastResult(CheckResult least)
{
    m_least = least;
    invalidateFilter();
}

void ChecksFilter::setText(const QString& text)
{
    m_text = text.trimmed();
    invalidateFilter();
}

bool ChecksFilter::filterAcceptsRow(int row, const QModelIndex&) const
{
    const CheckEntry& check = m_checks->check(row);
    if (check.result < m_least)
        return false;
    if (m_text.isEmpty())
        return true;
    for (const std::string& text : {check.what, check.found, check.file})
        if (fromStd(text).contains(m_text, Qt::CaseInsensitive))
            return true;
    return fromStd(sectionName(check.section)).contains(m_text, Qt::CaseInsensitive);
}

SnapshotTable checksTable(const std::vector<CheckEntry>& checks)
{
    SnapshotTable table;
    table.columns = {QStringLiteral("result"),  QStringLiteral("section"),
                     QStringLiteral("file"),    QStringLiteral("checked"),
                     QStringLiteral("found"),   QStringLiteral("first byte"),
                     QStringLiteral("end byte")};
    for (const CheckEntry& check : checks)
        table.rows.append({fromStd(resultName(check.result)), fromStd(sectionName(check.section)),
                           fromStd(check.file), fromStd(check.what), fromStd(check.found),
                           check.bytes ? QString::number(check.bytes->begin) : QString(),
                           check.bytes ? QString::number(check.bytes->end) : QString()});
    return table;
}

} // namespace kvscope
