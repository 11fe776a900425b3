#pragma once

#include <QObject>
#include <QString>

namespace kvscope {

/// Reads dropped text files off the GUI thread.
class DroppedTextReader : public QObject
{
    Q_OBJECT
public:
    using QObject::QObject;

    /// Starts reading; exactly one of the signals follows, on this object's thread.
    void read(const QString& path);

Q_SIGNALS:
    void textRead(const QString& name, const QString& text, qint64 fileBytes);
    /// One sentence: not there, a folder, not UTF-8 (naming the byte), or longer than 64 MiB.
    void readFailed(const QString& message);
};

/// Whether a dropped path should be opened as a model rather than attached: a folder, or a file
/// whose ending is a checkpoint's.
bool looksLikeModel(const QString& path);

} // namespace kvscope
