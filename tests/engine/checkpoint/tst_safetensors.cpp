#include "engine/checkpoint/safetensors.h"
#include "tests/engine/checkpoint/checkpoint_test_files.h"

using namespace kvscope;

namespace {

/// A file of this header and this many zero bytes of data.
std::string fileOf(const std::string& header, std::size_t dataBytes)
{
    return bytesOf<std::uint64_t>(header.size()) + header + std::string(dataBytes, '\0');
}

std::string tensor(const std::string& name, const std::string& dtype, const std::string& shape,
                   const std::string& offsets)
{
    return "\"" + name + "\":{\"dtype\":\"" + dtype + "\",\"shape\":" + shape +
           ",\"data_offsets\":" + offsets + "}";
}

} // namespace

class TestSafetensors : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void readsNamesTypesShapesAndPlaces()
    {
        QTemporaryDir folder;
        const auto path = std::filesystem::path(folder.path().toStdString()) / "a.safetensors";
        // Out of order, a scalar, an empty tensor, metadata and trailing spaces: all allowed.
        const std::string header = "{" + tensor("b", "BF16", "[2,3]", "[4,16]") +
                                   ",\"__metadata__\":{\"format\":\"pt\"}," +
                                   tensor("scalar", "F32", "[]", "[0,4]") + "," +
                                   tensor("empty", "F64", "[0,7]", "[4,4]") + "}   ";
        writeFile(path, fileOf(header, 16));
        const auto file = readSafetensors(path);
        QCOMPARE(file->tensors().size(), std::size_t{3});
        const TensorInfo* b = file->find("b");
        QVERIFY(b != nullptr && b->type == StorageType::BF16);
        QCOMPARE(b->shape, (std::vector<std::int64_t>{2, 3}));
        QCOMPARE(b->fileOffset, std::uint64_t{8 + header.size() + 4});
        QCOMPARE(b->data.size(), std::size_t{12});
        QVERIFY(file->find("scalar")->shape.empty());
        QCOMPARE(file->find("empty")->data.size(), std::size_t{0});
        QVERIFY(file->find("c") == nullptr);
    }

    void goldenValuesComeOutAtTheirPlace()
    {
        // blocks.0.norm1.weight of tiny_a was drawn near 1.
        const auto file = readSafetensors(goldenPath("gptosslite/tiny_a/model.safetensors"));
        const TensorInfo* norm = file->find("blocks.0.norm1.weight");
        QVERIFY(norm != nullptr);
        for (std::size_t i = 0; i < 64; ++i) {
            float value = 0.0F;
            std::memcpy(&value, norm->data.data() + i * sizeof(float), sizeof(float));
            QVERIFY(value > 0.0F && value < 2.0F);
        }
    }

    void hostileFilesAreRefusedByName_data()
    {
        QTest::addColumn<QByteArray>("bytes");
        QTest::addColumn<QString>("reason");
        const auto row = [](const char* name, const std::string& bytes, const char* reason) {
            QTest::newRow(name) << QByteArray::fromStdString(bytes) << reason;
        };
        const auto header = [&](const char* name, const std::string& json, std::size_t data,
                                const char* reason) { row(name, fileOf(json, data), reason); };
        row("shorter than its length field", "\x08", "in the middle of the header's length");
        row("header longer than the file", bytesOf<std::uint64_t>(100) + "{}",
            "in the middle of the header");
        row("header over the format's limit", bytesOf<std::uint64_t>(100'000'001) + "{}",
            "100000000 are allowed");
        row("header length of all ones", bytesOf<std::uint64_t>(~0ULL) + "{}",
            "100000000 are allowed");
        row("empty header", bytesOf<std::uint64_t>(0), "does not begin with '{'");
        header("leading space", " {}", 0, "does not begin with '{'");
        header("not JSON", "{\"a\":", 0, "not valid JSON");
        header("text after the object", "{} x", 0, "not valid JSON");
        header("invalid UTF-8", "{\"\xff\":{}}", 0, "not valid JSON");
        header("lone surrogate", "{\"\\ud800\":{}}", 0, "not valid JSON");
        header("tensor twice",
               "{" + tensor("a", "U8", "[1]", "[0,1]") + "," + tensor("a", "U8", "[1]", "[1,2]") +
                   "}",
               2, "names a twice");
        header("key twice", R"({"a":{"dtype":"U8","dtype":"U8","shape":[1],"data_offsets":[0,1]}})",
               1, "a has the key dtype twice");
        header("metadata twice", R"({"__metadata__":{},"__metadata__":{}})", 0,
               "__metadata__ twice");
        header("metadata key twice", R"({"__metadata__":{"a":"1","a":"2"}})", 0, "the key a twice");
        header("metadata of a number", R"({"__metadata__":{"a":1}})", 0, "may hold text only");
        header("metadata of an object", R"({"__metadata__":{"a":{}}})", 0, "may hold text only");
        header("metadata that is text", R"({"__metadata__":"a"})", 0, "__metadata__ is text, not");
        header("deep nesting", "{\"a\":" + std::string(100000, '['), 0,
               "a is a list in the header");
        header("deep nesting in a shape", R"({"a":{"shape":)" + std::string(100000, '['), 0,
               "shape has a list");
        header("tensor that is null", R"({"a":null})", 0, "a is null in the header");
        header("no dtype", R"({"a":{"shape":[1],"data_offsets":[0,1]}})", 1, "a has no dtype");
        header("no shape", R"({"a":{"dtype":"U8","data_offsets":[0,1]}})", 1, "a has no shape");
        header("no offsets", R"({"a":{"dtype":"U8","shape":[1]}})", 1, "a has no data_offsets");
        header("unknown key", R"({"a":{"dtype":"U8","strides":[1]}})", 1, "unknown key strides");
        header("dtype that is a number", R"({"a":{"dtype":3}})", 1, "dtype has a number");
        header("negative dimension", "{" + tensor("a", "U8", "[-1]", "[0,1]") + "}", 1,
               "shape has a negative number");
        header("fraction as dimension", "{" + tensor("a", "U8", "[1.5]", "[0,1]") + "}", 1,
               "shape has a fraction");
        header("dimension beyond 64 bits",
               "{" + tensor("a", "U8", "[99999999999999999999]", "[0,1]") + "}", 1,
               "beyond 64 bits");
        header("dimension beyond 63 bits",
               "{" + tensor("a", "U8", "[9223372036854775808]", "[0,1]") + "}", 1,
               "has a dimension of 9223372036854775808");
        header("nine dimensions", "{" + tensor("a", "U8", "[1,1,1,1,1,1,1,1,1]", "[0,1]") + "}", 1,
               "more than 8 dimensions");
        header("product that wraps to the span",
               "{" + tensor("a", "F32", "[4611686018427387905,4]", "[0,16]") + "}", 16,
               "more bytes than can be counted");
        header("one offset", "{" + tensor("a", "U8", "[1]", "[0]") + "}", 1, "must be two numbers");
        header("three offsets", "{" + tensor("a", "U8", "[1]", "[0,1,2]") + "}", 1,
               "more than two numbers");
        header("end before begin",
               "{" + tensor("a", "U8", "[0]", "[0,0]") + "," + tensor("b", "U8", "[1]", "[0,1]") +
                   "," + tensor("c", "U8", "[1]", "[1,0]") + "}",
               1, "before it begins");
        header("end past the file", "{" + tensor("a", "U8", "[9]", "[0,9]") + "}", 8,
               "ends at data byte 9, but the file has 8");
        header("end of all ones", "{" + tensor("a", "U8", "[1]", "[0,18446744073709551615]") + "}",
               8, "but the file has 8");
        header("hole",
               "{" + tensor("a", "U8", "[1]", "[0,1]") + "," + tensor("b", "U8", "[1]", "[2,3]") +
                   "}",
               3, "without holes");
        header("hole at the start", "{" + tensor("a", "U8", "[1]", "[1,2]") + "}", 2,
               "without holes");
        header("overlap",
               "{" + tensor("a", "U8", "[2]", "[0,2]") + "," + tensor("b", "U8", "[2]", "[1,3]") +
                   "}",
               3, "without overlap");
        header("bytes after the last tensor", "{" + tensor("a", "U8", "[1]", "[0,1]") + "}", 9,
               "8 bytes after its last tensor");
        header("shape larger than the span", "{" + tensor("a", "F32", "[2]", "[0,4]") + "}", 4,
               "a is F32 [2], which takes 8 bytes, but its span has 4");
        header("unread type", "{" + tensor("a", "F8_E4M3", "[1]", "[0,1]") + "}", 1,
               "a is stored as F8_E4M3, which this version does not read");
        header("name with a line break", R"({"a\nb":null})", 0, "is null in the header");
    }
    void hostileFilesAreRefusedByName()
    {
        QFETCH(QByteArray, bytes);
        QFETCH(QString, reason);
        QTemporaryDir folder;
        const auto path = std::filesystem::path(folder.path().toStdString()) / "a.safetensors";
        writeFile(path, bytes.toStdString());
        const QString error = errorOf([&] { readSafetensors(path); });
        QVERIFY2(error.startsWith("a.safetensors: "), qPrintable(error));
        KVSCOPE_CONTAINS(error, reason);
    }

    // Property: whatever one byte of the header becomes, the file opens or is refused in one line.
    void everyByteOfAHeaderMayBreak()
    {
        QTemporaryDir folder;
        const auto path = std::filesystem::path(folder.path().toStdString()) / "a.safetensors";
        const std::string good = fileOf("{" + tensor("a", "F32", "[2,1]", "[0,8]") + "," +
                                            tensor("b", "BF16", "[3]", "[8,14]") + "}",
                                        14);
        for (std::size_t at = 0; at < good.size() - 14; ++at)
            for (const char byte : {'\0', '"', '0', '9', '}', '\x80', '\xff'}) {
                std::string broken = good;
                broken[at] = byte;
                writeFile(path, broken);
                QVERIFY(!errorOf([&] { readSafetensors(path); }).startsWith("(two lines)"));
            }
    }

    // Property: a file cut anywhere is refused.
    void everyTruncationIsRefused()
    {
        QTemporaryDir folder;
        const auto path = std::filesystem::path(folder.path().toStdString()) / "a.safetensors";
        const std::string good = fileOf("{" + tensor("a", "F32", "[2]", "[0,8]") + "}", 8);
        for (std::size_t length = 1; length < good.size(); ++length) {
            writeFile(path, std::string_view(good).substr(0, length));
            QVERIFY(errorOf([&] { readSafetensors(path); }).startsWith("a.safetensors: "));
        }
    }
};

QTEST_GUILESS_MAIN(TestSafetensors)
#include "tst_safetensors.moc"
