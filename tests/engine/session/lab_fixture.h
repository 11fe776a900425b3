#pragma once

#include "engine/session/session.h"
#include "tests/support/golden_json.h"
#include "tests/support/lab_log.h"
#include "tests/support/models.h"

#include <QTemporaryDir>
#include <QtTest>

#include <fstream>
#include <memory>
#include <string>
#include <vector>

namespace kvscope {

inline constexpr std::int64_t kTokens = 160;
inline constexpr std::int64_t kChunk = 16;

/// The tiny llama with a tokenizer of bytes and a few merges, so that it reads texts and chats.
inline OpenRequest readingModel()
{
    OpenRequest request;
    request.path = goldenPath("hf/llama");
    request.tokenizerFile = goldenPath("tokenizers/json/contiguous.json");
    return request;
}

inline ChatRequest question()
{
    ChatRequest request;
    request.messages = {{ChatRole::User, "Where is the key?"}};
    request.sampling.temperature = 0.0;
    request.sampling.maxNewTokens = 4;
    return request;
}

inline QString text(const std::string& one)
{
    return QString::fromStdString(one);
}

/// A session with a log and a folder of texts, made anew for each test.
class LabFixture : public QObject
{
protected:
    std::unique_ptr<QTemporaryDir> m_folder;
    std::unique_ptr<LabLog> m_log;
    std::unique_ptr<Session> m_session;

    std::string file(const char* name) const { return m_folder->filePath(name).toStdString(); }
    std::string prose() const { return file("prose.txt"); }

    ExperimentRequest positions(std::vector<std::string> rotaries = {},
                                std::int64_t chunk = kChunk) const
    {
        PositionsExperiment experiment;
        experiment.text = {prose(), kTokens};
        experiment.chunkTokens = chunk;
        experiment.rotaries = std::move(rotaries);
        return {experiment, {}, true, 0};
    }

    void open(const OpenRequest& request = readingModel())
    {
        m_session->open(request);
        QVERIFY(m_log->waitFor<ModelOpened>().has_value());
    }
    std::shared_ptr<const PositionsReport> positionsReportOf(const ExperimentRequest& request)
    {
        m_session->runExperiment(request);
        const auto finished = m_log->waitFor<ExperimentFinished>();
        return finished ? std::get<std::shared_ptr<const PositionsReport>>(finished->report)
                        : nullptr;
    }
    QString failureOf(const ExperimentRequest& request)
    {
        m_session->runExperiment(request);
        const auto failed = m_log->waitFor<ExperimentFailed>();
        return failed ? text(failed->message) : QString();
    }

    void setUp()
    {
        m_folder = std::make_unique<QTemporaryDir>();
        std::ofstream out(prose());
        for (int i = 0; i < 60; ++i)
            out << "The ferry left the quay at " << i << " and nobody saw where it went. ";
        out.close();
        m_log = std::make_unique<LabLog>();
        m_session = std::make_unique<Session>(m_log->callbacks());
    }
    void tearDown()
    {
        m_session.reset();
        m_log.reset();
    }
};

} // namespace kvscope
