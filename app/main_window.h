#pragma once

#include "app/engine_bridge.h"
#include "app/window_settings.h"
#include "widgets/lab_experiment_list.h"
#include "widgets/open_dialog.h"

#include <QMainWindow>

#include <functional>
#include <vector>

class QAction;
class QActionGroup;
class QDockWidget;
class QLabel;
class QMenu;

namespace kvscope {

class DroppedTextReader;
class LabPage;
class LivePanels;
class PreviewReader;

/// How models are opened from the window; from the command line of kvscope.
struct WindowOptions
{
    QString device = "cpu";
    QString dtype = "auto";
    QString smolLm2Path; ///< the installed model that one click opens; empty: none
};

/// A saved arrangement of the docks.
enum class Workspace { Live, Lab };

/// The window: docks around the live panels, menus, and the wiring between panels and engine. It
/// computes nothing and never waits for the engine.
class MainWindow : public QMainWindow
{
    Q_OBJECT
public:
    explicit MainWindow(const WindowOptions& options, QWidget* parent = nullptr);
    ~MainWindow() override;

    /// Opens a checkpoint with the usual choices; the one that is open stays until the new one is
    /// whole.
    void openModel(const QString& path);
    void openModelAs(const QString& path, const OpenChoice& choice);
    /// Opens a model at once (with Shift: shows it in the Open dialog), or attaches a text file to
    /// the message.
    void openDropped(const QString& path, Qt::KeyboardModifiers modifiers = Qt::NoModifier);
    /// Shows what a model is and costs, with the choices for opening it. \param path  may be empty
    void showOpenDialog(const QString& path);

    EngineBridge& engine() { return *m_engine; }
    LivePanels& panels() { return *m_panels; }
    LabPage& lab() { return *m_lab; }
    OpenDialog& openDialog(); ///< made when first asked for
    /// The action of that name, as the menus show it without "&" and "…"; null where there is none.
    QAction* action(const QString& name) const;
    Workspace workspace() const { return m_workspace; }

public Q_SLOTS:
    /// Shows the docks of a workspace as they were left.
    void showWorkspace(kvscope::Workspace workspace);
    void askForModel();
    void askForFolder();
    void showFileDoctor(); ///< the checks made of the open model
    void resetLayout();
    /// Opens the lab and starts the small passkey sweep on the open model.
    void startPasskeySweep();

protected:
    void closeEvent(QCloseEvent* event) override;
    void dragEnterEvent(QDragEnterEvent* event) override;
    void dropEvent(QDropEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;

private:
    // main_window_docks.cpp
    void buildDocks();
    QDockWidget* addDock(QWidget* panel, const QString& title, const QString& name);
    std::vector<QDockWidget*> liveDocks() const;
    std::vector<QDockWidget*> labDocks() const;
    void takeDocksOut();
    void arrangeDocks(); ///< of the workspace shown
    void arrangeLive();
    void arrangeLab();
    void raiseFor(LabKind kind); ///< trials and prompt of a sweep, else the cache
    void raiseRunning(bool isRunning);
    void restoreLayout();
    void saveLayout();
    // main_window_actions.cpp
    void buildActions();
    void buildFileMenu();
    void buildChatMenu();
    void buildViewMenu();
    void buildWorkspaces(QMenu* menu);
    void buildLabMenu();
    void buildHelpMenu();
    void buildToolBar();
    QAction* addTo(QMenu* menu, const QString& text, const QKeySequence& keys,
                   const std::function<void()>& act);
    void fillRecentMenu();
    void chooseTheme(ThemeChoice choice);
    void showAbout();
    void updateActions();
    void askForText();
    // main_window_panels.cpp
    QDockWidget* focusedDock() const; ///< null where no panel has the focus
    void exportFocused();
    void showPanelHelp();
    // main_window_start.cpp
    void connectStart();
    void updateStart();
    QString passkeyRefusal() const; ///< a short phrase; empty: it can be started
    // main_window_open.cpp
    OpenChoice usualChoice() const;
    QString currentPath() const;
    void openRecent(const QString& path);
    // main_window.cpp
    void connectEngine();
    void connectChat();
    void connectLab();
    void startGeneration(const std::vector<ChatMessage>& messages, const ChatSettings& settings);
    void showOpened(const ModelDescription& model);
    void escape();
    void stopWhatRuns(); ///< the answer, else the experiment

    /// Raised when docks are added or renamed: an older layout is then not restored.
    static constexpr int kLayoutVersion = 3;

    WindowOptions m_options;
    WindowSettings m_settings;
    EngineBridge* m_engine;
    LivePanels* m_panels;
    LabPage* m_lab;
    DroppedTextReader* m_textReader;
    PreviewReader* m_previewReader;
    OpenDialog* m_openDialog = nullptr;

    struct Docks
    {
        QDockWidget* chat = nullptr;
        QDockWidget* rings = nullptr;
        QDockWidget* globalLayers = nullptr;
        QDockWidget* memory = nullptr;
        QDockWidget* loss = nullptr;
        QDockWidget* layers = nullptr;
        QDockWidget* token = nullptr;
        QDockWidget* experiment = nullptr;
        QDockWidget* result = nullptr;
        QDockWidget* trials = nullptr;
        QDockWidget* prompt = nullptr;
        QDockWidget* running = nullptr;
    } m_docks;
    Workspace m_workspace = Workspace::Live;

    std::vector<QAction*> m_actions;
    QAction* m_stop = nullptr;
    QAction* m_newChat = nullptr;
    QAction* m_again = nullptr;
    QAction* m_followHead = nullptr;
    QActionGroup* m_workspaces = nullptr;
    QAction* m_start = nullptr;
    QAction* m_pause = nullptr;
    QAction* m_cancel = nullptr;
    QAction* m_passkeySweep = nullptr;
    QAction* m_openDemo = nullptr;
    QLabel* m_recording = nullptr; ///< in the status bar, while a record is written
    QMenu* m_recent = nullptr;
    QString m_opening; ///< path being opened
};

} // namespace kvscope
