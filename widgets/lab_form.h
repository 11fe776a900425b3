#pragma once

#include <QString>
#include <QStringList>
#include <QWidget>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

class QCheckBox;
class QComboBox;
class QFormLayout;
class QLineEdit;
class QSpinBox;

namespace kvscope {

/// "1024, 2K 4096" as lengths; nothing where a word is not a whole number from 1 to 2^40, K being
/// 1,024.
std::optional<std::vector<std::int64_t>> lengthsFrom(const QString& text);
/// "0, 25, 50.5" as per cent; nothing where a word is not a number from 0 to 100.
std::optional<std::vector<double>> depthsFrom(const QString& text);

/// Rows of labelled fields, read and told of by name. What is typed wrong is said under its field.
class LabForm : public QWidget
{
    Q_OBJECT
public:
    explicit LabForm(QWidget* parent = nullptr);

    enum class Empty { Allowed, Refused };
    void addLengths(const QString& name, const QString& label, const QString& text, Empty empty,
                    const QString& hint);
    void addDepths(const QString& name, const QString& label, const QString& text);
    void addNumber(const QString& name, const QString& label, std::int64_t value,
                   std::int64_t least, std::int64_t most, const QString& zeroText = {});
    void addPath(const QString& name, const QString& label, const QString& placeholder);
    void addCheck(const QString& name, const QString& label, const QString& hint);
    /// \param isEditable  a person may type another choice ("linear:3")
    void addChoice(const QString& name, const QString& label, const QStringList& choices,
                   bool isEditable);
    void setChoices(const QString& name, const QStringList& choices);
    void setHint(const QString& name, const QString& hint);

    std::vector<std::int64_t> lengths(const QString& name) const; ///< none where they are wrong
    std::vector<double> depths(const QString& name) const;
    std::int64_t number(const QString& name) const;
    std::string text(const QString& name) const; ///< of a path or a choice
    bool isChecked(const QString& name) const;
    /// Puts a value in, as a person would; for tests and settings.
    void setText(const QString& name, const QString& text);
    void setNumber(const QString& name, std::int64_t value);
    void setChecked(const QString& name, bool isChecked);
    /// By whatever kind of field it is: "1" checks a box. \returns whether there is such a field
    bool put(const QString& name, const QString& text);

    /// What is wrong with what was typed, one sentence; empty: nothing.
    QString problem() const;

Q_SIGNALS:
    void changed();

private:
    QLineEdit* addLine(const QString& name, const QString& label, const QString& text);
    void addRow(const QString& name, const QString& label, QWidget* field);

    QFormLayout* m_rows;
    std::map<QString, QWidget*> m_fields;
    std::map<QString, std::function<QString()>> m_checks; ///< a sentence where it is wrong
};

} // namespace kvscope
