#pragma once

#include "engine/cache/cache_snapshot.h"
#include "engine/session/engine_snapshot.h"
#include "widgets/export_menu.h"

#include <QTimer>
#include <QWidget>

#include <optional>

class QTableView;

namespace kvscope {

class LayerTableModel;

/// Every layer as a row: kind, window, sink, rotary pairs without rotation, and what its cache
/// holds. Copies what is selected with Ctrl+C (all where nothing is), as text with tabs.
class LayerTable : public QWidget
{
    Q_OBJECT
public:
    /// Live figures change at most four times a second, so that they can be read.
    static constexpr int kUpdateMilliseconds = 250;

    explicit LayerTable(QWidget* parent = nullptr);

    void setModel(const ModelDescription& model);
    void setSnapshot(const CacheSnapshot& snapshot);
    void clear();

    /// "12 layers: 6 windowed, 6 global".
    QString description() const { return m_description; }
    QTableView* view() const { return m_view; }
    QString csv() const;
    /// The table as text with tabs: the selected rows, or all.
    QString copiedText() const;
    void setExportCaption(const QString& caption) { m_exportCaption = caption; }
    ExportSource exportSource() const;

    QSize sizeHint() const override { return {760, 260}; }
    QSize minimumSizeHint() const override { return {280, 120}; }

Q_SIGNALS:
    void descriptionChanged(const QString& description);
    void exported(const QString& path);
    void exportFailed(const QString& message);

protected:
    void paintEvent(QPaintEvent* event) override;
    void changeEvent(QEvent* event) override;
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    void showPending();
    void describe(const ModelDescription* model);
    void showMenu(const QPoint& globalPosition);
    void copy() const;

    LayerTableModel* m_model = nullptr;
    QTableView* m_view = nullptr;
    QTimer m_pace;
    std::optional<CacheSnapshot> m_pending;
    QString m_description;
    QString m_exportCaption;
};

} // namespace kvscope
