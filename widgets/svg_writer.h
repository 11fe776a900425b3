#pragma once

#include <QByteArray>
#include <QPaintDevice>
#include <QSizeF>
#include <QString>

#include <memory>

namespace kvscope {

/// Something to paint on that becomes an SVG file: a path a shape, text as text, and clipping as
/// clip paths, which Qt 6.4's QSvgGenerator leaves out. A unit is a device-independent pixel (1/96
/// inch). Patterns and gradients become pictures.
class SvgWriter : public QPaintDevice
{
public:
    /// \param title, description  for people and screen readers; may be empty
    SvgWriter(const QSizeF& size, const QString& title, const QString& description);
    ~SvgWriter() override;

    /// The whole file in UTF-8, once painting has ended.
    QByteArray svg() const;

    QPaintEngine* paintEngine() const override;

protected:
    int metric(PaintDeviceMetric metric) const override;

private:
    class Engine;

    QSizeF m_size;
    QString m_title;
    QString m_description;
    std::unique_ptr<Engine> m_engine;
};

} // namespace kvscope
