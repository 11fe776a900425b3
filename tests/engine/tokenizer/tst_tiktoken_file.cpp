#include "engine/base/errors.h"
#include "engine/tokenizer/tiktoken_file.h"

#include <QTemporaryDir>
#include <QtTest>

#include <filesystem>
#include <fstream>

using namespace kvscope;

namespace {

QByteArray lineOf(const QByteArray& token, int rank)
{
    return token.toBase64() + ' ' + QByteArray::number(rank) + '\n';
}

/// As many ranks as Llama 3's file has: the bytes, " the" and its parts, then any others.
QList<QByteArray> llamaTokens(int count = 128'000)
{
    QList<QByteArray> tokens;
    for (int byte = 0; byte < 256; ++byte)
        tokens << QByteArray(1, static_cast<char>(byte));
    tokens << " t"
           << "he"
           << " the";
    for (int i = static_cast<int>(tokens.size()); i < count; ++i)
        tokens << "\xFF" + QByteArray::number(i);
    return tokens;
}

QByteArray fileOf(const QList<QByteArray>& tokens)
{
    QByteArray text;
    for (int rank = 0; rank < tokens.size(); ++rank)
        text += lineOf(tokens[rank], rank);
    return text;
}

} // namespace

class TestTiktokenFile : public QObject
{
    Q_OBJECT

    QTemporaryDir m_folder;

    std::filesystem::path write(const QByteArray& text)
    {
        const std::filesystem::path file = m_folder.path().toStdString() + "/tokenizer.model";
        std::ofstream(file, std::ios::binary) << text.toStdString();
        return file;
    }
    QString refusal(const QByteArray& text)
    {
        try {
            bpePartsFromTiktoken(write(text), {});
        } catch (const TokenizerError& error) {
            return QString::fromUtf8(error.what());
        }
        return "nothing thrown";
    }

private Q_SLOTS:
    void llama3SpecialTokensAreKnown()
    {
        const auto tokenizer = openTokenizer(write(fileOf(llamaTokens())));
        QCOMPARE(tokenizer->vocabularySize(), std::int64_t{128'256});
        QCOMPARE(tokenizer->description(), std::string("tiktoken (Llama 3), 128,256 tokens"));
        QCOMPARE(tokenizer->controlToken("<|eot_id|>"), std::optional<TokenId>(128'009));
        QCOMPARE(tokenizer->piece(128'255), std::string("<|reserved_special_token_245|>"));
        QCOMPARE(tokenizer->encode(" the<|eot_id|>", ControlTokens::Parsed),
                 (std::vector<TokenId>{258, 128'009}));
        QCOMPARE(tokenizer->decode({258, 0xC3, 0xA9, 128'000}),
                 std::string(" the\xC3\xA9<|begin_of_text|>"));
    }

    void namesOfAConfigurationWin()
    {
        const auto file = write(fileOf(llamaTokens()));
        std::ofstream(file.parent_path() / "tokenizer_config.json")
            << R"({"added_tokens_decoder":{"128000":{"content":"<bos>","special":true},)"
               R"("128001":{"content":"<pad>","special":false}},"bos_token":"<bos>"})";
        const auto tokenizer = openTokenizer(file);
        std::filesystem::remove(file.parent_path() / "tokenizer_config.json");
        QCOMPARE(tokenizer->vocabularySize(), std::int64_t{128'002});
        QCOMPARE(tokenizer->controlToken("<bos>"), std::optional<TokenId>(128'000));
        QVERIFY(tokenizer->isControl(128'000));
        QVERIFY(!tokenizer->isControl(128'001));
    }

    void idsFarBeyondTheRanksAreRefused()
    {
        const auto file = write(fileOf(llamaTokens()));
        for (const char* id : {"9223372036854775807", "2000000000"}) {
            std::ofstream(file.parent_path() / "tokenizer_config.json")
                << "{\"added_tokens_decoder\":{\"" << id << "\":{\"content\":\"<far>\"}}}";
            QString message = "nothing thrown";
            try {
                openTokenizer(file);
            } catch (const TokenizerError& error) {
                message = error.what();
            }
            QVERIFY2(message.startsWith("tokenizer.model: The added token '<far>' has the id ") &&
                         message.endsWith("in a vocabulary of 128,000."),
                     qPrintable(message));
        }
        std::filesystem::remove(file.parent_path() / "tokenizer_config.json");
    }

    void filesThatMakeNoSenseAreRefused_data()
    {
        QTest::addColumn<QByteArray>("text");
        QTest::addColumn<QString>("message");
        const QByteArray whole = fileOf(llamaTokens(300));
        QTest::newRow("cut in a token")
            << whole.left(whole.lastIndexOf(' ') - 2) << "line 300 is not a token in base64";
        QTest::newRow("cut before a rank")
            << whole.left(whole.lastIndexOf(' ') + 1) << "line 300 has no whole number";
        QTest::newRow("cut in a rank")
            << whole.left(whole.size() - 2) << "line 300 has the rank 29; 299 was expected";
        QTest::newRow("cut between lines")
            << fileOf(llamaTokens(300).sliced(0, 200)) << "has no token for byte 200";
        QTest::newRow("too few ranks") << whole << "has 300 ranks, which tells no tokenizer";
        QTest::newRow("no base64") << QByteArray("!!!! 0\n") << "line 1 is not a token in base64";
        QTest::newRow("base64 without padding") << QByteArray("IQ 0\n") << "line 1 is not a token";
        QTest::newRow("an empty token") << QByteArray(" 0\n") << "line 1 is not a token";
        QTest::newRow("negative rank") << QByteArray("IQ== -1\n") << "has the rank -1; 0 was";
        QTest::newRow("rank with more behind") << QByteArray("IQ== 0x\n") << "no whole number";
        QTest::newRow("enormous rank")
            << QByteArray("IQ== 99999999999999999999\n") << "no whole number";
        QTest::newRow("rank twice")
            << QByteArray("IQ== 0\nIg== 0\n") << "line 2 has the rank 0; 1 was expected";
        QTest::newRow("token twice")
            << QByteArray("IQ== 0\nIQ== 1\n") << "line 2 has a token that an earlier line has too";
        QTest::newRow("a web page") << QByteArray("<!DOCTYPE html>\n") << "line 1 is not a token";
    }
    void filesThatMakeNoSenseAreRefused()
    {
        QFETCH(QByteArray, text);
        QFETCH(QString, message);
        const QString refused = refusal(text);
        QVERIFY2(refused.contains(message), qPrintable(refused));
    }
};

QTEST_GUILESS_MAIN(TestTiktokenFile)
#include "tst_tiktoken_file.moc"
