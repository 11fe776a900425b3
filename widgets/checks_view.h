#pragma once

#include "engine/base/check_entry.h"

#include <QWidget>

#include <optional>
#include <vector>

class QButtonGroup;
class QLabel;
class QLineEdit;
class QPushButton;
class QTableView;

namespace kvscope {

class ChecksFilter;
class ChecksModel;

/// The file doctor: every check made of a model's files, passed and failed, with offsets; to be
/// filtered, copied and exported.
class ChecksView : public QWidget
{
    Q_OBJECT
public:
    explicit ChecksView(QWidget* parent = nullptr);

    /// \param subject  the file's name, for the suggested name of an export
    void setChecks(std::vector<CheckEntry> checks, const QString& subject);
    void clear();
    ChecksModel& checks() { return *m_checks; }
    int shownRows() const;
    QString csv() const;        ///< of all checks
    QString copiedText() const; ///< the selected rows, or those shown, tab-separated

Q_SIGNALS:
    void exportFailed(const QString& message);

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    QWidget* buildBar();
    void buildTable();
    void showCounts();
    void showDetail();
    void copy() const;
    void showExportMenu();

    ChecksModel* m_checks;
    ChecksFilter* m_filter;
    QLineEdit* m_text;
    QButtonGroup* m_results;
    QTableView* m_table;
    QLabel* m_detail;
    QLabel* m_note;
    QPushButton* m_copy;
    QPushButton* m_export;
    QString m_subject;
};

} // namespace kvscope
