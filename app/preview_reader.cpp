#include "app/preview_reader.h"

#include "engine/session/open_preview.h"

#include <QFuture>
#include <QtConcurrentRun>

namespace kvscope {

PreviewReader::~PreviewReader()
{
    cancel();
}

void PreviewReader::cancel()
{
    m_stop.request_stop();
}

void PreviewReader::read(quint64 request, const QString& path, const OpenChoice& choice)
{
    cancel();
    m_stop = std::stop_source();
    OpenRequest wanted;
    wanted.path = path.toStdString();
    wanted.device = choice.device;
    wanted.dtype = choice.dtype;
    wanted.cacheDtype = choice.cacheDtype;
    wanted.rotary = choice.rotary;
    wanted.contextLimit = choice.maxContext;
    const auto work = [wanted, stop = m_stop.get_token()] {
        return std::make_shared<const OpenPreview>(previewCheckpoint(wanted, stop).preview);
    };
    QtConcurrent::run(work).then(this, [this, request, stop = m_stop.get_token()](
                                           const std::shared_ptr<const OpenPreview>& preview) {
        if (!stop.stop_requested())
            Q_EMIT previewRead(request, preview);
    });
}

} // namespace kvscope
