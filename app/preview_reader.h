#pragma once

#include "engine/session/open_preview_snapshot.h"

#include <QObject>
#include <QString>

#include <memory>
#include <stop_token>

namespace kvscope {

/// Reads previews of models on a pool thread, the newest wish only: an older one is stopped and its
/// answer dropped.
class PreviewReader : public QObject
{
    Q_OBJECT
public:
    using QObject::QObject;
    ~PreviewReader() override;

    /// \param dtype, cacheDtype, maxContext  of `choice` only change the wording of the fit
    void read(quint64 request, const QString& path, const OpenChoice& choice);
    void cancel();

Q_SIGNALS:
    void previewRead(quint64 request, std::shared_ptr<const kvscope::OpenPreview> preview);

private:
    std::stop_source m_stop{std::nostopstate};
};

} // namespace kvscope
