#include "engine/base/errors.h"
#include "engine/lab/memory_costs.h"
#include "engine/lab/presets.h"

#include <QtTest>

#include <string>

using namespace kvscope;

class TestPresets : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    // Source of the totals: each model's published weights (safetensors headers); FACTS of the
    // chapters for GPT-OSS-Lite.
    void parametersAreThePublishedOnes_data()
    {
        QTest::addColumn<qint64>("total");
        QTest::newRow("GPT-2") << qint64{124439808};
        QTest::newRow("TinyLlama-1.1B") << qint64{1100048384};
        QTest::newRow("Phi-3-mini-4k") << qint64{3821079552};
        QTest::newRow("Gemma-2-2B") << qint64{2614341888};
        QTest::newRow("Mistral-7B-v0.3") << qint64{7248023552};
        QTest::newRow("Llama-3.2-1B") << qint64{1235814400};
        QTest::newRow("Llama-3.2-3B") << qint64{3212749824};
        QTest::newRow("Llama-3.1-8B") << qint64{8030261248};
        QTest::newRow("GPT-OSS-Lite") << qint64{501836640};
    }
    void parametersAreThePublishedOnes()
    {
        QFETCH(qint64, total);
        QCOMPARE(qint64{presetConfig(QTest::currentDataTag()).totalParameters()}, total);
    }

    void activeParametersLeaveUnvisitedExpertsOut()
    {
        QCOMPARE(presetConfig("GPT-OSS-Lite").activeParameters(), std::int64_t{247032672});
        const ModelConfig dense = presetConfig("Gemma-2-2B");
        QCOMPARE(dense.activeParameters(), dense.totalParameters());
    }

    // The chapter's first table: one sequence at the advertised length, fp16, every layer at full
    // length (it says so of Gemma; Phi-3's window it does not mention).
    void fullLengthCachesAreTheChapters_data()
    {
        QTest::addColumn<qint64>("positions");
        QTest::addColumn<QString>("gib");
        QTest::newRow("GPT-2") << qint64{1024} << "0.04";
        QTest::newRow("TinyLlama-1.1B") << qint64{2048} << "0.04";
        QTest::newRow("Phi-3-mini-4k") << qint64{4096} << "1.50";
        QTest::newRow("Gemma-2-2B") << qint64{8192} << "0.81";
        QTest::newRow("Mistral-7B-v0.3") << qint64{32768} << "4.00";
        QTest::newRow("Llama-3.2-1B") << qint64{131072} << "4.00";
        QTest::newRow("Llama-3.2-3B") << qint64{131072} << "14.00";
        QTest::newRow("Llama-3.1-8B") << qint64{131072} << "16.00";
        QTest::newRow("GPT-OSS-Lite") << qint64{131072} << "2.25";
    }
    void fullLengthCachesAreTheChapters()
    {
        QFETCH(qint64, positions);
        QFETCH(QString, gib);
        const ModelConfig config = presetConfig(QTest::currentDataTag());
        QCOMPARE(qint64{config.extendedPositions}, positions);
        const KVBytes bytes = kvBytes(config, positions, 2);
        QCOMPARE(QString::number(static_cast<double>(bytes.everyLayerFull) / (1 << 30), 'f', 2),
                 gib);
    }

    void shapesPassTheChecksOfAFile()
    {
        for (const std::string_view name : presetNames())
            validate(presetConfig(name), name); // throws otherwise
        QCOMPARE(presetNames().size(), std::size_t{9});
    }

    void windowsFollowEachFamilysPattern()
    {
        const ModelConfig gemma = presetConfig("Gemma-2-2B");
        QCOMPARE(gemma.layers[0].window, std::int64_t{4096});
        QVERIFY(gemma.layers[1].kind == LayerKind::Global);
        QCOMPARE(presetConfig("Phi-3-mini-4k").numLayers(LayerKind::Windowed), std::int64_t{32});
        const ModelConfig lite = presetConfig("GPT-OSS-Lite");
        QCOMPARE(lite.layers[10].window, std::int64_t{128});
        QCOMPARE(lite.layers[11].identityPairs, std::int64_t{24});
        QCOMPARE(presetConfig("Mistral-7B-v0.3").numLayers(LayerKind::Windowed), std::int64_t{0});
    }

    void caseOfANameDoesNotMatter()
    {
        QCOMPARE(presetConfig("llama-3.2-1b").name, std::string("Llama-3.2-1B"));
        QCOMPARE(presetConfig("GPT-OSS-LITE").name, std::string("GPT-OSS-Lite"));
    }

    void unknownNameListsWhatThereIs_data()
    {
        QTest::addColumn<QString>("name");
        QTest::newRow("another model") << "Llama-4";
        QTest::newRow("a part of a name") << "Llama-3.2";
        QTest::newRow("a name and more") << "GPT-2x";
        QTest::newRow("nothing") << "";
        QTest::newRow("a megabyte") << QString(1 << 20, 'x');
    }
    void unknownNameListsWhatThereIs()
    {
        QFETCH(QString, name);
        try {
            presetConfig(name.toStdString());
            QFAIL("no error");
        } catch (const ArgumentError& error) {
            const std::string message = error.what();
            QVERIFY(message.size() < 400);
            for (const std::string_view known : presetNames())
                QVERIFY(message.find(known) != std::string::npos);
        }
    }
};

QTEST_GUILESS_MAIN(TestPresets)
#include "tst_presets.moc"
