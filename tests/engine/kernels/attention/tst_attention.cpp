#include "engine/kernels/attention/attention.h"
#include "engine/kernels/attention/attention_blocks.h"
#include "engine/kernels/attention/attention_cpu.h"
#include "engine/kernels/cpu_features.h"
#include "tests/engine/kernels/attention/attention_cases.h"
#include "tests/support/avx512_on_avx2/kernels.h"
#include "tests/support/golden_file.h"
#include "tests/support/tensor_compare.h"

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>

#include <QTest>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

using namespace kvscope;

namespace {

/// Compares with the definition in float64. Float32 sums over softmax weights round to some 1e-7 of
/// the values, which are of size 1; 2e-6 leaves room for the largest of many.
QString differenceFromDefinition(const Case& given, const AttentionSimd& simd)
{
    const auto want = attentionReference(given.q.to(at::kDouble), given.view,
                                         given.firstQueryPosition, given.settings);
    // A capped score is right to cap * 2e-7, and a weight as much relative to itself.
    const double bound = 2e-6 + given.settings.softCap * 1e-6;
    AttentionSettings settings = given.settings;
    QString difference;
    for (const bool isStreamed : {false, true}) { // in blocks of other lengths
        settings.isStreamed = isStreamed;
        const auto got =
            attentionOnCpu(given.q, given.view, given.firstQueryPosition, settings, simd);
        difference += compareTensors(got, want, bound, bound);
    }
    return difference;
}

/// All that run here, AVX-512's on AVX2 among them.
const std::vector<const AttentionSimd*> kSimds = [] {
    std::vector<const AttentionSimd*> simds;
    for (const auto instructions : availableInstructionSets()) {
        simds.push_back(&attentionSimd(instructions));
#ifdef KVSCOPE_AVX512_ON_AVX2
        if (instructions == InstructionSet::Avx2)
            simds.push_back(&kAttentionAvx512OnAvx2);
#endif
    }
    return simds;
}();

} // namespace

class TestAttention : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void init() { at::manual_seed(11); }
    void cleanup() { at::set_num_threads(2); }

    void agreesWithGoldenNumbers_data();
    void agreesWithGoldenNumbers();
    void clampedSinksAgreeWithGoldenNumbers();
    void fastEqualsReference_data();
    void fastEqualsReference();
    void randomShapesEqualReference_data();
    void randomShapesEqualReference();
    void everySplitOfTheCacheEqualsReference();
    void blocksOfQueriesEqualTheWhole();
    void keysOutsideTheWindowAreNotRead();
    void sinkTakesTheShareOfItsLogit();
    void largeScoresDoNotOverflow();
    void nanInOneKeyShowsInItsHeadAlone();
    void queriesWithoutKeysAreRefused();
    void disagreeingShapesAreRefused();
};

void TestAttention::agreesWithGoldenNumbers_data()
{
    QTest::addColumn<QString>("name");
    for (const char* name : {"square", "shorter_than_window", "exactly_window", "one_query",
                             "chunk", "chunk_longer_than_window", "window_one"})
        QTest::newRow(name) << name;
}

void TestAttention::agreesWithGoldenNumbers()
{
    QFETCH(QString, name);
    const GoldenFile golden("gptosslite/attention/golden.safetensors");
    const auto key = name.toStdString();
    const auto q = golden.tensor(key + "/q").transpose(1, 2).contiguous();
    KVView view;
    view.add({golden.tensor(key + "/k"), golden.tensor(key + "/v"), 0});
    const auto first = view.length() - q.size(1);
    for (const bool isWindowed : {false, true}) {
        for (const bool hasSink : {false, true}) {
            AttentionSettings settings;
            settings.scale = 0.25; // 1 / sqrt(16)
            settings.window =
                isWindowed ? golden.facts().at(key).at("window").get<std::int64_t>() : 0;
            if (hasSink)
                settings.sinks = golden.tensor(key + "/sink");
            const auto want =
                key + (isWindowed ? "/window_" : "/global_") + (hasSink ? "sink" : "nosink");
            for (const auto& got :
                 {attention(q, view, first, settings), attentionReference(q, view, first, settings),
                  attentionOnCpu(q, view, first, settings, kAttentionPlain)}) {
                const auto difference = golden.difference(want, got.transpose(1, 2));
                QVERIFY2(difference.isEmpty(), qPrintable(difference));
            }
        }
    }
}

void TestAttention::clampedSinksAgreeWithGoldenNumbers()
{
    const GoldenFile golden("gptosslite/attention/golden.safetensors");
    const auto q = golden.tensor("clamp/q").transpose(1, 2).contiguous();
    KVView view;
    view.add({golden.tensor("clamp/k"), golden.tensor("clamp/v"), 0});
    AttentionSettings settings;
    settings.scale = 0.25;
    settings.sinks = golden.tensor("clamp/sink_clamped");
    auto difference =
        golden.difference("clamp/global", attention(q, view, 0, settings).transpose(1, 2));
    QVERIFY2(difference.isEmpty(), qPrintable(difference));
    settings.window = 5;
    difference = golden.difference("clamp/window", attention(q, view, 0, settings).transpose(1, 2));
    QVERIFY2(difference.isEmpty(), qPrintable(difference));
}

// Shapes at the edges of tiles and blocks: blocks of 64 keys (decode) and 48 (prefill), tiles of 32
// to 96 rows, 16 rows as the most of decode.
void TestAttention::fastEqualsReference_data()
{
    QTest::addColumn<CaseShape>("shape");
    const auto row = [](const char* name, CaseShape shape) { QTest::newRow(name) << shape; };
    row("one key", {.numKvHeads = 3, .group = 3});
    row("decode, less than a block", {.numKeys = 63, .numKvHeads = 3, .group = 3, .headDim = 64});
    row("decode, one block", {.numKeys = 64, .numKvHeads = 3, .group = 3, .headDim = 64});
    row("decode, a key more than a block",
        {.numKeys = 65, .numKvHeads = 3, .group = 3, .headDim = 64});
    row("decode, split among threads",
        {.numKeys = 1000, .numKvHeads = 1, .group = 4, .headDim = 96});
    row("decode, sixteen rows", {.numTokens = 2, .numKeys = 90, .group = 8, .headDim = 128});
    row("decode of several tokens in a window of one",
        {.numTokens = 5, .numKeys = 130, .numKvHeads = 2, .group = 2, .window = 1});
    row("prefill, one row more than decode takes", {.numTokens = 17, .numKeys = 17});
    row("prefill, one key block", {.numTokens = 48, .numKeys = 48, .headDim = 64});
    row("prefill, a partial second tile", {.numTokens = 97, .numKeys = 97, .headDim = 64});
    row("prefill over history",
        {.numTokens = 40, .numKeys = 300, .numKvHeads = 3, .group = 3, .headDim = 64});
    row("prefill, window much smaller than a tile", {.numTokens = 200,
                                                     .numKeys = 333,
                                                     .numKvHeads = 2,
                                                     .group = 2,
                                                     .headDim = 24,
                                                     .window = 7});
    row("decode, capped scores",
        {.numKeys = 200, .numKvHeads = 2, .group = 2, .headDim = 64, .softCap = 2.5});
    row("prefill, capped scores in a window",
        {.numTokens = 70, .numKeys = 150, .group = 2, .headDim = 64, .window = 30, .softCap = 2.5});
    row("prefill, head size of an odd number of halves",
        {.numTokens = 33, .numKeys = 50, .numKvHeads = 3, .group = 1, .headDim = 6});
}

void TestAttention::fastEqualsReference()
{
    QFETCH(CaseShape, shape);
    std::mt19937 random(5);
    for (const auto dtype : {at::kFloat, at::kBFloat16, at::kHalf, at::kChar, at::kFloat8_e4m3fn}) {
        for (const int segments : {1, 2, 3}) {
            shape.dtype = dtype;
            shape.numSegments = segments;
            shape.hasSinks = segments != 2;
            const auto given = makeCase(shape, random);
            for (const int threads : {1, 2}) {
                at::set_num_threads(threads);
                for (const auto* simd : kSimds) {
                    const auto difference = differenceFromDefinition(given, *simd);
                    QVERIFY2(difference.isEmpty(),
                             describe(shape) + ", " + simd->name + ": " + difference.toUtf8());
                }
            }
        }
    }
}

void TestAttention::randomShapesEqualReference_data()
{
    QTest::addColumn<unsigned>("seed");
    for (unsigned seed = 1; seed <= 20; ++seed)
        QTest::addRow("seed %u", seed) << seed;
}

void TestAttention::randomShapesEqualReference()
{
    QFETCH(unsigned, seed);
    std::mt19937 random(seed);
    const auto pick = [&](std::initializer_list<std::int64_t> from) {
        return from.begin()[std::uniform_int_distribution<std::size_t>(0, from.size() - 1)(random)];
    };
    for (int i = 0; i < 6; ++i) {
        CaseShape shape;
        shape.batch = pick({1, 2});
        shape.numTokens = pick({1, 1, 2, 3, 5, 16, 31, 70, 129});
        shape.numKeys = shape.numTokens + pick({0, 1, 7, 60, 250, 700});
        shape.numKvHeads = pick({1, 2, 3, 5});
        shape.group = pick({1, 2, 3, 8});
        shape.headDim = pick({12, 16, 24, 64, 96, 128});
        shape.window = pick({0, 1, 2, 17, 128, 5000});
        shape.hasSinks = pick({0, 1}) == 1;
        shape.softCap = std::array{0.0, 0.0, 2.5, 50.0}.at(pick({0, 1, 2, 3}));
        shape.dtype =
            std::array{at::kFloat, at::kBFloat16, at::kHalf, at::kChar, at::kFloat8_e4m3fn}.at(
                pick({0, 1, 2, 3, 4}));
        shape.numSegments = static_cast<int>(pick({1, 2, 3}));
        at::set_num_threads(static_cast<int>(pick({1, 2})));
        const auto given = makeCase(shape, random);
        for (const auto* simd : kSimds) {
            const auto difference = differenceFromDefinition(given, *simd);
            QVERIFY2(difference.isEmpty(),
                     describe(shape) + ", " + simd->name + ": " + difference.toUtf8());
        }
    }
}

// The path of devices without a kernel: some queries at a time over the keys that they see.
// Parts of 64 keys at least: fewer parts than asked where there are not as many blocks.
void TestAttention::everySplitOfTheCacheEqualsReference()
{
    std::mt19937 random(3);
    for (const std::int64_t numKeys : {1, 63, 64, 200, 1000}) {
        for (const std::int64_t window : {0, 70}) {
            CaseShape shape{.batch = 2, .numKeys = numKeys, .numKvHeads = 3, .group = 3};
            shape.window = window;
            shape.hasSinks = true;
            shape.dtype = at::kBFloat16;
            shape.numSegments = 2;
            const auto given = makeCase(shape, random);
            const auto want = attentionReference(given.q.to(at::kDouble), given.view,
                                                 given.firstQueryPosition, given.settings);
            for (const std::int64_t parts : {1, 2, 3, 7, 16, 100}) {
                for (const auto* simd : kSimds) {
                    const auto got = attentionOnCpu(given.q, given.view, given.firstQueryPosition,
                                                    given.settings, *simd, parts);
                    const auto difference = compareTensors(got, want, 2e-6, 2e-6);
                    QVERIFY2(difference.isEmpty(), describe(shape) + ", parts " +
                                                       QByteArray::number(qint64(parts)) + ": " +
                                                       difference.toUtf8());
                }
            }
        }
    }
}

void TestAttention::blocksOfQueriesEqualTheWhole()
{
    for (const std::int64_t window : {0, 5, 40}) {
        std::mt19937 random(9);
        const auto given = makeCase({.batch = 2,
                                     .numTokens = 30,
                                     .numKeys = 70,
                                     .numKvHeads = 2,
                                     .group = 2,
                                     .window = window,
                                     .hasSinks = true,
                                     .numSegments = 3},
                                    random);
        const auto want =
            attentionReference(given.q, given.view, given.firstQueryPosition, given.settings);
        for (const std::int64_t queriesAtATime : {0, 1, 7, 30, 100}) {
            const auto bytes = queriesAtATime * 2 * 4 * 70 * 4;
            const auto got = attentionInBlocks(given.q, given.view, given.firstQueryPosition,
                                               given.settings, bytes);
            const auto difference = compareTensors(got, want, 1e-6, 1e-6);
            QVERIFY2(difference.isEmpty(), qPrintable(difference));
        }
    }
}

// NaN before the window would spread to the output if it were read, even with weight 0.
void TestAttention::keysOutsideTheWindowAreNotRead()
{
    for (const std::int64_t numTokens : {1, 40}) {
        std::mt19937 random(3);
        auto given = makeCase({.numTokens = numTokens,
                               .numKeys = 300,
                               .numKvHeads = 2,
                               .group = 3,
                               .headDim = 64,
                               .window = 20},
                              random);
        const auto clean = attention(given.q, given.view, given.firstQueryPosition, given.settings);
        const auto hidden = 300 - numTokens - 20 + 1;
        for (auto* part : {&given.view.segments[0].keys, &given.view.segments[0].values})
            part->narrow(2, 0, hidden).fill_(std::numeric_limits<double>::quiet_NaN());
        const auto got = attention(given.q, given.view, given.firstQueryPosition, given.settings);
        QVERIFY(at::equal(got, clean));
    }
}

// By hand: one key with score 0 and a sink of ln 3 leave the key a quarter.
void TestAttention::sinkTakesTheShareOfItsLogit()
{
    KVView view;
    view.add({at::zeros({1, 1, 1, 16}), at::full({1, 1, 1, 16}, 8.0F), 0});
    AttentionSettings settings;
    settings.sinks = at::full({1}, std::log(3.0));
    const auto out = attention(at::zeros({1, 1, 1, 16}), view, 0, settings);
    const auto difference = compareTensors(out, at::full({1, 1, 1, 16}, 2.0F), 1e-6, 0);
    QVERIFY2(difference.isEmpty(), qPrintable(difference));
}

void TestAttention::largeScoresDoNotOverflow()
{
    for (const std::int64_t numTokens : {1, 40}) {
        std::mt19937 random(3);
        auto given = makeCase(
            {.numTokens = numTokens, .numKeys = 200, .headDim = 64, .hasSinks = true}, random);
        given.settings.scale = 300; // scores of some thousands
        for (const auto* simd : kSimds) {
            // Scores of this size are themselves rounded to about 1e-3 by float32.
            const auto got = attentionOnCpu(given.q, given.view, given.firstQueryPosition,
                                            given.settings, *simd);
            const auto want =
                attentionReference(given.q, given.view, given.firstQueryPosition, given.settings);
            const auto difference = compareTensors(got, want, 2e-2, 0);
            QVERIFY2(difference.isEmpty(), qPrintable(difference));
        }
    }
}

// A broken weight must show, and only where it belongs.
void TestAttention::nanInOneKeyShowsInItsHeadAlone()
{
    for (const std::int64_t numTokens : {1, 40}) {
        std::mt19937 random(3);
        auto given = makeCase(
            {.numTokens = numTokens, .numKeys = 100, .numKvHeads = 2, .headDim = 64}, random);
        given.view.segments[0].keys.select(1, 1).select(1, 50).fill_(
            std::numeric_limits<double>::quiet_NaN());
        for (const auto* simd : kSimds) {
            const auto got = attentionOnCpu(given.q, given.view, given.firstQueryPosition,
                                            given.settings, *simd);
            QVERIFY(got.select(2, 1).isnan().all().item<bool>());
            QVERIFY(!got.select(2, 0).isnan().any().item<bool>());
        }
    }
}

void TestAttention::queriesWithoutKeysAreRefused()
{
    KVView view;
    const auto q = at::randn({1, 1, 1, 16});
    QVERIFY_THROWS_EXCEPTION(c10::Error, attention(q, view, 0, {}));
    view.add({at::randn({1, 1, 4, 16}), at::randn({1, 1, 4, 16}), 10});
    QVERIFY_THROWS_EXCEPTION(c10::Error, attention(q, view, 9, {}));
    AttentionSettings settings;
    settings.window = 3;
    QCOMPARE(attention(q, view, 15, settings).size(1), 1); // still sees position 13
    QVERIFY_THROWS_EXCEPTION(c10::Error, attention(q, view, 16, settings));
}

void TestAttention::disagreeingShapesAreRefused()
{
    const auto q = at::randn({1, 1, 4, 16});
    const auto refuses = [&](const at::Tensor& keys, const at::Tensor& values) {
        KVView view;
        view.add({keys, values, 0});
        try {
            attention(q, view, 0, {});
        } catch (const c10::Error&) {
            return true;
        }
        return false;
    };
    const auto good = at::randn({1, 2, 4, 16});
    QVERIFY(!refuses(good, good));
    QVERIFY(refuses(good, at::randn({1, 2, 5, 16})));
    QVERIFY(refuses(good, good.to(at::kHalf)));
    QVERIFY(refuses(at::randn({1, 3, 4, 16}), at::randn({1, 3, 4, 16})));
    QVERIFY(refuses(at::randn({2, 2, 4, 16}), at::randn({2, 2, 4, 16})));
    QVERIFY(refuses(at::randn({1, 2, 4, 8}), at::randn({1, 2, 4, 8})));
    QVERIFY(refuses(at::randn({1, 2, 16, 4}).transpose(2, 3), good));
    QVERIFY(refuses(good.to(at::kDouble), good.to(at::kDouble)));
}

QTEST_GUILESS_MAIN(TestAttention)
#include "tst_attention.moc"
