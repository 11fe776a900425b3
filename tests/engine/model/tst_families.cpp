#include "engine/model/decoder.h"
#include "tests/support/golden_file.h"
#include "tests/support/golden_json.h"
#include "tests/support/models.h"
#include "tests/support/tensor_compare.h"

#include <ATen/ops/argmax.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/equal.h>

#include <QtTest>

#include <filesystem>
#include <set>

using namespace kvscope;

namespace {

namespace fs = std::filesystem;

constexpr double kAtol = 3e-4; // what tests/golden/README.md asks for
constexpr double kRtol = 1e-4;

/// Logits at every position, [B, T, V]. \param chunk  0: in one
at::Tensor logitsOf(Decoder& decoder, const at::Tensor& ids, std::int64_t chunk)
{
    MixedKVCache cache = decoder.makeCache(ids.size(0));
    ForwardOptions options;
    options.logits = LogitPositions::All;
    options.plannedLength = ids.size(1);
    const std::int64_t step = chunk > 0 ? chunk : ids.size(1);
    std::vector<at::Tensor> parts;
    for (std::int64_t first = 0; first < ids.size(1); first += step)
        parts.push_back(decoder.forward(ids.narrow(1, first, std::min(step, ids.size(1) - first)),
                                        &cache, options));
    return at::cat(parts, 1);
}

/// The same by plain operators and without a cache.
at::Tensor referenceLogits(Decoder& decoder, const at::Tensor& ids)
{
    ForwardOptions options;
    options.logits = LogitPositions::All;
    options.path = KernelPath::Reference;
    return decoder.forward(ids, nullptr, options);
}

/// Whether a cached continuation equals recomputation, as it does but with dynamic rotation.
bool isStepwise(const Decoder& decoder)
{
    return !std::holds_alternative<DynamicRotary>(decoder.config().rotary.scheme);
}

/// The prompt with greedy tokens up to `length`, through the cache where that is exact.
at::Tensor greedyIds(Decoder& decoder, const at::Tensor& prompt, std::int64_t length)
{
    MixedKVCache cache = decoder.makeCache(prompt.size(0));
    ForwardOptions options;
    options.plannedLength = decoder.rotatesByPlan() ? length : 0;
    at::Tensor ids = prompt;
    at::Tensor next = prompt;
    while (ids.size(1) < length) {
        next = isStepwise(decoder)
                   ? at::argmax(decoder.forward(next, &cache, options), -1)
                   : at::argmax(decoder.forward(ids, nullptr, options), -1); // [B, 1]
        ids = at::cat({ids, next}, 1);
    }
    return ids;
}

QString difference(const at::Tensor& got, const at::Tensor& want)
{
    return compareTensors(got, want, kAtol, kRtol);
}

std::int64_t storedElements(const Checkpoint& checkpoint)
{
    std::int64_t count = 0;
    for (const auto& file : checkpoint.files)
        for (const auto& [name, tensor] : file->tensors()) {
            std::int64_t elements = 1;
            for (const std::int64_t size : tensor.shape)
                elements *= size;
            if (name.ends_with("_blocks")) // MXFP4: two elements a byte, their scales apart
                elements *= 2;
            count += name.ends_with("_scales") ? 0 : elements;
        }
    return count;
}

/// Elements of tensors that belong to the rotation and are no parameters.
std::int64_t ropeTensorElements(const Checkpoint& checkpoint)
{
    std::int64_t count = 0;
    for (const auto& file : checkpoint.files)
        for (const auto& [name, tensor] : file->tensors())
            if (name.starts_with("rope_"))
                count += tensor.shape.front();
    return count;
}

/// A row for every checkpoint folder below `folder`.
void addFolders(const std::string& folder)
{
    QTest::addColumn<QString>("path");
    std::set<fs::path> folders;
    for (const fs::directory_entry& entry : fs::directory_iterator(goldenPath(folder)))
        if (fs::exists(entry.path() / "config.json"))
            folders.insert(entry.path());
    for (const fs::path& path : folders)
        QTest::newRow(path.filename().c_str()) << QString::fromStdString(path.string());
}

} // namespace

/// Every family and rotary scheme against what Hugging Face's code gives
/// (tests/golden/hf/make_families.py).
class TestFamilies : public QObject
{
    Q_OBJECT

    std::unique_ptr<Decoder> m_decoder;
    std::unique_ptr<GoldenFile> m_want;

    void open(const QString& path)
    {
        m_decoder = goldenDecoder(path.toStdString());
        m_want = std::make_unique<GoldenFile>(path.toStdString() + "/golden.safetensors");
    }

private Q_SLOTS:
    void logitsAreThoseOfHuggingFace_data() { addFolders("hf/families"); }
    void logitsAreThoseOfHuggingFace()
    {
        QFETCH(QString, path);
        open(path);
        const at::Tensor& ids = m_want->tensor("ids");
        const at::Tensor logits = logitsOf(*m_decoder, ids, 0);
        QString wrong = difference(logits[0], m_want->tensor("logits_row0"));
        QVERIFY2(wrong.isEmpty(), qPrintable(wrong));
        wrong = difference(logits[1].slice(0, ids.size(1) - 8), m_want->tensor("logits_tail"));
        QVERIFY2(wrong.isEmpty(), qPrintable(wrong));
        wrong = difference(logitsOf(*m_decoder, ids.narrow(0, 0, 1).narrow(1, 0, 12), 0)[0],
                           m_want->tensor("short_logits"));
        QVERIFY2(wrong.isEmpty(), qPrintable(wrong));
        wrong = difference(referenceLogits(*m_decoder, ids), logits);
        QVERIFY2(wrong.isEmpty(), qPrintable("reference path: " + wrong));
    }

    void chunksGiveWhatOneShotGives_data() { addFolders("hf/families"); }
    void chunksGiveWhatOneShotGives()
    {
        QFETCH(QString, path);
        open(path);
        const at::Tensor& ids = m_want->tensor("ids");
        const at::Tensor whole = logitsOf(*m_decoder, ids, 0);
        for (const int chunk : {1, 7, 16}) {
            const QString wrong = difference(logitsOf(*m_decoder, ids, chunk), whole);
            QVERIFY2(wrong.isEmpty(), qPrintable(QString("chunk %1: ").arg(chunk) + wrong));
        }
    }

    void greedyTokensAreThoseOfHuggingFace_data() { addFolders("hf/families"); }
    void greedyTokensAreThoseOfHuggingFace()
    {
        QFETCH(QString, path);
        open(path);
        const at::Tensor& greedy = m_want->tensor("greedy_ids");
        QVERIFY(at::equal(greedyIds(*m_decoder, m_want->tensor("ids"), greedy.size(1)), greedy));
    }

    // The arithmetic that presets and headers rely on.
    void parametersAreCounted_data() { addFolders("hf/families"); }
    void parametersAreCounted()
    {
        QFETCH(QString, path);
        open(path);
        QCOMPARE(m_decoder->config().totalParameters(), storedElements(m_decoder->checkpoint()));
    }

    // The same families as GGUF files, whose names and keys are those of the gguf package.
    void ggufFilesGiveTheSameLogits_data()
    {
        QTest::addColumn<QString>("path");
        std::set<fs::path> files;
        for (const fs::directory_entry& entry : fs::directory_iterator(goldenPath("gguf/families")))
            if (entry.path().extension() == ".gguf")
                files.insert(entry.path());
        for (const fs::path& path : files)
            QTest::newRow(path.stem().c_str()) << QString::fromStdString(path.string());
    }
    void ggufFilesGiveTheSameLogits()
    {
        QFETCH(QString, path);
        const auto decoder = goldenDecoder(path.toStdString());
        fs::path golden = path.toStdString();
        const GoldenFile want(golden.replace_extension(".safetensors").string());
        const at::Tensor& ids = want.tensor("ids");
        for (const int chunk : {0, 7}) {
            const QString wrong =
                difference(logitsOf(*decoder, ids, chunk)[0], want.tensor("logits"));
            QVERIFY2(wrong.isEmpty(), qPrintable(wrong));
        }
        QCOMPARE(decoder->config().totalParameters() + ropeTensorElements(decoder->checkpoint()),
                 storedElements(decoder->checkpoint()));
    }

    // The larger models that tests/golden/README.md describes, where they are at hand.
    void largerModelsAgreeToo_data()
    {
        const QByteArray folder = qgetenv("KVSCOPE_GOLDEN");
        if (folder.isEmpty())
            QSKIP("KVSCOPE_GOLDEN does not name a folder with the larger golden models");
        addFolders((folder + "/hf").toStdString());
    }
    void largerModelsAgreeToo()
    {
        QFETCH(QString, path);
        open(path);
        const at::Tensor& ids = m_want->tensor("ids");
        const at::Tensor logits = logitsOf(*m_decoder, ids, 0);
        QString wrong = difference(logits, m_want->tensor("logits"));
        QVERIFY2(wrong.isEmpty(), qPrintable(wrong));
        const at::Tensor& shortLogits = m_want->tensor("short_logits");
        wrong = difference(
            logitsOf(*m_decoder, ids.narrow(0, 0, 1).narrow(1, 0, shortLogits.size(1)), 0),
            shortLogits);
        QVERIFY2(wrong.isEmpty(), qPrintable(wrong));
        const at::Tensor& greedy = m_want->tensor("greedy_ids");
        QVERIFY(at::equal(greedyIds(*m_decoder, ids, greedy.size(1)), greedy));
        if (isStepwise(*m_decoder))
            for (const int chunk : {1, 7, 64}) {
                wrong = difference(logitsOf(*m_decoder, ids, chunk), logits);
                QVERIFY2(wrong.isEmpty(), qPrintable(QString("chunk %1: ").arg(chunk) + wrong));
            }
        // The older keys of the same model.
        const fs::path legacy = fs::path(path.toStdString()) / "config.legacy.json";
        QTemporaryDir folder;
        const fs::path copy = folder.path().toStdString();
        fs::copy_file(legacy, copy / "config.json");
        fs::create_symlink(legacy.parent_path() / "model.safetensors", copy / "model.safetensors");
        wrong = difference(logitsOf(*goldenDecoder(copy.string()), ids, 0), logits);
        QVERIFY2(wrong.isEmpty(), qPrintable("older keys: " + wrong));
    }
};

QTEST_GUILESS_MAIN(TestFamilies)
#include "tst_families.moc"
