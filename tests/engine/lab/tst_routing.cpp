#include "engine/base/errors.h"
#include "engine/checkpoint/checkpoint.h"
#include "engine/lab/routing.h"
#include "engine/lab/routing_json.h"
#include "engine/model/ablation.h"
#include "engine/train/model_files.h"
#include "engine/train/training_forward.h"
#include "engine/train/training_shape.h"
#include "tests/support/golden_json.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/eye.h>
#include <ATen/ops/from_blob.h>
#include <c10/core/GradMode.h>

#include <QTemporaryDir>
#include <QtTest>

#include <cmath>

using namespace kvscope;

namespace {

constexpr std::int64_t kWindow = 8;

/// Heads as wide together as the model, so that the output projection may be the identity.
TrainingShape smallShape()
{
    TrainingShape shape;
    shape.vocabulary = 300;
    shape.width = 64;
    shape.headDim = 16;
    shape.layers = 2;
    shape.expertDim = 24;
    shape.window = kWindow;
    shape.trainedLength = 64;
    shape.yarnScale = 2.0;
    shape.yarnBetaFast = 16.0;
    return shape;
}

/// A model whose weights a test changes before it is written and opened.
class MadeModel
{
public:
    MadeModel()
        : config(modelConfig(smallShape()))
        , parameters(config, 0.1, 9)
    {
        at::Generator generator = at::detail::createCPUGenerator(4);
        for (const BlockParameters& block : parameters.blocks()) {
            weight(block.sink).normal_(0.0, 1.0, generator);
            // As finders begin, nearly all attention stays with the token itself.
            weight(block.query).normal_(0.0, 0.1, generator);
        }
    }

    at::Tensor weight(std::size_t index) const { return parameters[index].detach(); }
    std::shared_ptr<const Checkpoint> opened() const
    {
        writeCheckpoint(m_folder.path().toStdString(), config, parameters, {});
        return openCheckpoint(m_folder.path().toStdString());
    }

    ModelConfig config;
    TrainingParameters parameters;

private:
    QTemporaryDir m_folder;
};

std::unique_ptr<Decoder> decoderOf(std::shared_ptr<const Checkpoint> checkpoint)
{
    DecoderOptions options;
    options.computeType = ComputeType::Float32;
    return std::make_unique<Decoder>(std::move(checkpoint), options);
}

std::vector<TokenId> someIds(std::int64_t count)
{
    std::vector<TokenId> ids;
    for (std::int64_t i = 0; i < count; ++i)
        ids.push_back((i * i * 7 + 3 * i) % 300);
    return ids;
}

at::Tensor asTensor(std::vector<TokenId>& ids)
{
    return at::from_blob(ids.data(), {1, static_cast<std::int64_t>(ids.size())}, at::kLong);
}

/// What a layer's attention adds to the residual stream, by token, head and element [T, H, D].
at::Tensor attentionOutput(Decoder& decoder, std::int64_t layer, std::vector<TokenId> ids)
{
    at::Tensor before, after;
    ForwardHooks hooks;
    hooks.afterLayer = [&](std::int64_t index, const at::Tensor& residual) {
        if (index == layer - 1)
            before = residual.clone();
        if (index == layer)
            after = residual.clone();
    };
    ForwardOptions options;
    options.hooks = &hooks;
    decoder.forward(asTensor(ids), nullptr, options);
    return (after - before).view({static_cast<std::int64_t>(ids.size()), 4, 16});
}

} // namespace

class TestRouting : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    // Without queries every visible key scores 0, so the sink's share is e^s / (keys + e^s).
    void evenAttentionGivesTheSinkItsShare()
    {
        const c10::NoGradGuard noGradient;
        MadeModel model;
        for (const BlockParameters& block : model.parameters.blocks())
            model.weight(block.query).zero_();
        const auto decoder = decoderOf(model.opened());
        const RoutingReport report = measureRouting(*decoder, someIds(300));
        QCOMPARE(report.tokens, std::int64_t{300});
        for (const RoutingLayer& layer : report.layers) {
            QCOMPARE(layer.window, layer.layer == 0 ? kWindow : 0);
            const at::Tensor sinks =
                model.weight(model.parameters.blocks()[static_cast<std::size_t>(layer.layer)].sink);
            for (std::int64_t head = 0; head < 4; ++head) {
                const double mass = std::exp(sinks[head].item<double>());
                double expected = 0.0;
                for (std::int64_t position = 0; position < 300; ++position) {
                    const std::int64_t keys =
                        layer.window > 0 ? std::min(layer.window, position + 1) : position + 1;
                    expected += mass / (static_cast<double>(keys) + mass) / 300.0;
                }
                const double found = layer.sinkShares.at(static_cast<std::size_t>(head));
                QVERIFY2(std::abs(found - expected) < 1e-5,
                         qPrintable(QStringLiteral("%1 for %2").arg(found).arg(expected)));
            }
        }
    }

    // The decoder's own attention, with the sinks and without: what is lost went to the sink.
    void theShareIsWhatTheAttentionLoses_data()
    {
        QTest::addColumn<int>("layer");
        QTest::newRow("windowed") << 0;
        QTest::newRow("global, with unrotated pairs") << 1;
    }
    void theShareIsWhatTheAttentionLoses()
    {
        QFETCH(int, layer);
        const c10::NoGradGuard noGradient;
        MadeModel model;
        for (std::size_t i = 0; i < 2; ++i) {
            const BlockParameters& block = model.parameters.blocks()[i];
            model.weight(block.output).copy_(at::eye(64) * (static_cast<int>(i) == layer ? 1 : 0));
            for (const auto* group : {&block.experts, &block.shared})
                for (const ExpertParameters& expert : *group)
                    model.weight(expert.down).zero_();
        }
        const auto ids = someIds(70);
        const auto checkpoint = model.opened();
        const auto decoder = decoderOf(checkpoint);
        const auto without = decoderOf(withAblations(checkpoint, {-10.0, {}}));
        const at::Tensor some = attentionOutput(*decoder, layer, ids).norm(2, {-1});
        const at::Tensor all = attentionOutput(*without, layer, ids).norm(2, {-1});
        const at::Tensor expected = (1.0 - some / all).mean({0}); // [H]
        const auto found =
            measureRouting(*decoder, ids).layers[static_cast<std::size_t>(layer)].sinkShares;
        QCOMPARE(found.size(), std::size_t{4});
        for (std::int64_t head = 0; head < 4; ++head) {
            const double difference =
                std::abs(found[static_cast<std::size_t>(head)] - expected[head].item<double>());
            QVERIFY2(difference < 2e-3, qPrintable(QString::number(difference)));
            QVERIFY(found[static_cast<std::size_t>(head)] > 0.005);
        }
    }

    void visitsAreThoseOfTheTrainingForward()
    {
        const c10::NoGradGuard noGradient;
        const MadeModel model;
        std::vector<TokenId> ids = someIds(90);
        const auto decoder = decoderOf(model.opened());
        const RoutingReport report = measureRouting(*decoder, ids);
        QCOMPARE(report.numExperts, std::int64_t{4});
        QCOMPARE(report.activeExperts, std::int64_t{2});
        const at::Tensor load = TrainingForward(model.config)(model.parameters, asTensor(ids)).load;
        double least = 1.0;
        for (const RoutingLayer& layer : report.layers) {
            double sum = 0.0;
            for (std::int64_t e = 0; e < 4; ++e) {
                const double share = layer.expertShares.at(static_cast<std::size_t>(e));
                QVERIFY(std::abs(share - 2.0 * load[layer.layer][e].item<double>()) < 1e-6);
                sum += share;
                least = std::min(least, share);
            }
            QVERIFY(std::abs(sum - 2.0) < 1e-9);
        }
        QCOMPARE(report.leastExpertShare(), least);
    }

    void whatCannotBeMeasuredIsSaid()
    {
        const auto llama = decoderOf(openCheckpoint(goldenPath("hf/llama")));
        QVERIFY_EXCEPTION_THROWN(measureRouting(*llama, {1, 2, 3}), ArgumentError);
        const MadeModel model;
        const auto decoder = decoderOf(model.opened());
        QVERIFY_EXCEPTION_THROWN(measureRouting(*decoder, {}), ArgumentError);
        QVERIFY_EXCEPTION_THROWN(
            measureRouting(*decoder, std::vector<TokenId>(kMostRoutingTokens + 1, 1)),
            ArgumentError);
        std::stop_source stop;
        stop.request_stop();
        QVERIFY_EXCEPTION_THROWN(measureRouting(*decoder, {1, 2, 3}, stop.get_token()), Stopped);
    }

    void theJsonReadsBack()
    {
        const RoutingReport report = made();
        const RoutingReport read = routingFrom(RecordJson::parse(routingJson(report).dump()));
        QCOMPARE(routingJson(read).dump(), routingJson(report).dump());
        QCOMPARE(read.layers.at(1).window, std::int64_t{0});
        QCOMPARE(read.layers.at(0).window, std::int64_t{64});
        QCOMPARE(read.text, std::string("prose"));
    }

    void damagedJsonIsRefused_data()
    {
        QTest::addColumn<QString>("pointer");
        QTest::addColumn<QString>("value");
        QTest::newRow("another kind") << "/schema"
                                      << "\"kvscope-card\"";
        QTest::newRow("a later version") << "/version"
                                         << "2";
        QTest::newRow("no number of tokens") << "/tokens"
                                             << "\"many\"";
        QTest::newRow("a negative share") << "/layers/0/expert_shares/0"
                                          << "-0.1";
        QTest::newRow("a share above one") << "/layers/0/sink_shares/1"
                                           << "1.5";
        QTest::newRow("a layer that is none") << "/layers/1"
                                              << "3";
        QTest::newRow("no layers") << "/layers"
                                   << "[]";
        QTest::newRow("shares in a text") << "/layers/0/sink_shares"
                                          << "\"0.5\"";
    }
    void damagedJsonIsRefused()
    {
        QFETCH(QString, pointer);
        QFETCH(QString, value);
        RecordJson json = routingJson(made());
        json[RecordJson::json_pointer(pointer.toStdString())] =
            RecordJson::parse(value.toStdString());
        QVERIFY_EXCEPTION_THROWN(routingFrom(json), ArgumentError);
    }

private:
    static RoutingReport made()
    {
        RoutingReport report;
        report.tokens = 100;
        report.text = "prose";
        report.numExperts = 2;
        report.activeExperts = 1;
        report.layers = {{0, 64, {0.25, 0.75}, {0.5, 0.125}}, {1, 0, {0.5, 0.5}, {0.0, 1.0}}};
        return report;
    }
};

QTEST_GUILESS_MAIN(TestRouting)
#include "tst_routing.moc"
