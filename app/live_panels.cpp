#include "app/live_panels.h"

#include "widgets/chat_panel.h"
#include "widgets/global_layers_panel.h"
#include "widgets/layer_table.h"
#include "widgets/loss_plot.h"
#include "widgets/memory_plot.h"
#include "widgets/plot_view.h"
#include "widgets/rings_panel.h"
#include "widgets/status_strip.h"
#include "widgets/token_history.h"
#include "widgets/token_panel.h"
#include "widgets/token_selection.h"

#include <QDate>

namespace kvscope {
namespace {

constexpr double kSmallestPositionFit = 64.0;

/// The recipe under exported pictures.
QString exportCaption(const ModelDescription& model)
{
    QString numbers = QString::fromStdString(model.compute);
    if (!model.rotaryOverride.empty())
        numbers +=
            QObject::tr(", rotation %1 (overridden)").arg(QString::fromStdString(model.rotary));
    return QObject::tr("%1, %2, %3, %4; kvscope %5, %6")
        .arg(QString::fromStdString(model.name), QString::fromStdString(model.format), numbers,
             QString::fromStdString(model.device), KVSCOPE_VERSION,
             QDate::currentDate().toString(Qt::ISODate));
}

} // namespace

LivePanels::LivePanels(QObject* parent)
    : QObject(parent)
    , chat(new ChatPanel)
    , rings(new RingsPanel)
    , globalLayers(new GlobalLayersPanel)
    , memory(new MemoryPlot)
    , loss(new LossPlot)
    , layerTable(new LayerTable)
    , token(new TokenPanel)
    , status(new StatusStrip)
    , selection(new TokenSelectionModel(this))
    , history(new TokenHistory(this))
    , positions(new PlotView(kSmallestPositionFit, this))
{
    chat->setSelectionModel(selection);
    chat->setHistory(history);
    rings->setSelection(selection);
    rings->setHistory(history);
    globalLayers->setSelection(selection);
    globalLayers->setHistory(history);
    memory->setPositionView(positions);
    memory->setSelection(selection);
    loss->setPositionView(positions);
    loss->setTokens(history);
    loss->setSelection(selection);
    token->setTokens(history);
    token->setSelection(selection);
    connectHistory();
}

void LivePanels::connectHistory()
{
    const auto count = [this] { selection->setTokenCount(history->size()); };
    connect(history, &TokenHistory::tokensAppended, this, count);
    connect(history, &TokenHistory::truncated, this, count);
}

void LivePanels::showModel(const ModelDescription& model)
{
    m_model = model;
    m_hasModel = true;
    clearTokens();
    chat->setModel(model);
    rings->setModel(model);
    globalLayers->setModel(model);
    memory->clear();
    memory->setModel(model);
    loss->setModel(model);
    layerTable->setModel(model);
    token->setModel(model);
    status->setModel(model);
    const QString caption = exportCaption(model);
    rings->setExportCaption(caption);
    globalLayers->setExportCaption(caption);
}

void LivePanels::showSnapshot(const std::shared_ptr<const EngineSnapshot>& snapshot)
{
    const bool isLab = snapshot->phase == Phase::Lab; // another cache than the chat's
    if (!isLab)
        chat->setSnapshot(snapshot);
    status->setSnapshot(snapshot);
    if (!m_hasModel || snapshot->phase == Phase::NoModel ||
        snapshot->cache.layers.size() != m_model.layers.size())
        return; // of a model that is not shown yet, or no longer
    rings->setSnapshot(snapshot->cache);
    globalLayers->setSnapshot(snapshot->cache);
    layerTable->setSnapshot(snapshot->cache);
    if (!isLab) {
        token->setCache(snapshot->cache);
        loss->setCache(snapshot->cache);
    }
    if (snapshot->phase != Phase::Opening && !isLab)
        memory->addSnapshot(*snapshot);
}

void LivePanels::showGenerationStarted(const GenerationStarted& event)
{
    if (!chat->accepts(event.generation))
        return; // of a chat that is no longer shown
    history->truncate(event.keptTokens);
    history->append(event.prompt);
    chat->generationStarted(event);
}

void LivePanels::showPromptScored(const PromptScored& event)
{
    if (!chat->accepts(event.generation))
        return;
    history->setNll(event.firstPosition, event.nll);
    chat->promptScored(event);
}

void LivePanels::showToken(const TokenGenerated& event)
{
    if (!chat->accepts(event.generation))
        return;
    history->append(event.token);
    chat->tokenGenerated(event);
}

void LivePanels::clearTokens()
{
    history->clear();
    selection->clear();
    selection->clearHover();
    selection->setFollowsHead(true);
    positions->fit();
}

} // namespace kvscope
