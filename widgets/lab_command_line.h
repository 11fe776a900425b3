#pragma once

#include <QPlainTextEdit>
#include <QWidget>

namespace kvscope {

/// The same run on the command line, to read and to copy.
class LabCommandLine : public QWidget
{
    Q_OBJECT
public:
    explicit LabCommandLine(QWidget* parent = nullptr);

    void setCommand(const QString& command);
    QString command() const;

    QSize sizeHint() const override { return {260, 92}; }
    QSize minimumSizeHint() const override { return {160, 64}; }

public Q_SLOTS:
    void copy() const;

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    QPlainTextEdit* m_text;
};

} // namespace kvscope
