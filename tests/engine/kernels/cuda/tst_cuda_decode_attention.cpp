#include "engine/base/errors.h"
#include "engine/cache/scaled_rows.h"
#include "engine/kernels/attention/attention.h"
#include "engine/kernels/cuda/cuda_backend.h"
#include "tests/support/tensor_compare.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/randn.h>

#include <QTest>

#include <cmath>
#include <utility>

using namespace kvscope;

/// attention() on CUDA, the decode kernel and what longer chunks go through, against the reference
/// on the CPU. Without a GPU each comparison is skipped by name.
class TestCudaDecodeAttention : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void initTestCase();
    void missingBackendIsSaidPlainly();
    void equalsReference_data();
    void equalsReference();
    void longerChunksGoThroughTheBlocks();
    void longerChunksOfHalfNumbersGoThroughFlash_data();
    void longerChunksOfHalfNumbersGoThroughFlash();

private:
    QString m_whyNot; ///< why there is no GPU to test on; empty where there is
};

// Before the first tensor: LibTorch settles once on whether CUDA is there.
void TestCudaDecodeAttention::initTestCase()
{
    try {
        ensureCudaBackend();
    } catch (const ArgumentError& error) {
        m_whyNot = error.what();
    }
}

void TestCudaDecodeAttention::missingBackendIsSaidPlainly()
{
    if (m_whyNot.isEmpty()) {
        QVERIFY(cudaKernels() != nullptr);
        return;
    }
    QVERIFY(cudaKernels() == nullptr);
    QVERIFY(!m_whyNot.contains('\n'));
    QVERIFY2(m_whyNot.contains("CPU"), qPrintable(m_whyNot)); // the way out
    if (!hasCudaBuild())
        QVERIFY2(m_whyNot.contains("no CUDA kernels"), qPrintable(m_whyNot));
}

// Tiles of 64 keys: less than one, one, several, a partial last.
void TestCudaDecodeAttention::equalsReference_data()
{
    QTest::addColumn<int>("numKeys");
    QTest::addColumn<int>("numKvHeads");
    QTest::addColumn<int>("group");
    QTest::addColumn<int>("headDim");
    QTest::addColumn<int>("window");
    QTest::addColumn<bool>("hasSinks");
    QTest::newRow("one key") << 1 << 3 << 3 << 64 << 0 << false;
    QTest::newRow("less than a tile") << 63 << 3 << 3 << 64 << 0 << true;
    QTest::newRow("one tile") << 64 << 1 << 1 << 128 << 0 << false;
    QTest::newRow("a key more than a tile") << 65 << 2 << 2 << 96 << 0 << true;
    QTest::newRow("several tiles, a partial last") << 1000 << 4 << 2 << 96 << 0 << true;
    QTest::newRow("many splits") << 20000 << 1 << 8 << 128 << 0 << true;
    QTest::newRow("window") << 500 << 4 << 2 << 96 << 128 << true;
    QTest::newRow("window of one") << 500 << 4 << 2 << 96 << 1 << false;
    QTest::newRow("largest group and head") << 300 << 1 << 16 << 256 << 0 << true;
    QTest::newRow("small odd number of pairs") << 300 << 2 << 5 << 10 << 0 << true;
}

void TestCudaDecodeAttention::equalsReference()
{
    if (!m_whyNot.isEmpty())
        QSKIP(qPrintable("CUDA decode attention was not run: " + m_whyNot));
    QFETCH(int, numKeys);
    QFETCH(int, numKvHeads);
    QFETCH(int, group);
    QFETCH(int, headDim);
    QFETCH(int, window);
    QFETCH(bool, hasSinks);
    const std::pair<at::ScalarType, at::ScalarType> types[] = {{at::kFloat, at::kFloat},
                                                               {at::kBFloat16, at::kBFloat16},
                                                               {at::kHalf, at::kHalf},
                                                               {at::kBFloat16, at::kChar},
                                                               {at::kBFloat16, at::kFloat8_e4m3fn},
                                                               {at::kBFloat16, at::kFloat}};
    for (const auto& [dtype, cacheType] : types) {
        const auto random = [&] {
            const auto rows = at::randn({2, numKvHeads, numKeys, headDim});
            return hasScales(cacheType) ? quantizedRows(rows, cacheType) : rows.to(cacheType);
        };
        const auto keys = random();
        const auto values = random();
        const auto q = at::randn({2, 1, numKvHeads * group, headDim}).to(dtype);
        AttentionSettings settings;
        settings.scale = 1.0 / std::sqrt(headDim);
        settings.window = window;
        if (hasSinks)
            settings.sinks = at::randn({numKvHeads * group});
        const auto cut = numKeys / 3;
        const auto viewOn = [&](at::Device device) {
            KVView view;
            view.add({keys.narrow(2, 0, cut).to(device), values.narrow(2, 0, cut).to(device), 100});
            view.add({keys.narrow(2, cut, numKeys - cut).to(device),
                      values.narrow(2, cut, numKeys - cut).to(device), 100 + cut});
            return view;
        };
        const auto position = 100 + numKeys - 1;
        const auto want =
            attentionReference(q.to(at::kDouble), viewOn(at::kCPU), position, settings);
        auto onDevice = settings;
        if (hasSinks)
            onDevice.sinks = settings.sinks.to(at::kCUDA);
        const auto got = attention(q.to(at::kCUDA), viewOn(at::kCUDA), position, onDevice).cpu();
        // The output is rounded to the queries' type: 2^-8 and 2^-11 of its size.
        const double rounding = dtype == at::kFloat ? 3e-6 : dtype == at::kHalf ? 1e-3 : 8e-3;
        const auto difference = compareTensors(got, want, rounding, rounding);
        QVERIFY2(difference.isEmpty(), qPrintable(difference));
    }
}

void TestCudaDecodeAttention::longerChunksGoThroughTheBlocks()
{
    if (!m_whyNot.isEmpty())
        QSKIP(qPrintable("CUDA attention was not run: " + m_whyNot));
    const auto keys = at::randn({1, 2, 50, 64});
    const auto values = at::randn({1, 2, 50, 64});
    const auto q = at::randn({1, 20, 4, 64});
    KVView view;
    view.add({keys, values, 0});
    KVView onDevice;
    onDevice.add({keys.to(at::kCUDA), values.to(at::kCUDA), 0});
    AttentionSettings settings;
    settings.scale = 0.125;
    settings.window = 9;
    const auto got = attention(q.to(at::kCUDA), onDevice, 30, settings).cpu();
    const auto difference =
        compareTensors(got, attentionReference(q, view, 30, settings), 1e-5, 1e-5);
    QVERIFY2(difference.isEmpty(), qPrintable(difference));
}

// A ring in two pieces and the chunk, or one run; tiles of the library are 64 to 256 rows and keys.
void TestCudaDecodeAttention::longerChunksOfHalfNumbersGoThroughFlash_data()
{
    QTest::addColumn<int>("numTokens");
    QTest::addColumn<int>("numBefore");
    QTest::addColumn<int>("group");
    QTest::addColumn<int>("headDim");
    QTest::addColumn<int>("window");
    QTest::addColumn<bool>("hasSinks");
    QTest::newRow("two tokens") << 2 << 0 << 1 << 64 << 0 << false;
    QTest::newRow("two tokens over a long history") << 2 << 5000 << 4 << 64 << 0 << true;
    QTest::newRow("prompt") << 300 << 0 << 2 << 96 << 0 << true;
    QTest::newRow("chunk over history") << 200 << 1000 << 8 << 128 << 0 << true;
    QTest::newRow("window") << 200 << 127 << 2 << 96 << 128 << true;
    QTest::newRow("window over a history that it leaves") << 100 << 600 << 2 << 64 << 128 << true;
    QTest::newRow("window of one") << 70 << 20 << 2 << 64 << 1 << true;
    QTest::newRow("window longer than all") << 70 << 20 << 2 << 64 << 5000 << true;
    QTest::newRow("largest head") << 70 << 130 << 16 << 256 << 0 << true;
    QTest::newRow("smallest head") << 70 << 130 << 3 << 8 << 50 << true;
    QTest::newRow("head that is left to the blocks") << 70 << 130 << 3 << 20 << 50 << true;
}

void TestCudaDecodeAttention::longerChunksOfHalfNumbersGoThroughFlash()
{
    if (!m_whyNot.isEmpty())
        QSKIP(qPrintable("CUDA flash attention was not run: " + m_whyNot));
    QFETCH(int, numTokens);
    QFETCH(int, numBefore);
    QFETCH(int, group);
    QFETCH(int, headDim);
    QFETCH(int, window);
    QFETCH(bool, hasSinks);
    constexpr int kNumKvHeads = 2;
    const std::pair<at::ScalarType, at::ScalarType> types[] = {{at::kBFloat16, at::kBFloat16},
                                                               {at::kHalf, at::kHalf},
                                                               {at::kBFloat16, at::kChar},
                                                               {at::kBFloat16, at::kFloat8_e4m3fn},
                                                               {at::kHalf, at::kFloat}};
    for (const auto& [dtype, cacheType] : types) {
        AttentionSettings settings;
        settings.scale = 1.0 / std::sqrt(headDim);
        settings.window = window;
        if (hasSinks) {
            settings.sinks = at::randn({kNumKvHeads * group}) * 3;
            settings.sinks[0] = 15.0;
        }
        auto onDevice = settings;
        if (hasSinks)
            onDevice.sinks = settings.sinks.to(at::kCUDA);
        KVView onCpu;
        KVView onCuda;
        std::int64_t position = 100;
        for (const std::int64_t length : {numBefore / 3, numBefore - numBefore / 3, numTokens}) {
            const auto random = [&] {
                const auto rows = at::randn({2, kNumKvHeads, length, headDim});
                return hasScales(cacheType) ? quantizedRows(rows, cacheType) : rows.to(cacheType);
            };
            const KVSegment segment{random(), random(), position};
            onCpu.add(segment);
            onCuda.add({segment.keys.to(at::kCUDA), segment.values.to(at::kCUDA), position});
            position += length;
        }
        const auto first = position - numTokens;
        const auto q = at::randn({2, numTokens, kNumKvHeads * group, headDim}).to(dtype);
        const auto want = attentionReference(q.to(at::kDouble), onCpu, first, settings);
        const auto got = attention(q.to(at::kCUDA), onCuda, first, onDevice).cpu();
        // Weights and values are rounded to q's type, and the output twice where there are sinks.
        const double rounding = dtype == at::kHalf ? 2e-3 : 1.6e-2;
        const auto difference = compareTensors(got, want, rounding, rounding);
        QVERIFY2(difference.isEmpty(), qPrintable(difference));
    }
}

QTEST_GUILESS_MAIN(TestCudaDecodeAttention)
#include "tst_cuda_decode_attention.moc"
