#include "app/dropped_text.h"

#include "engine/base/utf8.h"

#include <QFile>
#include <QFileInfo>
#include <QFuture>
#include <QtConcurrentRun>

#include <string_view>

namespace kvscope {
namespace {

constexpr qint64 kLargestText = qint64{64} << 20;

struct ReadText
{
    QString text;
    qint64 bytes = 0;
    QString error; ///< empty where it was read
};

ReadText readWhole(const QString& path)
{
    QFile file(path);
    if (QFileInfo(path).isDir())
        return {{}, 0, QObject::tr("%1 is a folder; a text file can be attached").arg(path)};
    if (QFileInfo::exists(path) &&
        !QFileInfo(path).isFile()) // opening a pipe would wait for its writer
        return {{}, 0, QObject::tr("%1 is not a regular file").arg(path)};
    if (!file.open(QIODevice::ReadOnly))
        return {{}, 0, QObject::tr("%1 cannot be read: %2").arg(path, file.errorString())};
    const QByteArray bytes = file.read(kLargestText + 1);
    if (bytes.size() > kLargestText)
        return {{},
                0,
                QObject::tr("%1 is longer than the 67 MB of text that can be attached").arg(path)};
    const std::string_view view(bytes.constData(), static_cast<std::size_t>(bytes.size()));
    if (const auto bad = firstInvalidUtf8(view))
        return {{}, 0, QObject::tr("%1 is not UTF-8 text (byte %2)").arg(path).arg(*bad)};
    return {QString::fromUtf8(bytes), bytes.size(), {}};
}

} // namespace

void DroppedTextReader::read(const QString& path)
{
    QtConcurrent::run(readWhole, path).then(this, [this, path](const ReadText& result) {
        if (result.error.isEmpty())
            Q_EMIT textRead(QFileInfo(path).fileName(), result.text, result.bytes);
        else
            Q_EMIT readFailed(result.error);
    });
}

bool looksLikeModel(const QString& path)
{
    if (QFileInfo(path).isDir())
        return true;
    const QString ending = QFileInfo(path).suffix().toLower();
    return ending == "gguf" || ending == "safetensors" || ending == "yaml" || ending == "yml" ||
           ending == "bin" || ending == "pt" || ending == "pth" || ending == "ckpt" ||
           ending == "onnx";
}

} // namespace kvscope
