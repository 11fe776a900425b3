#pragma once

#include "engine/session/session.h"

#include <QObject>
#include <QTimer>

#include <memory>

namespace kvscope {

/// The one place where the engine meets Qt: owns the session, turns its events into queued signals,
/// in order and none lost, and hands over the newest snapshot at most 60 times a second.
class EngineBridge : public QObject
{
    Q_OBJECT
public:
    explicit EngineBridge(QObject* parent = nullptr);
    ~EngineBridge() override;

    /// For commands; every call returns at once.
    Session& session() { return *m_session; }

Q_SIGNALS:
    void openingProgress(const kvscope::OpeningProgress& event);
    void modelOpened(const kvscope::ModelOpened& event);
    void openingCancelled(const kvscope::OpeningCancelled& event);
    void commandFailed(const kvscope::CommandFailed& event);
    void notice(const kvscope::Notice& event);
    void generationStarted(const kvscope::GenerationStarted& event);
    void promptScored(const kvscope::PromptScored& event);
    void tokenGenerated(const kvscope::TokenGenerated& event);
    void generationFinished(const kvscope::GenerationFinished& event);
    void contextFullAsked(const kvscope::ContextFullAsked& event);
    void labEvent(const kvscope::LabEvent& event);
    void snapshotArrived(std::shared_ptr<const kvscope::EngineSnapshot> snapshot);

private:
    void dispatch(const SessionEvent& event);
    void takeSnapshot();

    QTimer m_frame;                     ///< runs from a snapshot's arrival to the next frame
    std::unique_ptr<Session> m_session; ///< last, so that it is gone before what it calls
};

} // namespace kvscope
