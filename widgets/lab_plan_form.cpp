#include "widgets/lab_plan_form.h"

#include "widgets/fonts.h"

#include <QStackedWidget>
#include <QVBoxLayout>

#include <algorithm>

namespace kvscope {
namespace {

constexpr int kRestMilliseconds = 250;
constexpr std::int64_t kMost = 1 << 30;

QString none()
{
    return LabPlanForm::tr("(none)");
}
QString own()
{
    return LabPlanForm::tr("(the model's)");
}

/// The scheme as it is asked for: "" is the model's own.
std::string schemeOf(const LabForm& form, const QString& name)
{
    const std::string text = form.text(name);
    return text == own().toStdString() ? std::string() : text;
}

/// Whether a second rotation is asked for.
bool isCompared(const LabForm& form)
{
    const std::string second = form.text("second");
    return !second.empty() && second != none().toStdString();
}

} // namespace

QString suggestedLengths(std::int64_t trainedPositions)
{
    constexpr int kMostLengths = 4;
    const std::int64_t trained = trainedPositions > 0 ? trainedPositions : 4096;
    QStringList lengths;
    lengths.append(QString::number(std::max<std::int64_t>(1, trained - trained / 16)));
    for (std::int64_t length = trained / 2; length >= 128 && lengths.size() < kMostLengths;
         length /= 2)
        lengths.prepend(QString::number(length));
    return lengths.join(QStringLiteral(", "));
}

LabPlanForm::LabPlanForm(QWidget* parent)
    : QWidget(parent)
    , m_stack(new QStackedWidget(this))
{
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->addWidget(m_stack);
    m_rest.setSingleShot(true);
    m_rest.setInterval(kRestMilliseconds);
    connect(&m_rest, &QTimer::timeout, this, &LabPlanForm::changed);
    buildCosts();
    buildLosses();
    buildSweeps();
    buildCard();
    showKind(LabKind::Limits);
}

LabForm* LabPlanForm::add(LabKind kind)
{
    auto* form = new LabForm;
    m_forms[kind] = form;
    m_stack->addWidget(form);
    connect(form, &LabForm::changed, &m_rest, qOverload<>(&QTimer::start));
    return form;
}

void LabPlanForm::buildCosts()
{
    LabForm* limits = add(LabKind::Limits);
    limits->addLengths("lengths", tr("Lengths"), {}, LabForm::Empty::Allowed,
                       tr("doublings to the advertised one"));
    limits->addNumber("budget", tr("Budget, GiB"), 0, 0, 1 << 20, tr("what is free"));
    LabForm* latency = add(LabKind::Latency);
    latency->addLengths("lengths", tr("Lengths"), "256, 512, 1K, 2K", LabForm::Empty::Refused,
                        tr("of three or more the longest is foretold from the others"));
    latency->addNumber("chunk", tr("Chunk"), 512, 0, kMost, tr("one shot alone"));
    latency->addNumber("repeats", tr("Runs"), 3, 1, 1000);
    latency->setHint("repeats", tr("Prefills a length; the best counts"));
    latency->addNumber("steps", tr("Decode steps"), 16, 1, 100000);
}

void LabPlanForm::buildLosses()
{
    LabForm* positions = add(LabKind::Positions);
    positions->addPath("text", tr("Text"), tr("Northanger Abbey"));
    positions->addNumber("length", tr("Tokens"), 2048, 0, kMost, tr("all of it"));
    positions->addNumber("chunk", tr("Chunk"), 512, 0, kMost, tr("one shot"));
    positions->addNumber("bins", tr("Bins"), 0, 0, kMost, tr("doubling"));
    positions->addChoice("first", tr("Rotation"), {own()}, true);
    positions->addChoice("second", tr("Compared with"), {none()}, true);
    positions->addChoice("cache", tr("Cache compared with"),
                         {none(), QStringLiteral("float32"), QStringLiteral("bfloat16"),
                          QStringLiteral("float16"), QStringLiteral("int8"), QStringLiteral("fp8")},
                         false);
    positions->addCheck("whole", tr("Rotated for the whole length"),
                        tr("A rotation that follows the length is made for all of it at once"));
    LabForm* use = add(LabKind::Use);
    use->addPath("text", tr("Text"), tr("Northanger Abbey"));
    use->addNumber("length", tr("Tokens"), 2048, 0, kMost, tr("all of it"));
    use->addNumber("segments", tr("Segments"), 8, 2, kMost);
    use->addNumber("chunk", tr("Chunk"), 512, 0, kMost, tr("a segment in one"));
}

void LabPlanForm::buildSweeps()
{
    const auto common = [this](LabForm* form, const QString& depths, std::int64_t items,
                               const QString& itemLabel) {
        form->addLengths("lengths", tr("Lengths"), suggestedLengths(0), LabForm::Empty::Refused,
                         tr("Tokens, template and room for the answer included"));
        form->addDepths("depths", tr("Depths, %"), depths);
        form->addNumber("items", itemLabel, items, 1, 100000);
        form->addNumber("more", tr("Trials up to"), 0, 0, 1000000, tr("no more"));
        form->setHint("more", tr("Further trials of a cell that is undecided, with other filler"));
        form->addNumber("room", tr("Answer, tokens"), 0, 0, 4096, tr("as usual"));
        form->addNumber("chunk", tr("Chunk"), 512, 0, kMost, tr("one shot"));
    };
    LabForm* needle = add(LabKind::Needle);
    common(needle, "0, 25, 50, 75, 100", 12, tr("Facts"));
    needle->addPath("text", tr("Filler"), tr("Northanger Abbey"));
    needle->addNumber("seed", tr("Seed"), 0, 0, kMost);
    needle->addCheck("pairs", tr("Two facts, one question"),
                     tr("The second lies half the context behind the first"));
    LabForm* passkey = add(LabKind::Passkey);
    common(passkey, "0, 50, 100", 100, tr("Keys"));
    passkey->addChoice("protocol", tr("Protocol"), {tr("ours"), tr("reference")}, false);
    passkey->setHint("protocol",
                     tr("The reference counts words, uses no template and takes 16 tokens"));
    passkey->addNumber("seed", tr("Seed"), static_cast<std::int64_t>(kPasskeySeed), 0, kMost);
    passkey->addCheck("leaky", tr("The leaking question"),
                      tr("The reference's question states the key: marked in every result"));
}

void LabPlanForm::buildCard()
{
    LabForm* card = add(LabKind::Card);
    card->addNumber("length", tr("Tokens"), 0, 0, kMost, tr("what it is made for"));
    card->setHint("length", tr("The length that the five claims are about"));
    card->addNumber("limit", tr("First token, s"), 30, 1, 1000000);
    card->setHint("limit", tr("Seconds that a prompt of the length may take to its first token"));
    card->addNumber("chunk", tr("Chunk"), 512, 1, kMost);
    card->addCheck("thorough", tr("More lengths, each several times"),
                   tr("Otherwise at most 2,048 tokens unless they are typed, in minutes instead "
                      "of an hour"));
}

void LabPlanForm::showKind(LabKind kind)
{
    m_kind = kind;
    // The stack is as high as its highest page, but for those that are ignored: a short form leaves
    // no gap below it.
    for (const auto& [of, page] : m_forms)
        page->setSizePolicy(QSizePolicy::Preferred,
                            of == kind ? QSizePolicy::Preferred : QSizePolicy::Ignored);
    m_stack->setCurrentWidget(m_forms.at(kind));
    m_stack->updateGeometry();
}

std::uint64_t LabPlanForm::seed(LabKind kind) const
{
    const bool hasSeed = kind == LabKind::Needle || kind == LabKind::Passkey;
    return hasSeed ? static_cast<std::uint64_t>(form(kind).number("seed")) : 0;
}

Experiment LabPlanForm::experiment(LabKind kind) const
{
    const LabForm& from = form(kind);
    switch (kind) {
    case LabKind::Limits:
        return LimitsExperiment{from.lengths("lengths"),
                                static_cast<double>(from.number("budget"))};
    case LabKind::Positions: {
        PositionsExperiment positions{{from.text("text"), from.number("length")},
                                      from.number("chunk"),
                                      from.number("bins"),
                                      from.isChecked("whole"),
                                      {}};
        const std::string first = schemeOf(from, "first");
        const std::string second = schemeOf(from, "second");
        if (!first.empty() || isCompared(from))
            positions.rotaries.push_back(first);
        if (isCompared(from))
            positions.rotaries.push_back(second);
        const std::string cache = from.text("cache");
        if (cache != none().toStdString())
            positions.cacheDtypes = {"", cache};
        return positions;
    }
    case LabKind::Latency:
        return LatencyExperiment{from.lengths("lengths"), from.number("chunk"),
                                 from.number("repeats"), from.number("steps")};
    case LabKind::Use:
        return UseExperiment{{from.text("text"), from.number("length")},
                             from.number("segments"),
                             from.number("chunk")};
    case LabKind::Card:
        return CardExperiment{from.number("length"), static_cast<double>(from.number("limit")),
                              !from.isChecked("thorough"), from.number("chunk")};
    case LabKind::Needle:
    case LabKind::Passkey:
        break;
    }
    SweepSettings sweep;
    SweepRequest& request = sweep.request;
    request.lengths = from.lengths("lengths");
    request.depths = from.depths("depths");
    request.numItems = from.number("items");
    request.maxTrials = from.number("more");
    request.answerRoom = from.number("room");
    request.chunkTokens = from.number("chunk");
    request.seed = seed(kind);
    if (kind == LabKind::Needle) {
        request.fillerFile = from.text("text");
        request.experiment =
            from.isChecked("pairs") ? SweepExperiment::NeedlePairs : SweepExperiment::Needle;
        return sweep;
    }
    request.experiment = SweepExperiment::Passkey;
    request.protocol = from.text("protocol") == tr("reference").toStdString()
                           ? PasskeyProtocol::Reference
                           : PasskeyProtocol::Ours;
    request.isLeaky = from.isChecked("leaky");
    return sweep;
}

QString LabPlanForm::problem() const
{
    const LabForm& shown = form(m_kind);
    if (m_kind == LabKind::Positions && shown.text("cache") != none().toStdString() &&
        isCompared(shown))
        return tr("Either a rotation or a cache can be compared, not both at once");
    return shown.problem();
}

void LabPlanForm::setRotaryChoices(const QStringList& choices)
{
    form(LabKind::Positions).setChoices("first", QStringList{own()} + choices);
    form(LabKind::Positions).setChoices("second", QStringList{none(), own()} + choices);
}

void LabPlanForm::fillPasskeySweep()
{
    LabForm& passkey = form(LabKind::Passkey);
    passkey.setText("lengths", QStringLiteral("512, 1024, 4096"));
    passkey.setText("depths", QStringLiteral("0, 50, 100"));
    passkey.setNumber("items", 20);
    passkey.setNumber("more", 0);
    passkey.setNumber("room", 0);
    passkey.setNumber("chunk", 512);
    passkey.setText("protocol", tr("ours"));
    passkey.setNumber("seed", static_cast<std::int64_t>(kPasskeySeed));
    passkey.setChecked("leaky", false);
}

void LabPlanForm::suggestLengths(std::int64_t trainedPositions)
{
    for (const LabKind kind : {LabKind::Needle, LabKind::Passkey})
        form(kind).setText("lengths", suggestedLengths(trainedPositions));
    const std::int64_t tokens =
        trainedPositions > 0 ? std::min<std::int64_t>(trainedPositions, 2048) : 2048;
    for (const LabKind kind : {LabKind::Positions, LabKind::Use})
        form(kind).setNumber("length", tokens);
}

} // namespace kvscope
