#include "engine/checkpoint/check_log.h"
#include "engine/checkpoint/checkpoint.h"
#include "engine/checkpoint/gguf_parser.h"
#include "tests/engine/checkpoint/checkpoint_test_files.h"

#include <algorithm>
#include <nlohmann/json.hpp>

using namespace kvscope;

namespace {

std::vector<CheckEntry> checksOf(const std::filesystem::path& path, QString* error = nullptr)
{
    CheckLog log;
    const QString thrown = errorOf([&] { openCheckpoint(path, log); });
    if (error != nullptr)
        *error = thrown;
    return log.entries();
}

std::vector<CheckEntry> failed(const std::vector<CheckEntry>& checks)
{
    std::vector<CheckEntry> some;
    std::copy_if(checks.begin(), checks.end(), std::back_inserter(some),
                 [](const CheckEntry& check) { return check.result == CheckResult::Failed; });
    return some;
}

const CheckEntry* findCheck(const std::vector<CheckEntry>& checks, const std::string& part)
{
    const auto found = std::find_if(checks.begin(), checks.end(), [&](const CheckEntry& check) {
        return check.what.find(part) != std::string::npos;
    });
    return found == checks.end() ? nullptr : &*found;
}

/// A copy of a golden folder, to be broken.
class Copy
{
public:
    explicit Copy(const std::string& name)
    {
        for (const char* file : {"config.json", "config.yaml", "model.safetensors"})
            if (std::filesystem::exists(goldenPath(name) / file))
                std::filesystem::copy_file(goldenPath(name) / file, path() / file);
    }
    std::filesystem::path path() const { return m_folder.path().toStdString(); }
    /// Changes one text for another of the same length in the weights' header.
    void replaceInWeights(const std::string& from, const std::string& to)
    {
        std::string bytes = readFile(path() / "model.safetensors");
        const auto at = bytes.find(from);
        QVERIFY(at != std::string::npos && from.size() == to.size());
        bytes.replace(at, to.size(), to);
        writeFile(path() / "model.safetensors", bytes);
    }
    void setConfig(const char* key, const nlohmann::json& value)
    {
        auto config = nlohmann::json::parse(readFile(path() / "config.json"));
        config[key] = value;
        writeFile(path() / "config.json", config.dump());
    }

private:
    QTemporaryDir m_folder;
};

} // namespace

class TestCheckLog : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void runKeepsThrowsAndAttemptKeepsAndGoesOn()
    {
        CheckLog log;
        log.run({.what = "first"}, [](CheckEntry& entry) { entry.found = "4"; });
        QVERIFY(!log.attempt({.what = "second"},
                             [](CheckEntry&) { throw CheckpointError("a: is wrong"); }));
        QVERIFY(log.hasFailed());
        QCOMPARE(errorOf([&] {
                     log.run({.what = "third"},
                             [](CheckEntry&) { throw CheckpointError("b: too"); });
                 }),
                 QString("b: too"));
        QCOMPARE(errorOf([&] { log.throwFirstFailure(); }), QString("a: is wrong"));
        QCOMPARE(log.entries().size(), std::size_t{3});
        QCOMPARE(log.entries()[0].found, std::string("4"));
        QVERIFY(log.entries()[0].result == CheckResult::Passed);
        QCOMPARE(log.entries()[1].found, std::string("a: is wrong"));
        QVERIFY(log.entries()[2].result == CheckResult::Failed);
    }

    void aFailureInsideACheckIsKeptOnce()
    {
        CheckLog log;
        log.attempt({.what = "outer"}, [&](CheckEntry&) {
            log.run({.what = "inner"}, [](CheckEntry&) { throw CheckpointError("a: is wrong"); });
        });
        QCOMPARE(log.entries().size(), std::size_t{1});
        QCOMPARE(log.entries()[0].what, std::string("inner"));
    }

    void countsWhatIsBeyondTheLimit()
    {
        CheckLog log;
        for (int i = 0; i < 1000; ++i)
            log.addFailure({.section = CheckSection::Tensors, .what = "tensor"},
                           CheckpointError("tensor " + std::to_string(i)));
        log.add({.section = CheckSection::Tensors, .what = "passes"});
        QCOMPARE(log.entries().size(), std::size_t{102});
        QCOMPARE(log.entries()[100].found, std::string("900 more failed"));
    }

    void aWholeGgufPassesEverywhereWithOffsets()
    {
        const auto path = goldenPath("gguf/llama_q4_1.gguf");
        const auto checks = checksOf(path);
        const std::uint64_t size = std::filesystem::file_size(path);
        const auto checkpoint = openCheckpoint(path);
        QCOMPARE(checkpoint->checks, checks);
        QVERIFY(failed(checks).empty());
        const CheckEntry* header = findCheck(checks, "begins with GGUF");
        QVERIFY(header != nullptr);
        QCOMPARE(header->bytes->begin, std::uint64_t{0});
        QCOMPARE(header->bytes->end, std::uint64_t{8}); // magic and version
        QCOMPARE(header->found, std::string("version 3, little-endian"));
        QCOMPARE(findCheck(checks, "the counts can be true")->bytes.value(), (ByteRange{8, 24}));
        // What follows joins on without a gap.
        const auto metadata = findCheck(checks, "every entry lies")->bytes.value();
        const auto table = findCheck(checks, "every tensor has a name")->bytes.value();
        QCOMPARE(metadata.begin, std::uint64_t{24});
        QCOMPARE(table.begin, metadata.end);
        QCOMPARE(findCheck(checks, "data begins inside")->bytes->end, size);
        const TensorInfo* down = checkpoint->find("blk.1.ffn_down.weight");
        const CheckEntry* place = findCheck(checks, "blk.1.ffn_down.weight: aligned");
        QVERIFY(place != nullptr);
        QCOMPARE(place->bytes.value(),
                 (ByteRange{down->fileOffset, down->fileOffset + down->data.size()}));
        QCOMPARE(place->found, std::string("Q4_1 [64, 96], 3.84 kB"));
        for (const CheckEntry& check : checks)
            if (check.bytes)
                QVERIFY2(check.bytes->begin <= check.bytes->end && check.bytes->end <= size,
                         check.what.c_str());
    }

    void aWrongMetadataEntryIsNamedWithItsPlace()
    {
        GgufBytes file;
        file.entry("a", 1U).entry("b", 99, "xxxx"); // there is no type 99
        const std::string bytes = file.bytes();
        CheckLog log;
        errorOf([&] { parseGguf(std::as_bytes(std::span(bytes)), "a.gguf", log); });
        QCOMPARE(failed(log.entries()).size(), std::size_t{1});
        const std::uint64_t begin = 24 + 8 + 1 + 4 + 4; // after the header and the first entry
        QCOMPARE(log.entries().back().bytes->begin, begin);
        QCOMPARE(log.entries().back().bytes->end, begin + 8 + 1 + 4); // key and type were read
    }

    void aCutGgufNamesEveryTensorThatIsGone()
    {
        QTemporaryDir folder;
        const auto path = std::filesystem::path(folder.path().toStdString()) / "cut.gguf";
        const auto whole = openCheckpoint(goldenPath("gguf/llama_q4_1.gguf"));
        const std::string bytes = readFile(goldenPath("gguf/llama_q4_1.gguf"));
        const std::uint64_t cut = bytes.size() / 2;
        writeFile(path, std::string_view(bytes).substr(0, cut));
        std::size_t gone = 0;
        for (const auto& [name, tensor] : whole->files.front()->tensors())
            gone += tensor.fileOffset + tensor.data.size() > cut ? 1 : 0;
        QString error;
        const auto checks = checksOf(path, &error);
        QVERIFY(gone > 3);
        QCOMPARE(failed(checks).size(), gone);
        QCOMPARE(error.toStdString(), failed(checks).front().found);
        KVSCOPE_CONTAINS(error, "was not copied whole");
        QVERIFY(findCheck(checks, "token_embd.weight: aligned") != nullptr);
    }

    void unreadTypesAreAllNamed()
    {
        GgufBytes file;
        file.entry("general.architecture", "llama")
            .tensor("x", {256}, 16, 0)
            .tensor("y", {256}, 99, 96)
            .data(192);
        QTemporaryDir folder;
        const auto path = std::filesystem::path(folder.path().toStdString()) / "a.gguf";
        writeFile(path, file.bytes());
        QString error;
        const auto bad = failed(checksOf(path, &error));
        QCOMPARE(bad.size(), std::size_t{3}); // both, and the sentence
        QCOMPARE(bad[0].found, std::string("it is stored as IQ2_XXS (type 16)"));
        QCOMPARE(bad[1].what, std::string("y is of a type that is read"));
        QCOMPARE(bad[2].found, error.toStdString());
    }

    void everyTensorOfAWrongShapeIsListed()
    {
        Copy copy("hf/llama");
        copy.setConfig("intermediate_size", 97);
        QString error;
        const auto checks = checksOf(copy.path(), &error);
        const auto bad = failed(checks);
        const auto layers = openCheckpoint(goldenPath("hf/llama"))->config.numLayers();
        QCOMPARE(bad.size(), static_cast<std::size_t>(3 * layers)); // gate, up, down of each
        QCOMPARE(error.toStdString(), bad.front().found);
        KVSCOPE_CONTAINS(error, "mlp.gate_proj.weight is [");
        QVERIFY(bad.front().bytes.has_value());
        QCOMPARE(bad.front().file, std::string("model.safetensors"));
        // The tokenizer does not depend on it, and was looked at all the same.
        QVERIFY(checks.back().section == CheckSection::Tokenizer);
    }

    void missingAndLeftOverTensorsAreListed()
    {
        Copy copy("hf/llama");
        copy.replaceInWeights("model.norm.weight", "model.born.weight");
        copy.replaceInWeights("layers.0.mlp.up_proj", "layers.0.mlp.Up_proj");
        QString error;
        const auto bad = failed(checksOf(copy.path(), &error));
        KVSCOPE_CONTAINS(error, "model.norm.weight, model.layers.0.mlp.up_proj.weight are missing");
        QVERIFY(findCheck(bad, "model.norm.weight is there") != nullptr);
        QVERIFY(findCheck(bad, "model.layers.0.mlp.up_proj.weight is there") != nullptr);
        QVERIFY(findCheck(bad, "model.born.weight is part") != nullptr);
        QVERIFY(findCheck(bad, "model.layers.0.mlp.Up_proj.weight is part")->bytes.has_value());
        QVERIFY(findCheck(bad, "no tensor is missing") != nullptr);
        QVERIFY(findCheck(bad, "no tensor is left over") != nullptr);
        QCOMPARE(bad.size(), std::size_t{6});
    }

    void everyMissingShardIsListed()
    {
        QTemporaryDir folder;
        const std::filesystem::path path = folder.path().toStdString();
        std::filesystem::copy_file(goldenPath("hf/llama/config.json"), path / "config.json");
        writeFile(
            path / "model.safetensors.index.json",
            R"({"weight_map":{"a":"1.safetensors","b":"2.safetensors","c":"3.safetensors"}})");
        writeFile(path / "2.safetensors", "x");
        QString error;
        const auto checks = checksOf(path, &error);
        QCOMPARE(failed(checks).size(), std::size_t{2});
        QCOMPARE(error,
                 QString("model.safetensors.index.json: names 1.safetensors, which is not in "
                         "the folder"));
        QVERIFY(findCheck(checks, "2.safetensors")->result == CheckResult::Passed);
    }

    void aSpanThatOverlapsHasItsBytes()
    {
        QTemporaryDir folder;
        const std::filesystem::path path = folder.path().toStdString();
        std::filesystem::copy_file(goldenPath("hf/llama/config.json"), path / "config.json");
        const std::string json = R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},)"
                                 R"("b":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}})";
        writeFile(path / "model.safetensors",
                  bytesOf<std::uint64_t>(json.size()) + json + std::string(3, '\0'));
        const auto bad = failed(checksOf(path));
        QCOMPARE(bad.size(), std::size_t{1});
        const std::uint64_t data = 8 + json.size();
        QCOMPARE(bad[0].bytes.value(), (ByteRange{data + 1, data + 3}));
    }

    void whatCannotBeReadIsACheckToo()
    {
        QString error;
        auto bad = failed(checksOf("/no/such/model.gguf", &error));
        QCOMPARE(bad.size(), std::size_t{1});
        QCOMPARE(bad[0].found, error.toStdString());
        QTemporaryDir folder;
        const auto pickle = std::filesystem::path(folder.path().toStdString()) / "model.pt";
        writeFile(pickle, std::string("\x80\x02}q", 4));
        bad = failed(checksOf(pickle, &error));
        QCOMPARE(bad.size(), std::size_t{1});
        KVSCOPE_CONTAINS(error, "can run any program");
        KVSCOPE_CONTAINS(error, "st.save_file(");
    }

    // Property: whatever a file's bytes, what is thrown is a failed check of the list.
    void whatIsThrownIsInTheList()
    {
        const std::string good = readFile(goldenPath("gguf/llama_q4_1.gguf"));
        for (std::size_t at = 0; at < 3000; at += 7) {
            std::string broken = good.substr(0, 12000);
            broken[at] = static_cast<char>(broken[at] ^ 0x55);
            CheckLog log;
            const QString error =
                errorOf([&] { parseGguf(std::as_bytes(std::span(broken)), "a.gguf", log); });
            const auto bad = failed(log.entries());
            QVERIFY(!bad.empty()); // it is cut, at least
            QCOMPARE(error.toStdString(), bad.front().found);
        }
    }
};

QTEST_GUILESS_MAIN(TestCheckLog)
#include "tst_check_log.moc"
