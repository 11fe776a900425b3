#include "engine/base/errors.h"
#include "engine/checkpoint/checkpoint.h"
#include "engine/lab/run_record_identity.h"
#include "engine/model/ablation.h"
#include "engine/model/decoder.h"
#include "engine/model/rotary_override.h"
#include "tests/support/golden_json.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/randint.h>

#include <QTemporaryDir>
#include <QtTest>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

using namespace kvscope;

namespace {

const std::string kLite = "gptosslite/tiny_a"; // windows of 8 in layers 0 and 2, sinks everywhere

std::shared_ptr<const Checkpoint> opened(const std::filesystem::path& path,
                                         const Ablations& ablations = {})
{
    return withAblations(openCheckpoint(path), ablations);
}

at::Tensor logitsOf(std::shared_ptr<const Checkpoint> checkpoint,
                    KernelPath path = KernelPath::Fast)
{
    DecoderOptions options;
    options.computeType = ComputeType::Float32;
    Decoder decoder(std::move(checkpoint), options);
    ForwardOptions all;
    all.logits = LogitPositions::All;
    all.path = path;
    const at::Tensor ids = at::randint(250, {1, 40}, at::detail::createCPUGenerator(5), at::kLong);
    return decoder.forward(ids, nullptr, all);
}

double largestDifference(const at::Tensor& a, const at::Tensor& b)
{
    return (a - b).abs().max().item<double>();
}

/// A copy of the golden checkpoint's folder, to be changed by hand.
class FolderCopy
{
public:
    FolderCopy()
    {
        for (const char* name : {"config.yaml", "model.safetensors"})
            std::filesystem::copy_file(goldenPath(kLite) + "/" + name, path() / name);
    }
    std::filesystem::path path() const { return m_folder.path().toStdString(); }

    void replaceInYaml(const std::string& from, const std::string& to) const
    {
        std::ifstream in(path() / "config.yaml");
        std::string text{std::istreambuf_iterator<char>(in), {}};
        text.replace(text.find(from), from.size(), to);
        std::ofstream(path() / "config.yaml") << text;
    }
    /// Writes `bias` over every stored sink.
    void writeSinks(float bias) const
    {
        const auto checkpoint = openCheckpoint(path());
        std::fstream file(path() / "model.safetensors",
                          std::ios::binary | std::ios::in | std::ios::out);
        for (const LayerTensors& layer : checkpoint->tensors.layers) {
            file.seekp(static_cast<std::streamoff>(layer.sink.tensor->fileOffset));
            for (std::int64_t head = 0; head < layer.sink.size; ++head)
                file.write(reinterpret_cast<const char*>(&bias), sizeof(bias));
        }
    }

private:
    QTemporaryDir m_folder;
};

} // namespace

class TestAblation : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void sinksAreThoseOfChangedWeights_data()
    {
        QTest::addColumn<double>("bias");
        QTest::newRow("none left") << -10.0;
        QTest::newRow("zero") << 0.0;
        QTest::newRow("strong") << 4.5;
        QTest::newRow("clamped like a stored one") << 100.0;
    }
    void sinksAreThoseOfChangedWeights()
    {
        QFETCH(double, bias);
        const FolderCopy copy;
        copy.writeSinks(static_cast<float>(bias));
        const auto changed = opened(goldenPath(kLite), {bias, {}});
        const at::Tensor found = logitsOf(changed);
        QVERIFY(at::equal(found, logitsOf(opened(copy.path()))));
        QVERIFY(largestDifference(found, logitsOf(changed, KernelPath::Reference)) < 1e-4);
        QVERIFY(largestDifference(found, logitsOf(opened(goldenPath(kLite)))) > 1e-3);
    }

    void windowsAreThoseOfAChangedConfiguration_data()
    {
        QTest::addColumn<int>("window");
        QTest::newRow("one position") << 1;
        QTest::newRow("halved") << 4;
        QTest::newRow("wider than the text") << 100;
    }
    void windowsAreThoseOfAChangedConfiguration()
    {
        QFETCH(int, window);
        const FolderCopy copy;
        copy.replaceInYaml("window_size: 8", "window_size: " + std::to_string(window));
        const at::Tensor found = logitsOf(opened(goldenPath(kLite), {{}, window}));
        QVERIFY(at::equal(found, logitsOf(opened(copy.path()))));
        QVERIFY(largestDifference(found, logitsOf(opened(goldenPath(kLite)))) > 1e-3);
    }

    void theFilesOwnWindowChangesNothing()
    {
        QVERIFY(at::equal(logitsOf(opened(goldenPath(kLite), {{}, 8})),
                          logitsOf(opened(goldenPath(kLite)))));
    }

    void theCacheFollowsTheWindow()
    {
        Decoder decoder(opened(goldenPath(kLite), {{}, 4}), {});
        QCOMPARE(decoder.makeCache().shape().layers[0].window, std::int64_t{4});
    }

    void conditionsSayWhatWasChanged()
    {
        const auto plain = opened(goldenPath(kLite));
        QCOMPARE(ablationText(*plain), std::string());
        QVERIFY(withAblations(plain, {}) == plain);
        const auto changed = opened(goldenPath(kLite), {-10.0, 4});
        const std::string text = "every sink -10, windows of 4 positions instead of 8";
        QCOMPARE(ablationText(*changed), text);
        const Decoder decoder(changed, {});
        QVERIFY(QString::fromStdString(decoder.computeDescription())
                    .endsWith(QString::fromStdString(", " + text)));
        QVERIFY(runHeader(decoder).compute == decoder.computeDescription());
        const Ablations sinks{-10.0, {}};
        QVERIFY(modelHash(*opened(goldenPath(kLite), sinks)) != modelHash(*plain));
        QVERIFY(modelHash(*opened(goldenPath(kLite), sinks)) !=
                modelHash(*opened(goldenPath(kLite), {-9.0, {}})));
    }

    void aRotationMayBeChosenBesides()
    {
        auto changed = withRotary(opened(goldenPath(kLite), {0.0, {}}), "plain");
        QCOMPARE(ablationText(*changed), std::string("every sink 0"));
        const FolderCopy copy;
        copy.writeSinks(0.0F);
        QVERIFY(at::equal(logitsOf(changed), logitsOf(withRotary(opened(copy.path()), "plain"))));
    }

    void whatAModelLacksCannotBeChanged_data()
    {
        QTest::addColumn<QString>("path");
        QTest::addColumn<double>("bias");
        QTest::addColumn<int>("window");
        QTest::addColumn<QString>("why");
        QTest::newRow("no sinks") << "hf/llama" << 0.0 << 0 << "llama has no sinks";
        QTest::newRow("no windows") << "hf/llama" << qQNaN() << 4 << "llama has no windowed layers";
        QTest::newRow("no positions") << "gptosslite/tiny_a" << qQNaN() << -1 << "1 to 2^40";
        QTest::newRow("an endless sink") << "gptosslite/tiny_a" << qInf() << 0 << "sink bias must";
    }
    void whatAModelLacksCannotBeChanged()
    {
        QFETCH(QString, path);
        QFETCH(double, bias);
        QFETCH(int, window);
        QFETCH(QString, why);
        Ablations ablations;
        if (!std::isnan(bias))
            ablations.sinkBias = bias;
        if (window != 0)
            ablations.window = window;
        try {
            opened(goldenPath(path.toStdString()), ablations);
            QFAIL("changed");
        } catch (const ArgumentError& error) {
            QVERIFY2(QString(error.what()).contains(why), error.what());
        }
    }
};

QTEST_GUILESS_MAIN(TestAblation)
#include "tst_ablation.moc"
