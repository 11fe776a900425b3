#pragma once

#include "engine/cache/cache_snapshot.h"
#include "engine/session/engine_snapshot.h"
#include "widgets/token_panel_reach.h"

#include <QPointer>
#include <QString>
#include <QTimer>
#include <QWidget>

#include <cstdint>
#include <optional>

class QTableView;

namespace kvscope {

class TokenHistory;
class TokenReachModel;
class TokenSelectionModel;
struct Theme;
struct TokenRecord;

/// One token in full: what it is, how surprising it was, and which layers can still attend to it.
/// Shows the pinned token, else the hovered one, else the newest. GUI thread.
class TokenPanel : public QWidget
{
    Q_OBJECT
public:
    explicit TokenPanel(QWidget* parent = nullptr);

    void setTokens(TokenHistory* tokens);
    void setSelection(TokenSelectionModel* selection);
    void setModel(const ModelDescription& model);
    /// Shown at most four times a second; a change of the selection shows at once.
    void setCache(const CacheSnapshot& cache);

    /// The token shown; nothing while there is none.
    std::optional<std::int64_t> position() const { return m_position; }
    const TokenReach& reach() const { return m_reach; }
    QString verdict() const;       ///< "Only global layers still reach it"
    QString verdictDetail() const; ///< "6 of 12 layers hold it, 6.0 KiB in all"

    QSize sizeHint() const override { return {262, 440}; }
    QSize minimumSizeHint() const override { return {230, 200}; }

protected:
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void changeEvent(QEvent* event) override;

private:
    enum class Why { Pinned, Hovered, Newest };
    struct Fact
    {
        QString name;
        QString value;
        QString aside; ///< in grey after the value
    };

    void refresh();
    void refreshSoon();
    /// The running text of some positions, in one line.
    QString textOf(std::int64_t first, std::int64_t last) const;
    std::vector<Fact> facts() const;
    int tableTop() const;
    void paintHeading(QPainter& painter, const Theme& theme, const TokenRecord& token) const;
    void paintSentence(QPainter& painter, const Theme& theme, const QRect& line) const;
    void paintFacts(QPainter& painter, const Theme& theme) const;
    void paintVerdict(QPainter& painter, const Theme& theme) const;

    QPointer<TokenHistory> m_tokens; ///< null once it is gone, as on closing the window
    QPointer<TokenSelectionModel> m_selection;
    ModelDescription m_model;
    CacheSnapshot m_cache;
    TokenReach m_reach;
    std::optional<std::int64_t> m_position;
    Why m_why = Why::Newest;
    TokenReachModel* m_table;
    QTableView* m_view;
    QTimer m_timer;
};

} // namespace kvscope
