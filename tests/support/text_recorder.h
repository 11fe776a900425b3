#pragma once

#include <QList>
#include <QPaintDevice>
#include <QPaintEngine>
#include <QPainter>
#include <QRectF>
#include <QString>

namespace kvscope {

/// Where a painter wrote which words, and what was seen of them.
struct RecordedText
{
    QString text;
    QRectF box;  ///< in the device's pixels
    QRectF clip; ///< what is seen of the device there; null: all
};

/// A paint device that draws nothing and remembers every text. It shows whether words stand over
/// each other or leave their area, which a picture would only show to an eye.
class TextRecorder : public QPaintDevice
{
public:
    explicit TextRecorder(const QSize& size)
        : m_size(size)
        , m_engine(m_texts)
    {
    }

    const QList<RecordedText>& texts() const { return m_texts; }
    QPaintEngine* paintEngine() const override { return &m_engine; }

protected:
    int metric(PaintDeviceMetric metric) const override
    {
        constexpr int kDotsPerInch = 96;
        switch (metric) {
        case PdmWidth:
            return m_size.width();
        case PdmHeight:
            return m_size.height();
        case PdmDepth:
            return 32;
        case PdmDpiX:
        case PdmDpiY:
        case PdmPhysicalDpiX:
        case PdmPhysicalDpiY:
            return kDotsPerInch;
        case PdmDevicePixelRatio:
            return 1;
        case PdmDevicePixelRatioScaled:
            return static_cast<int>(devicePixelRatioFScale());
        default:
            return 0;
        }
    }

private:
    class Engine : public QPaintEngine
    {
    public:
        explicit Engine(QList<RecordedText>& texts)
            : QPaintEngine(AllFeatures)
            , m_texts(texts)
        {
        }

        bool begin(QPaintDevice*) override { return true; }
        bool end() override { return true; }
        void updateState(const QPaintEngineState&) override {}
        void drawPixmap(const QRectF&, const QPixmap&, const QRectF&) override {}
        void drawPath(const QPainterPath&) override {}
        void drawPolygon(const QPointF*, int, PolygonDrawMode) override {}
        Type type() const override { return User; }
        void drawTextItem(const QPointF& at, const QTextItem& item) override
        {
            const QRectF box(at.x(), at.y() - item.ascent(), item.width(),
                             item.ascent() + item.descent());
            const QTransform& transform = painter()->combinedTransform();
            const QRectF clip = painter()->hasClipping()
                                    ? transform.mapRect(painter()->clipBoundingRect())
                                    : QRectF();
            m_texts.append({item.text(), transform.mapRect(box), clip});
        }

    private:
        QList<RecordedText>& m_texts;
    };

    QSize m_size;
    QList<RecordedText> m_texts;
    mutable Engine m_engine;
};

} // namespace kvscope
