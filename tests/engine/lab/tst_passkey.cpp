#include "engine/base/errors.h"
#include "engine/lab/answer_judge.h"
#include "engine/lab/compute_costs.h"
#include "engine/lab/passkey_task.h"
#include "engine/lab/python_random.h"
#include "engine/lab/sweep.h"
#include "tests/support/golden_json.h"

#include <QCryptographicHash>
#include <QtTest>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>

using namespace kvscope;
using Json = nlohmann::json;

namespace {

/// Keeps the size of every text that is encoded.
class WatchedTokenizer : public Tokenizer
{
public:
    explicit WatchedTokenizer(const std::filesystem::path& file)
        : m_inner(openTokenizer(file))
    {
    }

    mutable std::vector<std::size_t> sizes;
    std::function<void()> encoding; ///< before each

    std::vector<TokenId> encode(std::string_view text, ControlTokens control) const override
    {
        if (encoding)
            encoding();
        sizes.push_back(text.size());
        return m_inner->encode(text, control);
    }
    std::string piece(TokenId id) const override { return m_inner->piece(id); }
    std::string decode(const std::vector<TokenId>& ids) const override
    {
        return m_inner->decode(ids);
    }
    bool isControl(TokenId id) const override { return m_inner->isControl(id); }
    std::optional<TokenId> controlToken(std::string_view text) const override
    {
        return m_inner->controlToken(text);
    }
    std::int64_t vocabularySize() const override { return m_inner->vocabularySize(); }
    std::string description() const override { return m_inner->description(); }

private:
    std::unique_ptr<const Tokenizer> m_inner;
};

/// A small model with a tokenizer that is watched.
struct Asked
{
    explicit Asked(const char* path)
        : decoder(openCheckpoint(goldenPath(path)), {})
        , tokenizer(goldenPath("gguf/llama_f32.gguf"))
    {
    }

    std::unique_ptr<Sweep> sweep(const SweepRequest& request, const std::stop_token& stop = {})
    {
        ChatPrompter prompter = sweepPrompter(tokenizer, decoder.checkpoint().tokenizer, request);
        return std::make_unique<Sweep>(SweepModel{decoder, tokenizer, std::move(prompter), {}},
                                       makeSweepTask(request), request, stop);
    }

    Decoder decoder;
    WatchedTokenizer tokenizer;
};

} // namespace

// Keys, prompts and answers against those of GPT-OSS-Lite's own evaluation.
class TestPasskey : public QObject
{
    Q_OBJECT

    static const Json& golden()
    {
        static const Json json = readGoldenJson("gptosslite/passkey.json");
        return json;
    }

    static std::string sha256(const std::string& text)
    {
        return QCryptographicHash::hash(QByteArray::fromStdString(text), QCryptographicHash::Sha256)
            .toHex()
            .toStdString();
    }

    static std::string joined(const auto& words, const char* between)
    {
        std::string text;
        for (const auto& word : words)
            text += (text.empty() ? "" : between) + std::string(word);
        return text;
    }

    static SweepRequest request(std::int64_t tokens, bool isLeaky,
                                PasskeyProtocol protocol = PasskeyProtocol::Reference)
    {
        SweepRequest request;
        request.experiment = SweepExperiment::Passkey;
        request.protocol = protocol;
        request.lengths = {tokens};
        request.numItems = 5;
        request.seed = kPasskeySeed;
        request.isLeaky = isLeaky;
        return request;
    }

private Q_SLOTS:
    void keysAreDrawnAsPythonDrawsThem()
    {
        for (const char* list : {"passkey_samples", "small_samples"})
            for (const Json& sample : golden().at(list))
                QCOMPARE(passkeys(sample.at("base_seed"), sample.at("context_length"),
                                  sample.at("n_trials")),
                         sample.at("passkeys").get<std::vector<std::string>>());
    }

    void manyKeysAreDrawnFromAList()
    {
        const Json& sample = golden().at("pool_branch_sample");
        const auto keys =
            passkeys(sample.at("base_seed"), sample.at("context_length"), sample.at("n_trials"));
        QCOMPARE(sha256(joined(keys, "\n")),
                 sample.at("sha256_of_newline_joined").get<std::string>());
    }

    void seedsAboveThirtyTwoBitsTakeTwoWords()
    {
        // random.Random(2**40 + 3).getrandbits(32), three times
        PythonRandom random((std::uint64_t{1} << 40) + 3);
        QCOMPARE(random.bits(32), kLargeSeedDraws[0]);
        QCOMPARE(random.bits(32), kLargeSeedDraws[1]);
        QCOMPARE(random.bits(32), kLargeSeedDraws[2]);
    }

    void fillersAreTheReferences()
    {
        for (const Json& filler : golden().at("fillers")) {
            const std::int64_t words = filler.at("words");
            const auto seed = filler.at("seed").get<std::uint64_t>();
            QCOMPARE(sha256(joined(passkeyWords(seed, words), " ")),
                     filler.at("sha256").get<std::string>());
        }
    }

    void promptsAreTheReferences_data()
    {
        QTest::addColumn<int>("index");
        for (std::size_t i = 0; i < golden().at("prompts").size(); ++i) {
            const Json& prompt = golden().at("prompts").at(i);
            QTest::addRow("%d words, %s", prompt.at("context_length").get<int>(),
                          prompt.at("position").get<std::string>().c_str())
                << int(i);
        }
    }

    // With its own leaking template they are equal; with ours but for what follows the context.
    void promptsAreTheReferences()
    {
        QFETCH(int, index);
        const Json& prompt = golden().at("prompts").at(static_cast<std::size_t>(index));
        const std::int64_t words = prompt.at("context_length");
        const std::string position = prompt.at("position");
        const double depth = position == "start" ? 0.0 : position == "middle" ? 50.0 : 100.0;
        const SweepSpot spot{TrialRole::Asked, words, depth, 0, 0};
        const auto leaky = makePasskeyTask(request(words, true));
        const auto ours = makePasskeyTask(request(words, false));
        const SweepMessage made = leaky->message(spot, words, 0);
        // The golden prompts hold one key for all lengths.
        std::string text = made.context + made.question;
        const std::string key = leaky->item(spot).name;
        for (std::size_t at = text.find(key); at != std::string::npos; at = text.find(key, at + 5))
            text.replace(at, 5, prompt.at("passkey").get<std::string>());
        QCOMPARE(sha256(text), prompt.at("sha256").get<std::string>());
        QCOMPARE(made.context.find("The passkey is"),
                 prompt.at("needle_character_offset").get<std::size_t>());

        const SweepMessage fair = ours->message(spot, words, 0);
        QCOMPARE(fair.context, made.context);
        QCOMPARE(fair.question,
                 std::string("\n\nWhat is the passkey mentioned above? The passkey is"));
        QVERIFY(leaky->isLeaking() && !ours->isLeaking());
    }

    void theReferenceCountsWordsAndWeTokens()
    {
        QCOMPARE(makePasskeyTask(request(4096, false))->fixedWords(4096),
                 std::optional<std::int64_t>(4096));
        QVERIFY(!makePasskeyTask(request(4096, false, PasskeyProtocol::Ours))->fixedWords(4096));
        QCOMPARE(usualAnswerRoom(SweepExperiment::Passkey, PasskeyProtocol::Reference), 16);
        QCOMPARE(usualAnswerRoom(SweepExperiment::Passkey, PasskeyProtocol::Ours), 32);
    }

    void answersAreTakenAsPythonTakesThem()
    {
        for (const Json& row : golden().at("extraction").at("rows")) {
            const std::string text = row.at("text");
            const auto found = firstFiveDigits(text, PasskeyProtocol::Reference);
            const auto wanted = row.at("found").is_null()
                                    ? std::nullopt
                                    : std::optional(row.at("found").get<std::string>());
            QVERIFY2(found == wanted, text.c_str());
        }
    }

    void oursTakesAsciiDigitsAlone()
    {
        const auto ours = [](const char* text) {
            return firstFiveDigits(text, PasskeyProtocol::Ours).value_or("nothing");
        };
        QCOMPARE(ours("\uff11\uff12\uff13\uff14\uff15 or 12345"), std::string("12345"));
        QCOMPARE(ours("\u5bc6\u780112345\u662f"), std::string("12345"));
        QCOMPARE(ours("a12345"), std::string("nothing"));
        QCOMPARE(ours("123456"), std::string("nothing"));
        QCOMPARE(ours("\xff"
                      "12345"),
                 std::string("12345")); // an ill-formed byte ends nothing
    }

    void theFirstKeyCounts()
    {
        const SweepItem item{"12345", {"The passkey is 12345."}, {"12345"}, "12345"};
        const auto kind = [&](const char* answer) {
            return judgePasskey(answer, item, PasskeyProtocol::Ours).kind;
        };
        QCOMPARE(kind(" 12345."), AnswerKind::Found);
        QCOMPARE(kind("54321, or 12345"), AnswerKind::RestatedWrong);
        QCOMPARE(kind("54321"), AnswerKind::BareWrong);
        QCOMPARE(kind("The passkey is 123."), AnswerKind::RestatedWrong);
        QCOMPARE(kind("the quick brown fox"), AnswerKind::NoNumber);
        QCOMPARE(kind(" \n"), AnswerKind::Empty);
        QVERIFY(judgePasskey("9123456", item, PasskeyProtocol::Ours).isLoose);
        QVERIFY(!judgePasskey("91234", item, PasskeyProtocol::Ours).isLoose);
    }

    // A prompt of 100,000 words takes a second to encode: not one for each of a hundred keys.
    void aLengthInWordsIsMeasuredByOnePrompt()
    {
        Asked asked("gguf/llama_f32.gguf");
        const auto sweep = asked.sweep(request(2000, false));
        QCOMPARE(sweep->report().columns[0].skipReason, std::string());
        const auto isLong = [](std::size_t size) { return size > 2000; };
        QCOMPARE(std::count_if(asked.tokenizer.sizes.begin(), asked.tokenizer.sizes.end(), isLong),
                 1);
    }

    void wordsThatCannotBeRunAreNotMade()
    {
        Asked asked("gguf/llama_f32.gguf");
        SweepRequest many = request(std::int64_t{1} << 24, false);
        many.freeMemoryBytes = 1'000'000'000;
        const std::string reason = asked.sweep(many)->report().columns[0].skipReason;
        QVERIFY2(reason.starts_with("with two words a token needs "), reason.c_str());
        QVERIFY(*std::max_element(asked.tokenizer.sizes.begin(), asked.tokenizer.sizes.end()) <
                2000);
        ++many.lengths.front();
        try {
            makeSweepTask(many);
            QFAIL("no memory holds a file of what was asked for");
        } catch (const ArgumentError& error) {
            QVERIFY2(std::string(error.what()).find("from 1 to 16,777,216 words") !=
                         std::string::npos,
                     error.what());
        }
    }

    void planningCanBeStopped()
    {
        Asked asked("gguf/llama_f32.gguf");
        std::stop_source source;
        asked.tokenizer.encoding = [&] {
            if (asked.tokenizer.sizes.size() == 30)
                source.request_stop();
        };
        SweepRequest many = request(64, false);
        many.numItems = 50;
        QVERIFY_EXCEPTION_THROWN(asked.sweep(many, source.get_token()), Stopped);
        // A prompt's answer is encoded in a few pieces without looking.
        QVERIFY(asked.tokenizer.sizes.size() < 30 + 5);
    }

    void timeLeftCountsOnWhatIsReused_data()
    {
        QTest::addColumn<QString>("model");
        QTest::addColumn<int>("chunk");
        QTest::addColumn<int>("reused"); // of a prompt of 252 tokens, at depth 100
        QTest::newRow("one shot") << "gguf/llama_f32.gguf" << 0 << 0;
        QTest::newRow("chunks") << "gguf/llama_f32.gguf" << 32 << 224;
        QTest::newRow("a chunk longer than the prompt") << "gguf/llama_f32.gguf" << 512 << 0;
        QTest::newRow("rings that are copied") << "gptosslite/tiny_a" << 32 << 224;
        QTest::newRow("rings in one shot") << "gptosslite/tiny_a" << 0 << 0;
    }
    void timeLeftCountsOnWhatIsReused()
    {
        QFETCH(QString, model);
        QFETCH(int, chunk);
        QFETCH(int, reused);
        Asked asked(model.toUtf8());
        SweepRequest keys = request(260, false, PasskeyProtocol::Ours);
        keys.depths = {100.0};
        keys.answerRoom = 8;
        keys.chunkTokens = chunk;
        keys.secondsPerFlop = 1e-9;
        const auto flops = [&](std::int64_t tokens) {
            return tokens == 0 ? 0.0 : prefillFlops(asked.decoder.config(), tokens).total();
        };
        // Five of each: alone (in 64 tokens, as long as nothing is known), controls, asked.
        const double wanted = 1e-9 * (5 * flops(64) + 10 * (flops(260) - flops(reused)));
        const double left = asked.sweep(keys)->report().progress.secondsLeft;
        QVERIFY2(std::abs(left / wanted - 1.0) < 0.02,
                 qPrintable(QStringLiteral("%1 s, not %2").arg(left).arg(wanted)));
    }

    void whatCannotBeIsRefused()
    {
        QVERIFY_EXCEPTION_THROWN(passkeys(42, 64, 100'001), ArgumentError);
        QVERIFY_EXCEPTION_THROWN(passkeys(42, 64, 0), ArgumentError);
        QVERIFY_EXCEPTION_THROWN(passkeys(std::uint64_t{1} << 63, 64, 5), ArgumentError);
        SweepRequest further = request(64, false);
        further.maxTrials = 10;
        QVERIFY_EXCEPTION_THROWN(makePasskeyTask(further), ArgumentError);
    }

private:
    static constexpr std::array<std::uint32_t, 3> kLargeSeedDraws{943978446, 261273136, 2359950418};
};

QTEST_GUILESS_MAIN(TestPasskey)
#include "tst_passkey.moc"
