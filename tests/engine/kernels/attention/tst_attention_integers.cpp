#include "engine/kernels/attention/attention_cpu.h"
#include "engine/kernels/attention/attention_integers.h"
#include "engine/kernels/cpu_features.h"
#include "tests/engine/kernels/attention/attention_cases.h"
#include "tests/support/avx512_on_avx2/kernels.h"
#include "tests/support/tensor_compare.h"

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/equal.h>

#include <QTest>

#include <cmath>
#include <limits>
#include <map>
#include <random>

using namespace kvscope;

namespace {

/// The loops of attention_integers.h that run here, AVX-512's on AVX2 among them, by name; float
/// loops beside them.
const std::map<QByteArray, AttentionSimd> kSimds = [] {
    std::map<QByteArray, AttentionSimd> simds;
#ifdef KVSCOPE_AVX512_ON_AVX2 // built for x86-64
    const auto add = [&](const char* name, const PrefillSimd& integers) {
        AttentionSimd simd = attentionSimd(bestInstructionSet());
        simd.roundedPrefill = &integers;
        simds.emplace(name, simd);
    };
    if (bestInstructionSet() != InstructionSet::Portable) {
        add("AVX-512 on AVX2", kIntegerPrefillAvx512OnAvx2);
        add("AVX-VNNI on AVX2", kIntegerPrefillAvx2OnAvx2);
    }
    if (hasVnni())
        add("AVX-512", kIntegerPrefillAvx512);
    if (hasAvxVnni())
        add("AVX-VNNI", kIntegerPrefillAvx2);
#endif
    return simds;
}();

void addSimds()
{
    QTest::addColumn<QByteArray>("name");
    for (const auto& [name, simd] : kSimds)
        QTest::newRow(name.constData()) << name;
}

at::Tensor byIntegers(const Case& given, const AttentionSimd& simd)
{
    return attentionOnCpu(given.q, given.view, given.firstQueryPosition, given.settings, simd);
}

/// Outputs are means of values of size 1. A value is off by up to 0.5 / 8128 of the largest of 32,
/// a weight by as much of the largest weight, a score by some 1.2e-4 of its own size; bfloat16
/// instead would be off by 1e-3.
constexpr double kWorst = 1.5e-3;
constexpr double kTypical = 4e-4;

QString differenceFromDefinition(const Case& given, const AttentionSimd& simd)
{
    const at::Tensor want = attentionReference(given.q.to(at::kDouble), given.view,
                                               given.firstQueryPosition, given.settings);
    const at::Tensor got = byIntegers(given, simd);
    const double typical = ((got - want).norm() / want.norm()).item<double>();
    if (typical > kTypical)
        return QString("off by %1 of its size").arg(typical);
    return compareTensors(got, want, kWorst, kWorst);
}

} // namespace

/// attention() of many queries through integers: attention_integers.h.
class TestAttentionIntegers : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void initTestCase()
    {
        if (kSimds.empty())
            QSKIP("this processor has no such loops");
    }
    void init() { at::manual_seed(12); }
    void cleanup() { at::set_num_threads(2); }

    // Shapes at the edges of blocks of 64 keys in groups of 32, tiles of 192 rows, panels of 16 or
    // 32 and groups of 32 numbers of a head.
    void equalsReference_data() { addSimds(); }
    void equalsReference()
    {
        QFETCH(QByteArray, name);
        std::mt19937 random(5);
        for (CaseShape shape : {
                 CaseShape{.numTokens = 17, .numKeys = 17},
                 CaseShape{.numTokens = 20, .numKeys = 32, .headDim = 32},
                 CaseShape{.numTokens = 33, .numKeys = 33, .headDim = 34},
                 CaseShape{.numTokens = 64, .numKeys = 64, .headDim = 64},
                 CaseShape{.numTokens = 65, .numKeys = 97, .numKvHeads = 2, .headDim = 96},
                 CaseShape{.numTokens = 193, .numKeys = 400, .group = 2, .headDim = 64},
                 CaseShape{.numTokens = 40, .numKeys = 300, .numKvHeads = 3, .group = 3},
                 CaseShape{
                     .batch = 2, .numTokens = 200, .numKeys = 333, .headDim = 24, .window = 7},
                 CaseShape{.numTokens = 70, .numKeys = 150, .headDim = 128, .softCap = 2.5},
                 CaseShape{.numTokens = 33, .numKeys = 50, .numKvHeads = 3, .headDim = 6},
             }) {
            for (const auto dtype : {at::kBFloat16, at::kChar, at::kFloat8_e4m3fn}) {
                shape.dtype = dtype;
                shape.numSegments = 1 + static_cast<int>(dtype) % 3;
                shape.hasSinks = dtype != at::kChar;
                if (hasScales(dtype) && shape.headDim % kScaleBytes != 0)
                    continue;
                const Case given = makeCase(shape, random);
                for (const int threads : {1, 2}) {
                    at::set_num_threads(threads);
                    const QString difference = differenceFromDefinition(given, kSimds.at(name));
                    QVERIFY2(difference.isEmpty(), describe(shape) + ": " + difference.toUtf8());
                }
            }
        }
    }

    void randomShapesEqualReference_data() { addSimds(); }
    void randomShapesEqualReference()
    {
        QFETCH(QByteArray, name);
        std::mt19937 random(6);
        const auto pick = [&](std::initializer_list<std::int64_t> from) {
            return from
                .begin()[std::uniform_int_distribution<std::size_t>(0, from.size() - 1)(random)];
        };
        for (int i = 0; i < 60; ++i) {
            CaseShape shape;
            shape.batch = pick({1, 2});
            shape.numTokens = pick({17, 31, 70, 129});
            shape.numKeys = shape.numTokens + pick({0, 1, 7, 60, 250, 700});
            shape.numKvHeads = pick({1, 2, 3});
            shape.group = pick({1, 2, 3});
            shape.headDim = pick({12, 16, 24, 64, 96, 128});
            shape.window = pick({0, 1, 2, 17, 128, 5000});
            shape.hasSinks = pick({0, 1}) == 1;
            shape.softCap = pick({0, 0, 50}) == 0 ? 0.0 : 50.0;
            shape.dtype =
                std::array{at::kBFloat16, at::kFloat8_e4m3fn, at::kChar}.at(pick({0, 1, 2}));
            shape.numSegments = static_cast<int>(pick({1, 2, 3}));
            const Case given = makeCase(shape, random);
            const QString difference = differenceFromDefinition(given, kSimds.at(name));
            QVERIFY2(difference.isEmpty(), describe(shape) + ": " + difference.toUtf8());
        }
    }

    // Positions behind a row's change none of its bits, NaN either: a prompt in chunks gives what
    // it gives at once.
    void laterPositionsChangeNothing_data() { addSimds(); }
    void laterPositionsChangeNothing()
    {
        QFETCH(QByteArray, name);
        std::mt19937 random(11);
        const Case given = makeCase(
            {.numTokens = 150, .numKeys = 150, .group = 2, .headDim = 64, .dtype = at::kBFloat16},
            random);
        const at::Tensor all = byIntegers(given, kSimds.at(name));
        const KVSegment& segment = given.view.segments[0];
        for (const std::int64_t count : {9, 31, 33, 100, 149}) {
            Case chunk = given;
            chunk.q = given.q.narrow(1, 0, count).contiguous();
            chunk.view = {};
            chunk.view.add({segment.keys.narrow(2, 0, count), segment.values.narrow(2, 0, count),
                            segment.firstPosition});
            QVERIFY(at::equal(byIntegers(chunk, kSimds.at(name)), all.narrow(1, 0, count)));
        }
        for (const std::int64_t start : {1, 40, 64, 100}) { // later chunks, beside what lies before
            Case chunk = given;
            chunk.q = given.q.narrow(1, start, 150 - start).contiguous();
            chunk.firstQueryPosition += start;
            QVERIFY(
                at::equal(byIntegers(chunk, kSimds.at(name)), all.narrow(1, start, 150 - start)));
        }
        segment.values.narrow(2, 100, 50).fill_(std::numeric_limits<double>::quiet_NaN());
        QVERIFY(
            at::equal(byIntegers(given, kSimds.at(name)).narrow(1, 0, 100), all.narrow(1, 0, 100)));
    }

    // How threads share out the rows, which makes tiles of other sizes, changes no bit.
    void tilesDoNotChangeARow_data() { addSimds(); }
    void tilesDoNotChangeARow()
    {
        QFETCH(QByteArray, name);
        std::mt19937 random(10);
        for (const std::int64_t window : {0, 50}) {
            const Case given = makeCase({.numTokens = 200,
                                         .numKeys = 333,
                                         .numKvHeads = 2,
                                         .group = 5,
                                         .headDim = 64,
                                         .window = window,
                                         .dtype = at::kBFloat16,
                                         .numSegments = 2},
                                        random);
            at::set_num_threads(1);
            const at::Tensor one = byIntegers(given, kSimds.at(name));
            for (const int threads : {2, 7}) {
                at::set_num_threads(threads);
                QVERIFY(at::equal(byIntegers(given, kSimds.at(name)), one));
            }
        }
    }

    // Who asks for finer keys and values, or for it, gets float32 products.
    void whatIsToBeExactIsNotRounded()
    {
        std::mt19937 random(7);
        for (const auto dtype : {at::kFloat, at::kHalf, at::kBFloat16}) {
            Case given =
                makeCase({.numTokens = 40, .numKeys = 100, .headDim = 64, .dtype = dtype}, random);
            given.settings.isExact = dtype == at::kBFloat16;
            for (const auto& [name, simd] : kSimds)
                QVERIFY(at::equal(byIntegers(given, simd),
                                  byIntegers(given, attentionSimd(bestInstructionSet()))));
        }
    }

    void numbersThatAreNoneShowWhereTheyBelong_data() { addSimds(); }
    void numbersThatAreNoneShowWhereTheyBelong()
    {
        QFETCH(QByteArray, name);
        const AttentionSimd& simd = kSimds.at(name);
        std::mt19937 random(8);
        for (const double none :
             {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
            const CaseShape shape{.numTokens = 40,
                                  .numKeys = 100,
                                  .numKvHeads = 2,
                                  .headDim = 64,
                                  .dtype = at::kBFloat16};
            const Case ofKey = makeCase(shape, random);
            ofKey.view.segments[0].keys.select(1, 1).select(1, 50).fill_(none);
            at::Tensor out = byIntegers(ofKey, simd);
            QVERIFY(out.select(2, 1).isnan().all().item<bool>());
            QVERIFY(out.select(2, 0).isfinite().all().item<bool>());
            const Case ofValue = makeCase(shape, random);
            ofValue.view.segments[0].values.select(1, 1).select(1, 50).select(1, 5).fill_(none);
            out = byIntegers(ofValue, simd);
            QVERIFY(out.select(2, 1).isnan().all().item<bool>());
            QVERIFY(out.select(2, 0).isfinite().all().item<bool>());
            const Case ofQuery = makeCase(shape, random);
            ofQuery.q.select(1, 20).fill_(none);
            out = byIntegers(ofQuery, simd);
            QVERIFY(out.select(1, 20).isnan().all().item<bool>());
            QVERIFY(out.narrow(1, 0, 20).isfinite().all().item<bool>());
            QVERIFY(out.narrow(1, 21, 19).isfinite().all().item<bool>());
        }
    }

    // A head of nothing but zeros has no largest number to round by.
    void zerosAttendEvenly_data() { addSimds(); }
    void zerosAttendEvenly()
    {
        QFETCH(QByteArray, name);
        std::mt19937 random(9);
        const Case given = makeCase(
            {.numTokens = 20, .numKeys = 20, .headDim = 64, .dtype = at::kBFloat16}, random);
        given.view.segments[0].keys.zero_();
        given.view.segments[0].values.fill_(3.0);
        const QString difference = compareTensors(byIntegers(given, kSimds.at(name)),
                                                  at::full(given.q.sizes(), 3.0F), 1e-3, 0);
        QVERIFY2(difference.isEmpty(), qPrintable(difference));
    }

    // All at full scale and of one sign: sums of 32 bits reach what they can hold.
    void theLargestIntegersDoNotOverflow_data() { addSimds(); }
    void theLargestIntegersDoNotOverflow()
    {
        QFETCH(QByteArray, name);
        std::mt19937 random(13);
        for (const double sign : {1.0, -1.0}) {
            const Case given = makeCase(
                {.numTokens = 130, .numKeys = 130, .headDim = 64, .dtype = at::kBFloat16}, random);
            given.q.fill_(1.0);
            given.view.segments[0].keys.fill_(sign);
            given.view.segments[0].values.fill_(2.0 * sign);
            const QString difference = compareTensors(
                byIntegers(given, kSimds.at(name)), at::full(given.q.sizes(), 2.0 * sign), 1e-3, 0);
            QVERIFY2(difference.isEmpty(), qPrintable(difference));
            // One key scores more than the others by a known amount: e^8 to 1 each.
            given.view.segments[0].keys.zero_();
            given.view.segments[0].keys.select(2, 0).fill_(1.0);
            given.view.segments[0].values.zero_();
            given.view.segments[0].values.select(2, 0).fill_(sign);
            const at::Tensor last = byIntegers(given, kSimds.at(name)).select(1, 129);
            const double share = std::exp(8.0) / (std::exp(8.0) + 129.0);
            QVERIFY((last - sign * share).abs().max().item<double>() < 1e-3);
        }
    }

    void largeScoresDoNotOverflow_data() { addSimds(); }
    void largeScoresDoNotOverflow()
    {
        QFETCH(QByteArray, name);
        std::mt19937 random(3);
        Case given = makeCase({.numTokens = 40,
                               .numKeys = 200,
                               .headDim = 64,
                               .hasSinks = true,
                               .dtype = at::kBFloat16},
                              random);
        given.settings.scale = 1e4; // one key has it all
        const at::Tensor got = byIntegers(given, kSimds.at(name));
        QVERIFY(got.isfinite().all().item<bool>());
        QVERIFY(got.abs().max().item<float>() < 6.0F);
    }
};

QTEST_GUILESS_MAIN(TestAttentionIntegers)
#include "tst_attention_integers.moc"
