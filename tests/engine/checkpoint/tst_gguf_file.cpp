#include "engine/checkpoint/ggml_types.h"
#include "engine/checkpoint/gguf_file.h"
#include "engine/checkpoint/gguf_parser.h"
#include "tests/engine/checkpoint/checkpoint_test_files.h"

#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>

using namespace kvscope;

namespace {

constexpr std::uint32_t kArray = 9;

std::string arrayOf(std::uint32_t type, std::uint64_t count, const std::string& values)
{
    return bytesOf(type) + bytesOf(count) + values;
}

QJsonObject readIndex(const std::string& name)
{
    return QJsonDocument::fromJson(QByteArray::fromStdString(readFile(goldenPath(name)))).object();
}

/// A metadata value in the words of the golden index: 64-bit numbers as text.
QJsonValue toJson(const GgufValue& value);

template <typename T>
QJsonArray listToJson(const std::vector<T>& values)
{
    QJsonArray list;
    for (const T& value : values)
        list.append(toJson(GgufValue(value)));
    return list;
}

QJsonValue toJson(const GgufValue& value)
{
    if (const auto* text = std::get_if<std::string>(&value))
        return QString::fromStdString(*text);
    if (const auto* truth = std::get_if<bool>(&value))
        return *truth;
    if (const auto* real = std::get_if<double>(&value))
        return *real;
    if (const auto* plain = std::get_if<std::uint64_t>(&value))
        return *plain >> 53 == 0 ? QJsonValue(static_cast<qint64>(*plain))
                                 : QString::number(*plain);
    if (const auto* withSign = std::get_if<std::int64_t>(&value))
        return std::abs(*withSign) >> 53 == 0 ? QJsonValue(qint64{*withSign})
                                              : QString::number(*withSign);
    return std::visit([](const auto& list) { return QJsonValue(listToJson(list)); },
                      std::get<GgufArray>(value));
}

} // namespace

class TestGgufFile : public QObject
{
    Q_OBJECT

    QTemporaryDir m_folder;

    std::filesystem::path write(const std::string& bytes)
    {
        const auto path = std::filesystem::path(m_folder.path().toStdString()) / "a.gguf";
        writeFile(path, bytes);
        return path;
    }
    /// In memory, since the property tests parse thousands of files.
    static QString parsingError(const std::string& bytes)
    {
        return errorOf([&] { parseGguf(std::as_bytes(std::span(bytes)), "a.gguf"); });
    }

private Q_SLOTS:
    void metadataOfEveryValueTypeIsRead()
    {
        const GgufFile file(goldenPath("gguf/probe.gguf"));
        const QJsonObject expected =
            readIndex("gguf/probe.index.json")["facts"].toObject()["metadata"].toObject();
        QCOMPARE(expected.size(), 18);
        for (auto entry = expected.begin(); entry != expected.end(); ++entry) {
            const GgufValue* value = file.find(entry.key().toStdString());
            QVERIFY2(value != nullptr, qPrintable(entry.key()));
            QCOMPARE(toJson(*value), QJsonValue(entry.value()));
        }
        QCOMPARE(file.version(), std::uint32_t{3});
        QCOMPARE(file.count("probe.u32").value(), std::int64_t{4000000000});
        QCOMPARE(file.number("probe.i8").value(), -7.0);
        QCOMPARE(file.flag("probe.true").value(), true);
        QCOMPARE(*file.text("probe.empty_text"), std::string());
        QVERIFY(!file.count("missing"));
        QVERIFY(file.text("missing") == nullptr);
    }

    void tensorsOfEveryTypeAreListed()
    {
        const GgufFile file(goldenPath("gguf/probe.gguf"));
        const QJsonArray types =
            readIndex("gguf/probe.index.json")["facts"].toObject()["tensors"].toArray();
        for (const QJsonValue& entry : types) {
            const auto number = static_cast<std::uint32_t>(entry["type_id"].toInt());
            const GgmlType* type = findGgmlType(number);
            QVERIFY(type != nullptr);
            QCOMPARE(QString::fromUtf8(type->name.data(), static_cast<int>(type->name.size())),
                     entry["type"].toString());
            QCOMPARE(static_cast<int>(type->elements), entry["block"].toInt());
            QCOMPARE(static_cast<int>(type->bytes), entry["bytes"].toInt());
        }
        QCOMPARE(file.numTensors(), std::size_t{21});
        QVERIFY(file.unread().empty());
        const TensorInfo* three = file.findTensor("t.three_dims");
        QVERIFY(three != nullptr);
        QCOMPARE(three->shape, (std::vector<std::int64_t>{3, 5, 7})); // stored as 7, 5, 3
        const TensorInfo* q4 = file.findTensor("t.q4_1");
        QVERIFY(q4->type == StorageType::Q4_1);
        QCOMPARE(q4->shape, (std::vector<std::int64_t>{8, 512}));
        QCOMPARE(q4->data.size(), std::size_t{8 * 512 / 32 * 20});
        QCOMPARE(ggmlTypeText(14), std::string("Q6_K (type 14)"));
        QCOMPARE(ggmlTypeText(40), std::string("NVFP4 (type 40)"));
        QCOMPARE(ggmlTypeText(99), std::string("type 99"));
    }

    // What a type is called, and what its blocks hold and take, is said in two places.
    void readTypesAgreeWithTheirStorage()
    {
        int count = 0;
        for (std::uint32_t number = 0; number < 64; ++number) {
            const GgmlType* type = findGgmlType(number);
            if (type == nullptr || !type->storage)
                continue;
            ++count;
            QVERIFY(type->name == storageName(*type->storage));
            QCOMPARE(static_cast<std::int64_t>(type->elements), blockElements(*type->storage));
            QCOMPARE(static_cast<std::int64_t>(type->bytes), blockBytes(*type->storage));
        }
        QCOMPARE(count, 22);
        QCOMPARE(weightTypeNames(),
                 std::string("F32, F16, BF16, Q8_0, Q4_0, Q4_1, Q5_0, Q5_1, IQ4_NL, MXFP4, Q2_K, "
                             "Q3_K, Q4_K, Q5_K, Q6_K, Q8_K and IQ4_XS"));
    }

    // gpt-oss: [experts, out, in], the innermost dimension first in the file; rows are blocks along
    // `in`.
    void blocksOfThreeDimensionsAreRead()
    {
        const auto path =
            write(GgufBytes().tensor("experts", {64, 3, 2}, 39, 0).data(2 * 3 * 2 * 17).bytes());
        const GgufFile file(path);
        const TensorInfo* experts = file.findTensor("experts");
        QVERIFY(experts != nullptr);
        QVERIFY(experts->type == StorageType::MXFP4);
        QCOMPARE(experts->shape, (std::vector<std::int64_t>{2, 3, 64}));
        QCOMPARE(experts->data.size(), std::size_t{2 * 3 * 2 * 17});
        QCOMPARE(storedBytes(StorageType::MXFP4, experts->shape).value(), std::uint64_t{204});
        QVERIFY(!storedBytes(StorageType::Q6_K, experts->shape)); // 64 is no whole block of 256
    }

    void versionTwoIsReadAsThree()
    {
        const auto path =
            write(GgufBytes(2).entry("a", 7U).tensor("t", {2, 3}, 0, 0).data(24).bytes());
        const GgufFile file(path);
        QCOMPARE(file.version(), std::uint32_t{2});
        QCOMPARE(file.findTensor("t")->shape, (std::vector<std::int64_t>{3, 2}));
    }

    void emptyAndScalarTensorsAreAllowed()
    {
        const auto path = write(GgufBytes()
                                    .tensor("scalar", {}, 0, 0)
                                    .tensor("none", {4, 0}, 0, 0)
                                    .tensor("unknown", {1}, 99, 0)
                                    .data(4)
                                    .bytes());
        const GgufFile file(path);
        QVERIFY(file.findTensor("scalar")->shape.empty());
        QCOMPARE(file.findTensor("none")->data.size(), std::size_t{0});
        QCOMPARE(file.unread().size(), std::size_t{1});
    }

    void typedAccessNamesTheKey()
    {
        const GgufFile file(write(GgufBytes()
                                      .entry("number", 3U)
                                      .entry("text", "x")
                                      .entry("negative", 5, bytesOf<std::int32_t>(-1))
                                      .entry("huge", 10, bytesOf(~0ULL))
                                      .bytes()));
        KVSCOPE_CONTAINS(errorOf([&] { file.count("text"); }), "key text is not a whole number");
        KVSCOPE_CONTAINS(errorOf([&] { file.count("negative"); }), "key negative is not a whole");
        KVSCOPE_CONTAINS(errorOf([&] { file.count("huge"); }), "key huge is not a whole");
        KVSCOPE_CONTAINS(errorOf([&] { file.number("text"); }), "key text is not a number");
        KVSCOPE_CONTAINS(errorOf([&] { file.flag("number"); }), "key number is not a boolean");
        KVSCOPE_CONTAINS(errorOf([&] { file.text("number"); }), "key number is not text");
        KVSCOPE_CONTAINS(errorOf([&] { file.array("number"); }), "key number is not an array");
    }

    void hostileFilesAreRefusedByName_data()
    {
        QTest::addColumn<QByteArray>("bytes");
        QTest::addColumn<QString>("reason");
        const auto row = [](const char* name, const std::string& bytes, const char* reason) {
            QTest::newRow(name) << QByteArray::fromStdString(bytes) << reason;
        };
        const auto alignment = [](std::uint32_t value) {
            return GgufBytes()
                .entry("general.alignment", value)
                .tensor("t", {1}, 0, 0)
                .data(4)
                .bytes();
        };
        row("other magic", "GGML" + std::string(40, '\0'), "does not begin with GGUF");
        row("magic alone", "GGUF", "in the middle of the version");
        row("version 1", GgufBytes(1).bytes(), "is GGUF version 1; versions 2 and 3 are read");
        row("version 4", GgufBytes(4).bytes(), "is GGUF version 4");
        row("big-endian", GgufBytes(0x03000000).bytes(), "big-endian");
        row("tensor count of all ones", GgufBytes().claimTensors(~0ULL).bytes(),
            "claims 18446744073709551615 tensors");
        row("tensor count beyond the bytes", GgufBytes().claimTensors(1000).bytes(),
            "claims 1000 tensors");
        row("entry count of all ones", GgufBytes().claimEntries(~0ULL).bytes(),
            "claims 18446744073709551615 metadata entries");
        row("entry count beyond the bytes", GgufBytes().entry("a", 1U).claimEntries(2).bytes(),
            "claims 2 metadata entries");
        row("key length of all ones",
            "GGUF" + bytesOf(3U) + bytesOf(0ULL) + bytesOf(1ULL) + bytesOf(~0ULL) +
                std::string(99, 'k'),
            "a metadata key would be 18446744073709551615 bytes long");
        row("key without a name", GgufBytes().entry("", 1U).bytes(), "key without a name");
        row("key twice", GgufBytes().entry("a", 1U).entry("a", 2U).bytes(), "key a is there twice");
        row("value type 13", GgufBytes().entry("a", 13, bytesOf(1U)).bytes(),
            "unknown value type 13");
        row("boolean of 2", GgufBytes().entry("a", 7, "\x02").bytes(), "boolean of value 2");
        row("text length of all ones", GgufBytes().entry("a", 8, bytesOf(~0ULL)).bytes(),
            "key a would be 18446744073709551615 bytes long");
        row("array of arrays",
            GgufBytes().entry("a", kArray, arrayOf(kArray, 1, arrayOf(4, 0, ""))).bytes(),
            "array of arrays");
        row("array of an unknown type", GgufBytes().entry("a", kArray, arrayOf(77, 1, "x")).bytes(),
            "unknown value type 77");
        row("array length that wraps",
            GgufBytes().entry("a", kArray, arrayOf(10, 1ULL << 61, "")).bytes(),
            "claims 2305843009213693952 values");
        row("array longer than the file",
            GgufBytes().entry("a", kArray, arrayOf(4, 1U << 30, "")).bytes(),
            "in the middle of the metadata key a");
        row("texts longer than the file",
            GgufBytes().entry("a", kArray, arrayOf(8, 1U << 30, "")).bytes(),
            "claims 1073741824 texts");
        row("booleans longer than the file",
            GgufBytes().entry("a", kArray, arrayOf(7, 9, "\1\1")).bytes(), "claims 9 values");
        row("array with a boolean of 2",
            GgufBytes().entry("a", kArray, arrayOf(7, 1, "\2")).bytes(), "boolean of value 2");
        row("alignment 0", alignment(0), "general.alignment is 0");
        row("alignment 3", alignment(3), "general.alignment is 3");
        row("alignment 2^31", alignment(1U << 31), "general.alignment is 2147483648");
        row("alignment as text", GgufBytes().entry("general.alignment", "32").bytes(),
            "not an unsigned number");
        row("tensor without a name", GgufBytes().tensor("", {1}, 0, 0).data(4).bytes(),
            "tensor without a name");
        row("five dimensions", GgufBytes().tensor("t", {1, 1, 1, 1, 1}, 0, 0).data(4).bytes(),
            "t has 5 dimensions");
        row("dimension of all ones", GgufBytes().tensor("t", {~0ULL}, 0, 0).data(4).bytes(),
            "t has a dimension of 18446744073709551615");
        row("dimensions that wrap", GgufBytes().tensor("t", {1ULL << 62, 4}, 0, 0).data(4).bytes(),
            "more bytes than can be counted");
        row("bytes that wrap", GgufBytes().tensor("t", {1ULL << 62}, 0, 0).data(4).bytes(),
            "more bytes than can be counted");
        row("row of half a block", GgufBytes().tensor("t", {48, 2}, 2, 0).data(54).bytes(),
            "rows are not whole blocks of 32");
        row("row of half a block of 256",
            GgufBytes().tensor("t", {384, 2}, 14, 0).data(630).bytes(),
            "t is Q6_K [2, 384], whose rows are not whole blocks of 256");
        row("experts of half a block",
            GgufBytes().tensor("t", {16, 32, 4}, 39, 0).data(1088).bytes(),
            "t is MXFP4 [4, 32, 16], whose rows are not whole blocks of 32");
        row("offset not aligned", GgufBytes().tensor("t", {1}, 0, 8).data(64).bytes(),
            "not a multiple of the alignment 32");
        row("offset that wraps", GgufBytes().tensor("t", {64}, 0, ~0ULL - 31).data(64).bytes(),
            "but the data has 64");
        row("tensor past the file", GgufBytes().tensor("t", {64}, 0, 0).data(255).bytes(),
            "takes 256 bytes from data byte 0, but the data has 255");
        row("data missing", GgufBytes().tensor("t", {64}, 0, 0).bytes(),
            "ends before its tensors' data");
        row("overlap",
            GgufBytes().tensor("a", {16}, 0, 0).tensor("b", {16}, 0, 32).data(96).bytes(),
            "b overlaps a");
        row("overlap behind an empty tensor",
            GgufBytes()
                .tensor("a", {16}, 0, 0)
                .tensor("e", {0}, 0, 32)
                .tensor("b", {8}, 0, 32)
                .data(96)
                .bytes(),
            "b overlaps a");
        row("overlap of an unread type",
            GgufBytes().tensor("a", {16}, 0, 0).tensor("b", {256}, 16, 32).data(300).bytes(),
            "b overlaps a");
        row("tensor twice",
            GgufBytes().tensor("t", {1}, 0, 0).tensor("t", {1}, 0, 32).data(36).bytes(),
            "names the tensor t twice");
        row("tensor twice, once unread",
            GgufBytes().tensor("t", {1}, 0, 0).tensor("t", {1}, 99, 32).data(36).bytes(),
            "names the tensor t twice");
    }
    void hostileFilesAreRefusedByName()
    {
        QFETCH(QByteArray, bytes);
        QFETCH(QString, reason);
        const auto path = write(bytes.toStdString());
        const QString error = errorOf([&] { const GgufFile file(path); });
        QVERIFY2(error.startsWith("a.gguf: "), qPrintable(error));
        KVSCOPE_CONTAINS(error, reason);
    }

    // Property: whatever one byte becomes, the file opens or is refused in one line.
    void everyByteMayBreak()
    {
        const std::string good =
            GgufBytes()
                .entry("general.alignment", 32U)
                .entry("t", "text")
                .entry("l", kArray, arrayOf(8, 2, GgufBytes::text("a") + GgufBytes::text("bc")))
                .entry("n", kArray, arrayOf(5, 2, std::string(8, '\1')))
                .tensor("x", {4, 2}, 0, 0)
                .tensor("y", {32}, 8, 32)
                .data(66)
                .bytes();
        QCOMPARE(parsingError(good), QString("(nothing thrown)"));
        for (std::size_t at = 0; at < good.size(); ++at)
            for (const char byte : {'\0', '\1', '\x20', '\x7f', '\x80', '\xff'}) {
                std::string broken = good;
                broken[at] = byte;
                QVERIFY(!parsingError(broken).startsWith("(two lines)"));
            }
    }

    // Property: a file cut anywhere is refused.
    void everyTruncationIsRefused()
    {
        const std::string good = readFile(goldenPath("gguf/probe.gguf"));
        for (std::size_t length = 1; length < good.size(); length += length < 2000 ? 1 : 997) {
            QVERIFY(parsingError(good.substr(0, length)).startsWith("a.gguf: "));
        }
    }

    // A sparse file has as many bytes as it likes, and takes none on the disk.
    void arraysOfSparseFilesAreLimited_data()
    {
        QTest::addColumn<QByteArray>("value"); // whose zeros are the file's hole
        QTest::addColumn<int>("type");
        QTest::addColumn<QString>("reason");
        const auto array = [](std::uint32_t type, std::uint64_t count) {
            return QByteArray::fromStdString(bytesOf(type) + bytesOf(count));
        };
        const int list = static_cast<int>(kArray);
        QTest::newRow("bytes") << array(0, (1U << 23) + 1) << list << "a has 8388609 values";
        QTest::newRow("booleans") << array(7, 1U << 24) << list << "a has 16777216 values";
        QTest::newRow("empty texts") << array(8, 1U << 24) << list << "a has 16777216 values";
        QTest::newRow("a text") << QByteArray::fromStdString(bytesOf<std::uint64_t>(1U << 28)) << 8
                                << "a has 268435456 bytes";
    }
    void arraysOfSparseFilesAreLimited()
    {
        QFETCH(QByteArray, value);
        QFETCH(int, type);
        QFETCH(QString, reason);
        QTemporaryDir folder;
        const auto path = std::filesystem::path(folder.path().toStdString()) / "sparse.gguf";
        writeFile(
            path,
            GgufBytes().entry("a", static_cast<std::uint32_t>(type), value.toStdString()).bytes());
        std::filesystem::resize_file(path, std::uintmax_t{1} << 30);
        KVSCOPE_CONTAINS(errorOf([&] { GgufFile file(path); }), reason);
    }
};

QTEST_GUILESS_MAIN(TestGgufFile)
#include "tst_gguf_file.moc"
