#pragma once

#include "engine/session/session_event.h"

#include <QObject>

#include <memory>

class QWidget;

namespace kvscope {

class ChatPanel;
class GlobalLayersPanel;
class LayerTable;
class LossPlot;
class MemoryPlot;
class PlotView;
class RingsPanel;
class StatusStrip;
class TokenHistory;
class TokenPanel;
class TokenSelectionModel;

/// The views of a live model with the token selection and history they share: what arrives from the
/// engine goes to each of them. Knows nothing of docks, menus or the session.
class LivePanels : public QObject
{
    Q_OBJECT
public:
    /// Makes the widgets without a parent; the window that shows them adopts them.
    explicit LivePanels(QObject* parent = nullptr);

    ChatPanel* chat = nullptr;
    RingsPanel* rings = nullptr;
    GlobalLayersPanel* globalLayers = nullptr;
    MemoryPlot* memory = nullptr;
    LossPlot* loss = nullptr;
    LayerTable* layerTable = nullptr;
    TokenPanel* token = nullptr;
    StatusStrip* status = nullptr;
    TokenSelectionModel* selection = nullptr;
    TokenHistory* history = nullptr;
    PlotView* positions = nullptr; ///< the stretch of positions that the plots show

    const ModelDescription& model() const { return m_model; }

    void showModel(const ModelDescription& model);
    void showSnapshot(const std::shared_ptr<const EngineSnapshot>& snapshot);
    void showGenerationStarted(const GenerationStarted& event);
    void showPromptScored(const PromptScored& event);
    void showToken(const TokenGenerated& event);
    /// A new chat: no tokens are left.
    void clearTokens();

private:
    void connectHistory();

    ModelDescription m_model;
    bool m_hasModel = false;
};

} // namespace kvscope
