#include "app/engine_bridge.h"

#include <QMetaObject>

#include <utility>

namespace kvscope {
namespace {

constexpr int kFrameMilliseconds = 16;

template <typename... Visitors>
struct Overloaded : Visitors...
{
    using Visitors::operator()...;
};
template <typename... Visitors>
Overloaded(Visitors...) -> Overloaded<Visitors...>;

} // namespace

EngineBridge::EngineBridge(QObject* parent)
    : QObject(parent)
{
    m_frame.setSingleShot(true);
    m_frame.setInterval(kFrameMilliseconds);
    m_frame.setTimerType(Qt::PreciseTimer);
    connect(&m_frame, &QTimer::timeout, this, &EngineBridge::takeSnapshot);

    Session::Callbacks callbacks;
    callbacks.event = [this](SessionEvent event) {
        QMetaObject::invokeMethod(
            this, [this, event = std::move(event)] { dispatch(event); }, Qt::QueuedConnection);
    };
    callbacks.snapshotReady = [this] {
        QMetaObject::invokeMethod(
            this,
            [this] {
                if (!m_frame.isActive())
                    m_frame.start();
            },
            Qt::QueuedConnection);
    };
    m_session = std::make_unique<Session>(std::move(callbacks));
}

EngineBridge::~EngineBridge() = default;

void EngineBridge::dispatch(const SessionEvent& event)
{
    std::visit(Overloaded{[this](const OpeningProgress& one) { Q_EMIT openingProgress(one); },
                          [this](const ModelOpened& one) { Q_EMIT modelOpened(one); },
                          [this](const OpeningCancelled& one) { Q_EMIT openingCancelled(one); },
                          [this](const CommandFailed& one) { Q_EMIT commandFailed(one); },
                          [this](const Notice& one) { Q_EMIT notice(one); },
                          [this](const GenerationStarted& one) { Q_EMIT generationStarted(one); },
                          [this](const PromptScored& one) { Q_EMIT promptScored(one); },
                          [this](const TokenGenerated& one) { Q_EMIT tokenGenerated(one); },
                          [this](const GenerationFinished& one) { Q_EMIT generationFinished(one); },
                          [this](const ContextFullAsked& one) { Q_EMIT contextFullAsked(one); },
                          [this](const LabEvent& one) { Q_EMIT labEvent(one); }},
               event);
}

void EngineBridge::takeSnapshot()
{
    Q_EMIT snapshotArrived(m_session->takeSnapshot());
}

} // namespace kvscope
