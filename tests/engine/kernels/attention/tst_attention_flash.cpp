#include "engine/cache/scaled_rows.h"
#include "engine/kernels/attention/attention_flash.h"
#include "tests/support/tensor_compare.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <ATen/ops/logsumexp.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/randn.h>

#include <QTest>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

using namespace kvscope;

namespace {

/// The contract of FlashOperation in plain operations, sums in float32.
FlashResult plainFlash(const at::Tensor& q, const at::Tensor& keys, const at::Tensor& values,
                       double scale, std::optional<std::int64_t> windowLeft)
{
    TORCH_CHECK(!windowLeft || *windowLeft < keys.size(1), "a window that hides nothing");
    TORCH_CHECK(q.is_contiguous() && q.size(1) <= keys.size(1) && keys.sizes() == values.sizes() &&
                keys.stride(3) == 1 && values.stride(3) == 1 &&
                keys.scalar_type() == q.scalar_type() && values.scalar_type() == q.scalar_type());
    const auto group = q.size(2) / keys.size(2);
    const auto perHead = [&](const at::Tensor& rows) { // [B, H, S, D]
        return rows.to(at::kFloat).transpose(1, 2).repeat_interleave(group, 1);
    };
    const auto longs = at::TensorOptions(at::kLong);
    const at::Tensor at = at::arange(q.size(1), longs).unsqueeze(1) + keys.size(1) - q.size(1);
    const at::Tensor distance = at - at::arange(keys.size(1), longs).unsqueeze(0);
    at::Tensor hidden = distance < 0;
    if (windowLeft)
        hidden = hidden.logical_or(distance > *windowLeft);
    const at::Tensor scores =
        (at::matmul(q.to(at::kFloat).transpose(1, 2), perHead(keys).transpose(2, 3)) * scale)
            .masked_fill(hidden, -std::numeric_limits<double>::infinity());
    const at::Tensor lse = at::logsumexp(scores, -1);
    const at::Tensor weights = (scores - lse.unsqueeze(3)).exp();
    return {at::matmul(weights, perHead(values)).transpose(1, 2).contiguous().to(q.scalar_type()),
            lse};
}

struct CaseShape
{
    std::int64_t batch = 1;
    std::int64_t numTokens = 2;
    std::vector<std::int64_t> segments; ///< lengths, the last with the queries' own positions
    std::int64_t numKvHeads = 1;
    std::int64_t group = 1;
    std::int64_t headDim = 16;
    std::int64_t window = 0;
    bool hasSinks = false;
    at::ScalarType dtype = at::kFloat;
    at::ScalarType cacheType = at::kFloat;
};

struct Case
{
    at::Tensor q;
    KVView view;
    std::int64_t firstQueryPosition = 0;
    AttentionSettings settings;
};

Case makeCase(const CaseShape& shape)
{
    Case result;
    std::int64_t position = 70;
    for (const std::int64_t length : shape.segments) {
        const auto rows = [&] {
            const at::Tensor numbers =
                at::randn({shape.batch, shape.numKvHeads, length + 3, shape.headDim})
                    .narrow(2, 1, length);
            return hasScales(shape.cacheType) ? quantizedRows(numbers, shape.cacheType)
                                              : numbers.to(shape.cacheType);
        };
        result.view.add({rows(), rows(), position});
        position += length;
    }
    const std::int64_t numHeads = shape.numKvHeads * shape.group;
    result.firstQueryPosition = position - shape.numTokens;
    result.q = at::randn({shape.batch, shape.numTokens, numHeads, shape.headDim}).to(shape.dtype);
    result.settings.scale = 1.0 / std::sqrt(static_cast<double>(shape.headDim));
    result.settings.window = shape.window;
    if (shape.hasSinks) { // the clamp's ends among them
        result.settings.sinks = at::randn({numHeads}) * 4;
        result.settings.sinks[0] = 15.0;
        result.settings.sinks[numHeads - 1] = -10.0;
    }
    return result;
}

QString differenceFromDefinition(const Case& given)
{
    const auto got = attentionThroughFlash(given.q, given.view, given.firstQueryPosition,
                                           given.settings, plainFlash);
    const auto want = attentionReference(given.q.to(at::kDouble), given.view,
                                         given.firstQueryPosition, given.settings);
    // Rounded to q's type by the operation and again after the sink's part; values are of size 1
    // and are rounded where they come from a finer cache.
    const auto type = given.q.scalar_type();
    const double rounding = type == at::kFloat ? 3e-6 : type == at::kHalf ? 2e-3 : 1.6e-2;
    return compareTensors(got, want, rounding, rounding);
}

} // namespace

/// The arrangement around a flash operation, with a plain one on the CPU; LibTorch's own is
/// compared in tst_cuda_decode_attention where there is a GPU.
class TestAttentionFlash : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void init() { at::manual_seed(23); }

    void equalsReference_data()
    {
        QTest::addColumn<CaseShape>("shape");
        const auto row = [](const char* name, const CaseShape& shape) {
            QTest::newRow(name) << shape;
        };
        row("two tokens alone", {.segments = {2}});
        row("one token", {.numTokens = 1, .segments = {9, 1}, .window = 3, .hasSinks = true});
        row("one segment", {.numTokens = 5, .segments = {40}, .numKvHeads = 2, .group = 3});
        row("ring in two pieces and the chunk",
            {.numTokens = 6, .segments = {5, 3, 6}, .numKvHeads = 2, .group = 2, .window = 8});
        row("chunk longer than the window",
            {.numTokens = 20, .segments = {5, 3, 20}, .window = 8, .hasSinks = true});
        row("window of one",
            {.numTokens = 7, .segments = {4, 7}, .group = 2, .window = 1, .hasSinks = true});
        row("window longer than all", {.numTokens = 7, .segments = {4, 7}, .window = 500});
        row("window ends where a segment does",
            {.numTokens = 4, .segments = {6, 5, 4}, .window = 6, .hasSinks = true});
        row("batch of two with sinks at both clamps", {.batch = 2,
                                                       .numTokens = 9,
                                                       .segments = {30, 9},
                                                       .numKvHeads = 2,
                                                       .group = 4,
                                                       .hasSinks = true});
        row("int8 cache", {.numTokens = 6,
                           .segments = {5, 3, 6},
                           .group = 2,
                           .headDim = 24,
                           .window = 8,
                           .hasSinks = true,
                           .cacheType = at::kChar});
        row("fp8 cache", {.numTokens = 6,
                          .segments = {5, 3, 6},
                          .group = 2,
                          .headDim = 24,
                          .window = 8,
                          .cacheType = at::kFloat8_e4m3fn});
        row("int8 cache, bfloat16 queries", {.numTokens = 6,
                                             .segments = {5, 9},
                                             .hasSinks = true,
                                             .dtype = at::kBFloat16,
                                             .cacheType = at::kChar});
        row("bfloat16", {.numTokens = 6,
                         .segments = {25, 6},
                         .group = 2,
                         .hasSinks = true,
                         .dtype = at::kBFloat16,
                         .cacheType = at::kBFloat16});
        row("float16 queries, float32 cache",
            {.numTokens = 6, .segments = {25, 6}, .hasSinks = true, .dtype = at::kHalf});
    }
    void equalsReference()
    {
        QFETCH(CaseShape, shape);
        const auto difference = differenceFromDefinition(makeCase(shape));
        QVERIFY2(difference.isEmpty(), qPrintable(difference));
    }

    void randomShapesEqualReference_data()
    {
        QTest::addColumn<unsigned>("seed");
        for (unsigned seed = 1; seed <= 20; ++seed)
            QTest::addRow("seed %u", seed) << seed;
    }
    void randomShapesEqualReference()
    {
        QFETCH(unsigned, seed);
        std::mt19937 random(seed);
        const auto pick = [&](std::initializer_list<std::int64_t> from) {
            return from
                .begin()[std::uniform_int_distribution<std::size_t>(0, from.size() - 1)(random)];
        };
        for (int i = 0; i < 10; ++i) {
            CaseShape shape;
            shape.batch = pick({1, 2});
            shape.numTokens = pick({1, 2, 3, 8, 33});
            for (std::int64_t before = pick({0, 1, 2}); before > 0; --before)
                shape.segments.push_back(pick({1, 5, 40}));
            shape.segments.push_back(shape.numTokens + pick({0, 0, 6}));
            shape.numKvHeads = pick({1, 2, 3});
            shape.group = pick({1, 2, 5});
            shape.headDim = pick({8, 16, 64});
            shape.window = pick({0, 1, 2, 9, 128});
            shape.hasSinks = pick({0, 1}) == 1;
            shape.dtype = std::array{at::kFloat, at::kHalf, at::kBFloat16}.at(pick({0, 1, 2}));
            shape.cacheType = std::array{shape.dtype, at::kFloat, at::kChar, at::kFloat8_e4m3fn}.at(
                pick({0, 1, 2, 3}));
            const auto difference = differenceFromDefinition(makeCase(shape));
            QVERIFY2(difference.isEmpty(), qPrintable(difference));
        }
    }

    // What is not read cannot be wrong: NaN before the window, and behind the last query.
    void positionsThatNoQuerySeesAreLeftOut()
    {
        Case given = makeCase({.numTokens = 4, .segments = {10, 9}, .window = 3});
        given.firstQueryPosition -= 2;
        const auto want = attentionReference(given.q.to(at::kDouble), given.view,
                                             given.firstQueryPosition, given.settings);
        const KVSegment& first = given.view.segments[0];
        const KVSegment& second = given.view.segments[1];
        for (const at::Tensor& unseen :
             {first.keys, first.values, second.keys.narrow(2, 0, 1), second.values.narrow(2, 0, 1),
              second.keys.narrow(2, 7, 2), second.values.narrow(2, 7, 2)})
            unseen.fill_(std::nan(""));
        const auto got = attentionThroughFlash(given.q, given.view, given.firstQueryPosition,
                                               given.settings, plainFlash);
        const auto difference = compareTensors(got, want, 3e-6, 3e-6);
        QVERIFY2(difference.isEmpty(), qPrintable(difference));
    }

    void oneSegmentIsUsedWhereItLies()
    {
        static const void* s_keys = nullptr;
        const Case given = makeCase({.numTokens = 3, .segments = {12}});
        attentionThroughFlash(given.q, given.view, given.firstQueryPosition, given.settings,
                              [](const at::Tensor& q, const at::Tensor& keys,
                                 const at::Tensor& values, double scale,
                                 std::optional<std::int64_t> windowLeft) {
                                  s_keys = keys.const_data_ptr();
                                  return plainFlash(q, keys, values, scale, windowLeft);
                              });
        QCOMPARE(s_keys, given.view.segments[0].keys.const_data_ptr());
    }

    void whatTheLibraryDoesNotComputeIsLeftToOthers()
    {
        const auto fits = [](const CaseShape& shape, double softCap = 0.0) {
            Case given = makeCase(shape);
            given.settings.softCap = softCap;
            return fitsFlashAttention(given.q, given.view, given.firstQueryPosition,
                                      given.settings);
        };
        CaseShape shape{.segments = {6}, .window = 3, .dtype = at::kBFloat16};
        QVERIFY(fits(shape));
        QVERIFY(!fits(shape, 30.0));
        for (const auto& [headDim, does] :
             {std::pair{8, true}, {20, false}, {64, true}, {256, true}, {264, false}}) {
            shape.headDim = headDim;
            QCOMPARE(fits(shape), does);
        }
        shape.headDim = 64;
        shape.dtype = at::kFloat;
        QVERIFY(!fits(shape));
        shape.dtype = at::kHalf;
        QVERIFY(fits(shape));
        // Queries beyond the last key still see some in a window, but not aligned with the end.
        Case given = makeCase(shape);
        ++given.firstQueryPosition;
        QVERIFY(!fitsFlashAttention(given.q, given.view, given.firstQueryPosition, given.settings));
    }

    // The kernel would read 16 bytes from wherever it is told to.
    void rowsAtOddPlacesAreRefused()
    {
        const at::Tensor odd = at::randn({1, 2, 1, 17}).to(at::kHalf).narrow(3, 0, 16);
        QVERIFY_EXCEPTION_THROWN(flashAttentionOnCuda(odd, odd, odd, 1.0, {}), c10::Error);
    }
};

QTEST_GUILESS_MAIN(TestAttentionFlash)
#include "tst_attention_flash.moc"
