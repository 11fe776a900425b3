// The kernels of a CUDA decode step one by one, compiled for the CPU (tests/support/cuda_on_cpu).
#include "engine/cache/scaled_rows.h"
#include "engine/kernels/attention/attention.h"
#include "engine/kernels/cuda/cuda_conversions.h"
#include "engine/kernels/cuda/decode_attention.h"
#include "engine/kernels/cuda/step_kernels.h"
#include "engine/kernels/elementwise/elementwise.h"
#include "engine/kernels/linear/linear.h"
#include "tests/engine/kernels/linear/weight_samples.h"
#include "tests/support/cuda_on_cpu/block_of_fibers.h"
#include "tests/support/tensor_compare.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/topk.h>
#include <ATen/ops/zeros.h>

#include <QTest>

#include <cmath>
#include <vector>

using namespace kvscope;

namespace {

constexpr double kEpsilon = 1e-5;
constexpr double kTolerance = 2e-5;

at::Tensor nothing(at::IntArrayRef sizes)
{
    return at::full(sizes, std::nan(""));
}

QString difference(const at::Tensor& got, const at::Tensor& want)
{
    return compareTensors(got, want, kTolerance * want.abs().max().item<double>(), kTolerance);
}

/// At a position, of heads [heads, D] as kernels project them.
struct Heads
{
    at::Tensor q, k, v, turned;

    Heads(std::int64_t numHeads, std::int64_t numKvHeads, std::int64_t headDim)
        : q(at::randn({numHeads, headDim}))
        , k(at::randn({numKvHeads, headDim}))
        , v(at::randn({numKvHeads, headDim}))
        , turned(nothing({numHeads, headDim}))
    {
    }
};

} // namespace

class TestCudaStepKernelsOnCpu : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void init()
    {
        at::manual_seed(43);
        BlockOfFibers::startsFromTheLast = false;
    }

    void embeddingIsTheRow_data()
    {
        QTest::addColumn<int>("type");
        for (const auto type : weightTypes())
            QTest::newRow(qPrintable(nameOf(type))) << static_cast<int>(type);
    }
    void embeddingIsTheRow()
    {
        QFETCH(int, type);
        const auto storage = static_cast<StorageType>(type);
        for (const std::int64_t columns : {5, 96, 4352}) {
            const auto weight = randomWeight(storage, 7, wholeBlocks(storage, columns));
            for (const std::int64_t id : {0, 3, 6}) {
                const StepToken token{id, 0};
                const at::Tensor x = nothing({1, weight.cols});
                EmbedLaunch launch{};
                launch.type = storage;
                launch.rows = static_cast<const std::byte*>(weight.data.const_data_ptr());
                launch.rowBytes =
                    weight.data.size(1) * static_cast<std::int64_t>(weight.data.element_size());
                launch.token = &token;
                launch.scale = 2.0F;
                launch.x = x.mutable_data_ptr<float>();
                launch.width = static_cast<int>(weight.cols);
                QCOMPARE(launchEmbed(launch, nullptr), cudaSuccess);
                QVERIFY(at::equal(x, 2.0 * lookUpRows(weight, at::full({1}, id, at::kLong))));
            }
        }
    }

    void embeddingRefusesOtherStorage()
    {
        EmbedLaunch launch{};
        launch.type = StorageType::I32;
        QCOMPARE(launchEmbed(launch, nullptr), cudaErrorInvalidValue);
    }

    void headsAreNormalisedTurnedAndStored_data()
    {
        QTest::addColumn<int>("norm");
        QTest::addColumn<bool>("isAdjacent");
        QTest::addColumn<int>("pairs");
        for (const auto norm : {QueryKeyNorm::None, QueryKeyNorm::Head, QueryKeyNorm::All})
            for (const bool isAdjacent : {false, true})
                for (const int pairs : {0, 10, 24}) // none, a part, whole heads
                    QTest::addRow("norm %d, adjacent %d, %d pairs", static_cast<int>(norm),
                                  isAdjacent, pairs)
                        << static_cast<int>(norm) << isAdjacent << pairs;
    }
    void headsAreNormalisedTurnedAndStored()
    {
        QFETCH(int, norm);
        QFETCH(bool, isAdjacent);
        QFETCH(int, pairs);
        constexpr std::int64_t kHeads = 6, kKvHeads = 2, kDim = 48, kCapacity = 7;
        const Heads heads(kHeads, kKvHeads, kDim);
        const bool normsAll = norm == static_cast<int>(QueryKeyNorm::All);
        const bool norms = norm != static_cast<int>(QueryKeyNorm::None);
        const at::Tensor queryGain = at::randn({normsAll ? kHeads * kDim : kDim});
        const at::Tensor keyGain = at::randn({normsAll ? kKvHeads * kDim : kDim});
        const at::Tensor cos = at::randn({1, pairs});
        const at::Tensor sin = at::randn({1, pairs});
        const StepToken token{0, 3 * kCapacity + 5};
        const auto turned = [&](const at::Tensor& rows, const at::Tensor& gain) {
            at::Tensor want = rows.clone();
            if (norms)
                want = rmsNormReference(want.view({-1, gain.size(0)}), gain, kEpsilon)
                           .view(rows.sizes())
                           .clone();
            if (pairs == 0)
                return want;
            at::Tensor part = want.view({1, 1, -1, kDim}).narrow(3, 0, 2 * pairs);
            part.copy_(rotateReference(part, cos, sin,
                                       isAdjacent ? RotaryPairing::Adjacent : RotaryPairing::Half));
            return want;
        };
        for (const auto type :
             {at::kFloat, at::kBFloat16, at::kHalf, at::kChar, at::kFloat8_e4m3fn}) {
            const std::int64_t row = rowElements(type, kDim);
            // Heads may be farther apart than the slots that are used.
            const at::Tensor keys =
                at::zeros({1, kKvHeads, kCapacity + 3, row}, type).narrow(2, 0, kCapacity);
            const at::Tensor values = at::zeros({1, kKvHeads, kCapacity, row}, type);
            StoreHeadsLaunch launch{};
            launch.token = &token;
            launch.q = heads.q.const_data_ptr<float>();
            launch.k = heads.k.const_data_ptr<float>();
            launch.v = heads.v.const_data_ptr<float>();
            launch.queryGain = norms ? queryGain.const_data_ptr<float>() : nullptr;
            launch.keyGain = norms ? keyGain.const_data_ptr<float>() : nullptr;
            launch.normsAll = normsAll;
            launch.epsilon = static_cast<float>(kEpsilon);
            launch.cos = pairs > 0 ? cos.const_data_ptr<float>() : nullptr;
            launch.sin = sin.const_data_ptr<float>();
            launch.pairs = pairs;
            launch.isAdjacent = isAdjacent;
            launch.turned = heads.turned.mutable_data_ptr<float>();
            launch.cache = cachedNumberOf(keys);
            launch.keys = keys.mutable_data_ptr();
            launch.values = values.mutable_data_ptr();
            launch.keyHeadStride = keys.stride(1);
            launch.valueHeadStride = values.stride(1);
            launch.capacity = kCapacity;
            launch.numHeads = kHeads;
            launch.numKvHeads = kKvHeads;
            launch.headDim = kDim;
            QCOMPARE(launchStoreHeads(launch, nullptr), cudaSuccess);
            QString worst = difference(heads.turned, turned(heads.q, queryGain));
            QVERIFY2(worst.isEmpty(), qPrintable(worst));
            for (const auto& [array, want] :
                 {std::pair(keys, turned(heads.k, keyGain)), std::pair(values, heads.v)}) {
                const at::Tensor stored = cachedNumbers(array.select(2, 5)[0], at::kFloat);
                // Half a step of an 8-bit number, the last bit of a shorter one.
                const double halfStep = want.abs().max().item<double>() / 254.0;
                worst = type == at::kChar    ? compareTensors(stored, want, 1.01 * halfStep, 0.0)
                        : type == at::kFloat ? difference(stored, want)
                        : type == at::kFloat8_e4m3fn
                            ? compareTensors(stored, want, 1.01 * halfStep / 256.0, 1.0 / 17.0)
                            : compareTensors(stored, want, 8e-3, 8e-3);
                QVERIFY2(worst.isEmpty(), qPrintable(worst));
                for (std::int64_t slot = 0; slot < kCapacity; ++slot)
                    QVERIFY(slot == 5 ||
                            array.select(2, slot).to(at::kFloat).eq(0).all().item<bool>());
            }
        }
    }

    void eightBitsAreQuantizedRows()
    {
        constexpr std::int64_t kDim = 20;
        Heads heads(1, 4, kDim);
        heads.v[1].fill_(0.0);
        heads.v[2][3] = std::nan("");
        heads.v[3][19] = -INFINITY;
        const StepToken token{0, 0};
        for (const auto type : {at::kChar, at::kFloat8_e4m3fn}) {
            const at::Tensor keys = at::zeros({1, 4, 1, kDim + kScaleBytes}, type);
            const at::Tensor values = at::zeros_like(keys);
            StoreHeadsLaunch launch{};
            launch.token = &token;
            launch.q = heads.q.const_data_ptr<float>();
            launch.k = heads.k.const_data_ptr<float>();
            launch.v = heads.v.const_data_ptr<float>();
            launch.turned = heads.turned.mutable_data_ptr<float>();
            launch.cache = cachedNumberOf(keys);
            launch.keys = keys.mutable_data_ptr();
            launch.values = values.mutable_data_ptr();
            launch.keyHeadStride = keys.stride(1);
            launch.valueHeadStride = values.stride(1);
            launch.capacity = 1;
            launch.numHeads = 1;
            launch.numKvHeads = 4;
            launch.headDim = kDim;
            QCOMPARE(launchStoreHeads(launch, nullptr), cudaSuccess);
            const auto bytes = [](const at::Tensor& rows) { return rows.view(at::kByte); };
            QVERIFY(at::equal(bytes(keys.view({4, -1})), bytes(quantizedRows(heads.k, type))));
            const at::Tensor finite = values.view({4, -1}).narrow(0, 0, 2);
            QVERIFY(at::equal(bytes(finite), bytes(quantizedRows(heads.v.narrow(0, 0, 2), type))));
            QVERIFY(cachedNumbers(values.view({4, -1}).narrow(0, 2, 2), at::kFloat)
                        .isnan()
                        .all()
                        .item<bool>());
        }
    }

    // The newest key is the query's own; slots that hold nothing, or what a window no longer sees,
    // hold NaN here.
    void attentionReadsSlots_data()
    {
        QTest::addColumn<int>("position");
        QTest::addColumn<int>("window");
        QTest::addColumn<int>("capacity");
        QTest::addColumn<int>("multiprocessors");
        QTest::newRow("the first position of all") << 0 << 0 << 300 << 132;
        QTest::newRow("one more than a tile") << 64 << 0 << 100 << 1;
        QTest::newRow("several splits, few keys") << 70 << 0 << 4096 << 132;
        QTest::newRow("several splits, some without keys") << 700 << 0 << 4096 << 4;
        QTest::newRow("a full array") << 299 << 0 << 300 << 4;
        QTest::newRow("a ring before it wraps") << 40 << 128 << 128 << 4;
        QTest::newRow("a ring just full") << 127 << 128 << 128 << 4;
        QTest::newRow("a ring that has wrapped") << 128 << 128 << 128 << 4;
        QTest::newRow("a ring with slack, wrapped often") << 1000 << 150 << 157 << 1;
        QTest::newRow("a window of one") << 12 << 1 << 1 << 1;
        QTest::newRow("a window of one with slack") << 12 << 1 << 3 << 1;
        QTest::newRow("a ring that has not grown to its window") << 40 << 5000 << 64 << 4;
    }
    void attentionReadsSlots()
    {
        QFETCH(int, position);
        QFETCH(int, window);
        QFETCH(int, capacity);
        QFETCH(int, multiprocessors);
        constexpr std::int64_t kKvHeads = 2, kGroup2 = 3, kDim = 20;
        const std::int64_t first = window > 0 ? std::max(0, position - window + 1) : 0;
        const std::int64_t numKeys = position + 1 - first;
        for (const auto type : {at::kFloat, at::kBFloat16, at::kChar, at::kFloat8_e4m3fn}) {
            const auto random = [&] {
                const at::Tensor rows = at::randn({1, kKvHeads, numKeys, kDim});
                return hasScales(type) ? quantizedRows(rows, type) : rows.to(type);
            };
            const at::Tensor keys = random(), values = random();
            const auto inSlots = [&](const at::Tensor& rows) {
                at::Tensor slots =
                    at::full({1, kKvHeads, capacity, kDim}, std::nan(""), at::kFloat);
                slots = hasScales(type) ? quantizedRows(slots, type) : slots.to(type);
                for (std::int64_t i = 0; i < numKeys; ++i)
                    slots.select(2, (first + i) % capacity).copy_(rows.select(2, i));
                return slots;
            };
            const at::Tensor keySlots = inSlots(keys), valueSlots = inSlots(values);
            const at::Tensor q = at::randn({1, 1, kKvHeads * kGroup2, kDim});
            const at::Tensor out = at::empty_like(q);
            AttentionSettings settings;
            settings.scale = 0.3;
            settings.sinks = at::tensor({-10.0F, 15.0F, 0.0F, 1.0F, 2.0F, 3.0F});
            const std::int64_t onDevice = position;
            DecodeAttentionLaunch launch{};
            launch.queryType = CudaNumber::Float32;
            launch.q = q.const_data_ptr();
            launch.out = out.mutable_data_ptr();
            launch.sinks = settings.sinks.const_data_ptr<float>();
            launch.keyType = cachedNumberOf(keys);
            launch.pieces[0].keys = keySlots.const_data_ptr();
            launch.pieces[0].values = valueSlots.const_data_ptr();
            for (int i = 0; i < 3; ++i) {
                launch.pieces[0].keyStrides[i] = keySlots.stride(i);
                launch.pieces[0].valueStrides[i] = valueSlots.stride(i);
            }
            launch.numPieces = 1;
            launch.capacity = capacity;
            launch.position = &onDevice;
            launch.window = window;
            launch.batch = 1;
            launch.numKvHeads = kKvHeads;
            launch.group = kGroup2;
            launch.headDim = kDim;
            launch.scale = 0.3F;
            planSlotSplits(launch, multiprocessors);
            const at::Tensor partialValues = nothing({kKvHeads * kGroup2, launch.numSplits, kDim});
            const at::Tensor partialStates = nothing({kKvHeads * kGroup2, launch.numSplits, 2});
            launch.partialValues = partialValues.mutable_data_ptr<float>();
            launch.partialStates = partialStates.mutable_data_ptr<float>();
            QCOMPARE(launchDecodeAttention(launch, nullptr), cudaSuccess);
            KVView view;
            view.add({keys, values, first});
            const QString worst =
                compareTensors(out, attentionReference(q.to(at::kDouble), view, position, settings),
                               kTolerance, kTolerance);
            QVERIFY2(worst.isEmpty(), qPrintable(worst));
        }
    }

    void expertsAreTheMostProbable()
    {
        for (const std::int64_t numExperts : {1, 4, 32, 33, 1024})
            for (const std::int64_t numActive :
                 {std::int64_t{1}, std::min<std::int64_t>(4, numExperts)})
                for (const bool normalises : {true, false}) {
                    const at::Tensor logits = at::randn({numExperts}) * 3;
                    const auto [most, order] =
                        at::topk(at::softmax(logits, 0, at::kFloat), numActive);
                    const float gate = 0.7F;
                    std::vector<int> experts(static_cast<std::size_t>(numActive), -1);
                    const at::Tensor weights = nothing({numActive + 2});
                    ChooseExpertsLaunch launch{};
                    launch.logits = logits.const_data_ptr<float>();
                    launch.numExperts = static_cast<int>(numExperts);
                    launch.numActive = static_cast<int>(numActive);
                    launch.normalises = normalises;
                    launch.sharedGate = normalises ? &gate : nullptr;
                    launch.numShared = 2;
                    launch.experts = experts.data();
                    launch.weights = weights.mutable_data_ptr<float>();
                    BlockOfFibers::startsFromTheLast = normalises;
                    QCOMPARE(launchChooseExperts(launch, nullptr), cudaSuccess);
                    for (std::int64_t i = 0; i < numActive; ++i)
                        QCOMPARE(experts[static_cast<std::size_t>(i)],
                                 static_cast<int>(order[i].item<std::int64_t>()));
                    const float share = normalises ? 1.0F / (1.0F + std::exp(-gate)) : 1.0F;
                    const at::Tensor want =
                        at::cat({normalises ? most / most.sum() : most, at::full({2}, share)});
                    const QString worst = compareTensors(weights, want, 1e-6, 1e-5);
                    QVERIFY2(worst.isEmpty(), qPrintable(worst));
                }
    }

    void ofEqualExpertsTheFirstAreChosen()
    {
        const at::Tensor logits = at::full({40}, 1.5F);
        int experts[3] = {};
        float weights[3] = {};
        ChooseExpertsLaunch launch{};
        launch.logits = logits.const_data_ptr<float>();
        launch.numExperts = 40;
        launch.numActive = 3;
        launch.experts = experts;
        launch.weights = weights;
        QCOMPARE(launchChooseExperts(launch, nullptr), cudaSuccess);
        for (int i = 0; i < 3; ++i) {
            QCOMPARE(experts[i], i);
            QCOMPARE(weights[i], 1.0F / 40.0F);
        }
    }

    void partsAreWeightedNormalisedAndAdded()
    {
        for (const std::int64_t width : {1, 64, 300})
            for (const bool hasGain : {true, false})
                for (const bool hasWeights : {true, false}) {
                    const at::Tensor parts = at::randn({3, width}) * 2;
                    const at::Tensor weights = at::randn({3});
                    const at::Tensor gain = at::randn({width});
                    const at::Tensor residual = at::randn({1, width});
                    at::Tensor sum =
                        (hasWeights ? parts * weights.unsqueeze(1) : parts).sum(0, true);
                    if (hasGain)
                        sum = rmsNormReference(sum, gain, kEpsilon);
                    const at::Tensor want = residual + 0.5 * sum;
                    AddPartsLaunch launch{};
                    launch.residual = residual.mutable_data_ptr<float>();
                    launch.parts = parts.const_data_ptr<float>();
                    launch.numParts = 3;
                    launch.weights = hasWeights ? weights.const_data_ptr<float>() : nullptr;
                    launch.gain = hasGain ? gain.const_data_ptr<float>() : nullptr;
                    launch.epsilon = static_cast<float>(kEpsilon);
                    launch.scale = 0.5F;
                    launch.width = static_cast<int>(width);
                    QCOMPARE(launchAddParts(launch, nullptr), cudaSuccess);
                    const QString worst = difference(residual, want);
                    QVERIFY2(worst.isEmpty(), qPrintable(worst));
                }
    }
};

QTEST_GUILESS_MAIN(TestCudaStepKernelsOnCpu)
#include "tst_cuda_step_kernels_on_cpu.moc"
