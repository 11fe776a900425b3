#include "widgets/svg_writer.h"

#include <QBuffer>
#include <QImage>
#include <QPaintEngine>
#include <QPainter>
#include <QPainterPath>
#include <QPixmap>

#include <cmath>

namespace kvscope {
namespace {

constexpr int kDotsPerInch = 96;
constexpr double kMillimetresPerInch = 25.4;

QByteArray number(double value)
{
    return QByteArray::number(value, 'g', 7);
}

QByteArray attribute(const char* name, const QByteArray& value)
{
    return QByteArray(" ") + name + "=\"" + value + '"';
}

/// As XML holds it: what XML 1.0 has no place for becomes U+FFFD.
QByteArray escaped(const QString& text)
{
    QString kept = text;
    for (QChar& letter : kept) {
        const bool isControl = letter < QChar(0x20) && letter != '\t' && letter != '\n';
        if (isControl || letter == QChar(0xFFFE) || letter == QChar(0xFFFF))
            letter = QChar::ReplacementCharacter;
    }
    return kept.toHtmlEscaped().toUtf8();
}

/// "fill" or "stroke" with its opacity.
QByteArray paint(const char* name, const QColor& color)
{
    QByteArray text = attribute(name, color.name().toLatin1());
    if (color.alpha() < 255)
        text += attribute(qPrintable(QLatin1String(name) + QStringLiteral("-opacity")),
                          number(color.alphaF()));
    return text;
}

QByteArray pathData(const QPainterPath& path)
{
    QByteArray data;
    const auto point = [](const QPainterPath::Element& element) {
        return number(element.x) + ' ' + number(element.y);
    };
    for (int i = 0; i < path.elementCount(); ++i) {
        const QPainterPath::Element element = path.elementAt(i);
        if (element.isMoveTo())
            data += 'M' + point(element);
        else if (element.isLineTo())
            data += 'L' + point(element);
        else if (element.isCurveTo() && i + 2 < path.elementCount()) {
            data += 'C' + point(element) + ' ' + point(path.elementAt(i + 1)) + ' ' +
                    point(path.elementAt(i + 2));
            i += 2; // its two further points
        }
    }
    return data;
}

QByteArray fillRule(const QPainterPath& path)
{
    return path.fillRule() == Qt::OddEvenFill ? QByteArray("evenodd") : QByteArray("nonzero");
}

QByteArray matrix(const QTransform& by)
{
    return "matrix(" + number(by.m11()) + ' ' + number(by.m12()) + ' ' + number(by.m21()) + ' ' +
           number(by.m22()) + ' ' + number(by.dx()) + ' ' + number(by.dy()) + ')';
}

QByteArray strokeOf(const QPen& pen)
{
    if (pen.style() == Qt::NoPen)
        return {};
    const double width = pen.widthF() > 0.0 ? pen.widthF() : 1.0;
    QByteArray text = paint("stroke", pen.color()) + attribute("stroke-width", number(width));
    if (pen.isCosmetic())
        text += attribute("vector-effect", "non-scaling-stroke");
    if (pen.style() != Qt::SolidLine) {
        QByteArray dashes;
        for (const double length : pen.dashPattern()) // in pen widths
            dashes += (dashes.isEmpty() ? "" : ",") + number(length * width);
        text += attribute("stroke-dasharray", dashes);
        if (pen.dashOffset() != 0.0)
            text += attribute("stroke-dashoffset", number(pen.dashOffset() * width));
    }
    if (pen.capStyle() != Qt::FlatCap)
        text += attribute("stroke-linecap", pen.capStyle() == Qt::RoundCap ? "round" : "square");
    if (pen.joinStyle() == Qt::RoundJoin || pen.joinStyle() == Qt::BevelJoin)
        text += attribute("stroke-linejoin", pen.joinStyle() == Qt::RoundJoin ? "round" : "bevel");
    return text;
}

QByteArray fontOf(const QFont& font)
{
    const double pixels =
        font.pixelSize() > 0 ? font.pixelSize() : font.pointSizeF() * kDotsPerInch / 72.0;
    QByteArray text = attribute("font-family", escaped(font.family())) +
                      attribute("font-size", number(pixels)) +
                      attribute("font-weight", QByteArray::number(font.weight()));
    if (font.italic())
        text += attribute("font-style", "italic");
    if (font.underline())
        text += attribute("text-decoration", "underline");
    return text;
}

} // namespace

/// What QPainter calls; keeps the elements as they come.
class SvgWriter::Engine : public QPaintEngine
{
public:
    Engine()
        : QPaintEngine(features())
    {
    }

    const QByteArray& clips() const { return m_clips; }
    QByteArray elements() const { return m_isClipped ? m_elements + "</g>\n" : m_elements; }

    bool begin(QPaintDevice*) override { return true; }
    bool end() override { return true; }
    Type type() const override { return User; }

    void updateState(const QPaintEngineState& now) override
    {
        const auto changed = now.state();
        if (changed.testFlag(DirtyPen))
            m_pen = now.pen();
        if (changed.testFlag(DirtyBrush))
            m_brush = now.brush();
        if (changed.testFlag(DirtyTransform))
            m_transform = now.transform();
        if (changed.testFlag(DirtyOpacity))
            m_opacity = now.opacity();
        if (changed & (DirtyClipPath | DirtyClipRegion | DirtyClipEnabled))
            m_hasClipChanged = true;
    }

    void drawPath(const QPainterPath& path) override { add(path, true); }

    void drawPolygon(const QPointF* points, int count, PolygonDrawMode mode) override
    {
        if (count <= 0)
            return;
        QPainterPath path(points[0]);
        for (int i = 1; i < count; ++i)
            path.lineTo(points[i]);
        if (mode != PolylineMode)
            path.closeSubpath();
        path.setFillRule(mode == OddEvenMode ? Qt::OddEvenFill : Qt::WindingFill);
        add(path, mode != PolylineMode);
    }

    void drawTextItem(const QPointF& at, const QTextItem& item) override
    {
        open("text");
        m_elements += attribute("x", number(at.x())) + attribute("y", number(at.y())) +
                      fontOf(item.font()) + paint("fill", m_pen.color()) +
                      " xml:space=\"preserve\">" + escaped(item.text()) + "</text>\n";
    }

    void drawPixmap(const QRectF& area, const QPixmap& pixmap, const QRectF& source) override
    {
        drawImage(area, pixmap.toImage(), source, Qt::AutoColor);
    }

    void drawImage(const QRectF& area, const QImage& image, const QRectF& source,
                   Qt::ImageConversionFlags) override
    {
        QByteArray png;
        QBuffer buffer(&png);
        buffer.open(QIODevice::WriteOnly);
        image.copy(source.toAlignedRect()).save(&buffer, "PNG");
        open("image");
        m_elements += attribute("x", number(area.x())) + attribute("y", number(area.y())) +
                      attribute("width", number(area.width())) +
                      attribute("height", number(area.height())) +
                      " preserveAspectRatio=\"none\" href=\"data:image/png;base64," +
                      png.toBase64() + "\"/>\n";
    }

private:
    static PaintEngineFeatures features()
    {
        PaintEngineFeatures all(AllFeatures);
        for (const auto without : {PatternBrush, LinearGradientFill, RadialGradientFill,
                                   ConicalGradientFill, PorterDuff, PerspectiveTransform})
            all.setFlag(without, false);
        return all;
    }

    void add(const QPainterPath& path, bool isFilled)
    {
        const bool hasFill = isFilled && m_brush.style() != Qt::NoBrush;
        const QByteArray stroke = strokeOf(m_pen);
        if (path.isEmpty() || (!hasFill && stroke.isEmpty()))
            return;
        open("path");
        m_elements += hasFill ? paint("fill", m_brush.color()) : QByteArray(" fill=\"none\"");
        if (hasFill)
            m_elements += attribute("fill-rule", fillRule(path));
        m_elements += stroke + attribute("d", pathData(path)) + "/>\n";
    }

    /// Begins an element within the clip in force.
    void open(const char* tag)
    {
        if (m_hasClipChanged)
            changeClip();
        m_elements += QByteArray("<") + tag;
        if (!m_transform.isIdentity())
            m_elements += attribute("transform", matrix(m_transform));
        if (m_opacity < 1.0)
            m_elements += attribute("opacity", number(m_opacity));
    }

    void changeClip()
    {
        m_hasClipChanged = false;
        if (m_isClipped)
            m_elements += "</g>\n";
        m_isClipped = painter()->hasClipping();
        if (!m_isClipped)
            return;
        const QPainterPath clip = painter()->combinedTransform().map(painter()->clipPath());
        const QByteArray name = "clip" + QByteArray::number(++m_numClips);
        m_clips += "<clipPath" + attribute("id", name) + "><path" +
                   attribute("clip-rule", fillRule(clip)) + attribute("d", pathData(clip)) +
                   "/></clipPath>\n";
        m_elements += "<g" + attribute("clip-path", "url(#" + name + ')') + ">\n";
    }

    QByteArray m_clips;
    QByteArray m_elements;
    QPen m_pen;
    QBrush m_brush;
    QTransform m_transform;
    double m_opacity = 1.0;
    int m_numClips = 0;
    bool m_hasClipChanged = false;
    bool m_isClipped = false;
};

SvgWriter::SvgWriter(const QSizeF& size, const QString& title, const QString& description)
    : m_size(size)
    , m_title(title)
    , m_description(description)
    , m_engine(std::make_unique<Engine>())
{
}

SvgWriter::~SvgWriter() = default;

QByteArray SvgWriter::svg() const
{
    const QByteArray width = number(m_size.width());
    const QByteArray height = number(m_size.height());
    QByteArray text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                      "<svg xmlns=\"http://www.w3.org/2000/svg\"";
    text += attribute("width", width) + attribute("height", height) +
            attribute("viewBox", "0 0 " + width + ' ' + height) + ">\n";
    if (!m_title.isEmpty())
        text += "<title>" + escaped(m_title) + "</title>\n";
    if (!m_description.isEmpty())
        text += "<desc>" + escaped(m_description) + "</desc>\n";
    if (!m_engine->clips().isEmpty())
        text += "<defs>\n" + m_engine->clips() + "</defs>\n";
    return text + m_engine->elements() + "</svg>\n";
}

QPaintEngine* SvgWriter::paintEngine() const
{
    return m_engine.get();
}

int SvgWriter::metric(PaintDeviceMetric metric) const
{
    switch (metric) {
    case PdmWidth:
        return static_cast<int>(std::ceil(m_size.width()));
    case PdmHeight:
        return static_cast<int>(std::ceil(m_size.height()));
    case PdmWidthMM:
        return static_cast<int>(m_size.width() * kMillimetresPerInch / kDotsPerInch);
    case PdmHeightMM:
        return static_cast<int>(m_size.height() * kMillimetresPerInch / kDotsPerInch);
    case PdmDpiX:
    case PdmDpiY:
    case PdmPhysicalDpiX:
    case PdmPhysicalDpiY:
        return kDotsPerInch;
    case PdmNumColors:
        return 1 << 24;
    case PdmDepth:
        return 24;
    case PdmDevicePixelRatio:
        return 1;
    case PdmDevicePixelRatioScaled:
        return static_cast<int>(devicePixelRatioFScale());
    default:
        return QPaintDevice::metric(metric);
    }
}

} // namespace kvscope
