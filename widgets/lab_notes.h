#pragma once

#include "engine/lab/sweep_report.h"

#include <QString>
#include <QWidget>

#include <vector>

namespace kvscope {

/// One line that must be known: what was checked, or what is to be minded.
struct LabNote
{
    enum class Kind { Plain, Good, Caution, Bad } kind = Kind::Plain;
    QString text;

    bool operator==(const LabNote&) const = default;
};

/// What a sweep's report says of its own soundness: the leak lint, the controls, disturbed times,
/// and what reading shared prefixes once has saved.
std::vector<LabNote> notesOf(const SweepReport& report);

/// Notes as boxes beneath one another, each with its glyph.
class LabNotes : public QWidget
{
    Q_OBJECT
public:
    explicit LabNotes(QWidget* parent = nullptr);
    void setNotes(std::vector<LabNote> notes);
    const std::vector<LabNote>& notes() const { return m_notes; }

    bool hasHeightForWidth() const override { return true; }
    int heightForWidth(int width) const override;
    QSize sizeHint() const override { return {260, heightForWidth(260)}; }
    QSize minimumSizeHint() const override { return {160, 0}; }

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    std::vector<LabNote> m_notes;
};

} // namespace kvscope
