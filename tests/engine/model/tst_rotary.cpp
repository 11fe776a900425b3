#include "engine/base/errors.h"
#include "engine/kernels/elementwise/elementwise.h"
#include "engine/model/rotary.h"
#include "engine/model/rotary_override.h"
#include "tests/support/golden_file.h"
#include "tests/support/tensor_compare.h"

#include <ATen/ops/from_blob.h>
#include <ATen/ops/stack.h>

#include <QtTest>

#include <algorithm>
#include <cmath>

using namespace kvscope;

namespace {

RotaryConfig yarn(double base, double scale, std::int64_t original, double betaFast)
{
    RotaryConfig config;
    config.scheme =
        GptOssLiteRotary{.factor = scale, .originalPositions = original, .betaFast = betaFast};
    config.pairing = RotaryPairing::Adjacent;
    config.base = base;
    return config;
}

at::Tensor frequencies(const RotaryConfig& config, std::int64_t headDim, std::int64_t length = 0)
{
    std::vector<float> values = inverseFrequencies(config, headDim, length);
    return at::from_blob(values.data(), {static_cast<std::int64_t>(values.size())}, at::kFloat)
        .clone();
}

/// Rows of a table at the golden data's positions.
RotaryRows rowsAt(const RotaryTable& table, const at::Tensor& positions)
{
    std::vector<at::Tensor> cos;
    std::vector<at::Tensor> sin;
    for (std::int64_t i = 0; i < positions.numel(); ++i) {
        const RotaryRows row = table.rows(positions[i].item<std::int64_t>(), 1, 0);
        cos.push_back(row.cos[0]);
        sin.push_back(row.sin[0]);
    }
    return {at::stack(cos), at::stack(sin)};
}

} // namespace

class TestRotary : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void tablesAgreeWithTheReference_data()
    {
        QTest::addColumn<QString>("table");
        QTest::addColumn<int>("headDim");
        QTest::addColumn<double>("base");
        QTest::addColumn<double>("scale");
        QTest::addColumn<int>("original");
        QTest::addColumn<double>("betaFast");
        for (const int scale : {1, 4, 32}) {
            QTest::addRow("head 16, scale %d", scale)
                << QString("hd16_theta10000_orig64_fast16_scale%1").arg(scale) << 16 << 1e4
                << double(scale) << 64 << 16.0;
            QTest::addRow("head 24, scale %d", scale)
                << QString("hd24_theta100000_orig256_fast32_scale%1").arg(scale) << 24 << 1e5
                << double(scale) << 256 << 32.0;
        }
        QTest::newRow("degenerate ramp: unscaled, with mscale")
            << "degenerate" << 16 << 1e4 << 8.0 << 8 << 32.0;
    }
    void tablesAgreeWithTheReference()
    {
        QFETCH(QString, table);
        QFETCH(int, headDim);
        QFETCH(double, base);
        QFETCH(double, scale);
        QFETCH(int, original);
        QFETCH(double, betaFast);
        const GoldenFile golden("gptosslite/yarn/golden.safetensors");
        const RotaryConfig config = yarn(base, scale, original, betaFast);
        const std::string name = table.toStdString();
        const auto verify = [&](const std::string& key, const at::Tensor& got) {
            const QString difference = golden.difference(name + "/" + key, got);
            QVERIFY2(difference.isEmpty(),
                     qPrintable(QString::fromStdString(key) + ": " + difference));
        };
        verify("inv_freq", frequencies(config, headDim));
        const RotaryRows plain =
            rowsAt(RotaryTable(config, headDim, 0), golden.tensor("positions"));
        verify("cos", plain.cos);
        verify("sin", plain.sin);
        if (name == "degenerate")
            return;
        const RotaryRows pruned =
            rowsAt(RotaryTable(config, headDim, headDim / 4), golden.tensor("positions"));
        verify("cos_pruned", pruned.cos);
        verify("sin_pruned", pruned.sin);
    }

    // Float32 angles: exact float32 arithmetic matches to 1e-5 up to position 131,071.
    void tableOfThe502MShapeHasFloat32Angles()
    {
        const GoldenFile golden("gptosslite/yarn/golden.safetensors");
        const RotaryConfig config = yarn(1e5, 32.0, 4096, 32.0);
        QVERIFY(golden.difference("real/inv_freq", frequencies(config, 96)).isEmpty());
        for (const int identityPairs : {0, 24}) {
            const std::string kind = identityPairs == 0 ? "real/windowed/" : "real/global/";
            const RotaryRows rows =
                rowsAt(RotaryTable(config, 96, identityPairs), golden.tensor("real/positions"));
            for (const auto& [key, got] :
                 {std::pair{"cos", rows.cos}, std::pair{"sin", rows.sin}}) {
                const QString difference =
                    compareTensors(got, golden.tensor(kind + key), 1e-5, 0.0);
                QVERIFY2(difference.isEmpty(), qPrintable(difference));
            }
        }
    }

    void adjacentPairsRotateAsTheReference()
    {
        const GoldenFile golden("gptosslite/yarn/golden.safetensors");
        const RotaryRows rows =
            rowsAt(RotaryTable(yarn(1e4, 4.0, 64, 16.0), 16, 4), golden.tensor("positions"));
        at::Tensor x = golden.tensor("apply/x").transpose(1, 2).contiguous(); // [B, T, heads, D]
        rotate(x, rows.cos, rows.sin, RotaryPairing::Adjacent);
        const QString difference = golden.difference("apply/y", x.transpose(1, 2));
        QVERIFY2(difference.isEmpty(), qPrintable(difference));
    }

    void linearDividesAndDivisorsDivideAgain()
    {
        RotaryConfig config;
        config.base = 100.0;
        const at::Tensor plain = frequencies(config, 4);
        QCOMPARE(plain[1].item<float>(), 0.1F);
        config.scheme = LinearRotary{2.0};
        config.frequencyDivisors = {1.0F, 5.0F};
        const at::Tensor scaled = frequencies(config, 4);
        QCOMPARE(scaled[0].item<float>(), 0.5F);
        QCOMPARE(scaled[1].item<float>(), 0.01F);
    }

    void overridesAreCheckedAndExtendPositions()
    {
        ModelConfig config;
        config.trainedPositions = 8192;
        config.rotary = yarn(1e5, 32.0, 4096, 32.0);
        overrideRotary(config, "linear:2");
        QCOMPARE(config.extendedPositions, 16384);
        overrideRotary(config, "plain");
        QCOMPARE(config.extendedPositions, 8192);
        QCOMPARE(rotaryMagnitude(config.rotary), 1.0);
        overrideRotary(config, "yarn:4");
        const auto& yarnScheme = std::get<YarnRotary>(config.rotary.scheme);
        QCOMPARE(yarnScheme.originalPositions, 8192);
        QCOMPARE(config.extendedPositions, 32768);
        QCOMPARE(rotaryMagnitude(config.rotary), 0.1 * std::log(4.0) + 1.0);
        for (const char* bad : {"linear:0.5", "linear:", "linear", "linear:x", "linear:inf",
                                "plain:2", "longrope", "spiral", ""})
            QVERIFY_EXCEPTION_THROWN(overrideRotary(config, bad), ArgumentError);
        config.hasLearnedPositions = true;
        QVERIFY_EXCEPTION_THROWN(overrideRotary(config, "plain"), ArgumentError);
    }

    void everyChoiceIsKnownByItsName()
    {
        for (const RotaryChoice& choice : rotaryChoices()) {
            ModelConfig config;
            config.trainedPositions = 64;
            config.layers.resize(2);
            config.rotary.scheme = LongRotary{.shortDivisors = {1.0F},
                                              .longDivisors = {2.0F},
                                              .factor = 2.0,
                                              .originalPositions = 64};
            const std::string name(choice.name);
            overrideRotary(config, choice.hasFactor ? name + ":2" : name);
            QVERIFY2(!rotaryText(config).empty(), name.c_str());
        }
    }

    void noRotationLeavesHeadsAsTheyAre()
    {
        ModelConfig config;
        config.layers.resize(3);
        overrideRotary(config, "none");
        QVERIFY(std::none_of(config.layers.begin(), config.layers.end(),
                             [](const LayerConfig& layer) { return layer.isRotated; }));
        QCOMPARE(rotaryText(config), std::string("none"));
    }

    // Worked by hand for base 100, heads of 4: pairs at 1 and 0.1 per position.
    void lengthChoosesTheFrequenciesOfDynamicAndLongRotation()
    {
        RotaryConfig config;
        config.base = 100.0;
        config.scheme = DynamicRotary{.factor = 2.0, .originalPositions = 10};
        QCOMPARE(frequencies(config, 4, 10)[1].item<float>(), 0.1F);
        // base * (2 * 20 / 10 - 1)^(4 / 2) = 900
        QCOMPARE(frequencies(config, 4, 20)[1].item<float>(), 1.0F / 30.0F);
        config.scheme = LongRotary{
            .shortDivisors = {1.0F, 1.0F}, .longDivisors = {2.0F, 4.0F}, .originalPositions = 10};
        QCOMPARE(frequencies(config, 4, 10)[1].item<float>(), 0.1F);
        QCOMPARE(frequencies(config, 4, 11)[0].item<float>(), 0.5F);
        QCOMPARE(frequencies(config, 4, 11)[1].item<float>(), 0.025F);
        QVERIFY(dependsOnLength(config));
    }

    void partOfAHeadRotates()
    {
        RotaryConfig config;
        config.base = 100.0;
        config.rotatedDim = 4;
        QCOMPARE(frequencies(config, 16).numel(), 2);
        QCOMPARE(RotaryTable(config, 16, 0).rotatedDim(), 4);
    }
};

QTEST_GUILESS_MAIN(TestRotary)
#include "tst_rotary.moc"
