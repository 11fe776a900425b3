#pragma once

#include <QObject>

#include <cstdint>
#include <optional>

namespace kvscope {

/// An inclusive range of positions, first <= last.
struct TokenRange
{
    std::int64_t first = 0;
    std::int64_t last = 0;

    std::int64_t count() const { return last - first + 1; }
    bool contains(std::int64_t position) const { return position >= first && position <= last; }
    bool operator==(const TokenRange&) const = default;
};

/// Which tokens the person looks at, by position. One value for the whole window.
struct TokenSelection
{
    std::optional<std::int64_t>
        hovered;                        ///< under the pointer in any view: ink outline, dashed line
    std::optional<std::int64_t> pinned; ///< clicked: magenta, solid line; the anchor of a range
    std::optional<std::int64_t> rangeEnd; ///< the other end of a range; only with `pinned`
    bool followsHead = true;              ///< the newest token is kept in view

    /// The range, ends in order; nothing while a single token or none is pinned.
    std::optional<TokenRange> range() const;
    bool operator==(const TokenSelection&) const = default;
};

/// The window's TokenSelection, shared by every view. Views read it while painting and repaint only
/// their overlay when it changes. GUI thread.
class TokenSelectionModel : public QObject
{
    Q_OBJECT
public:
    explicit TokenSelectionModel(QObject* parent = nullptr);

    const TokenSelection& selection() const { return m_selection; }

    /// Positions that exist; set by TokenHistory's owner. Pins past the end are dropped, moves stop
    /// there.
    std::int64_t tokenCount() const { return m_tokenCount; }
    void setTokenCount(std::int64_t count);

    void hover(std::int64_t position);
    void clearHover();
    /// Pins one token and ends a range. The view that pins by a click switches following off.
    void pin(std::int64_t position);
    /// Makes a range from the pinned token to `position`; pins it where nothing is pinned.
    void extendTo(std::int64_t position);
    /// The pinned token `delta` further, kept within the tokens; the newest where nothing is
    /// pinned.
    void moveBy(std::int64_t delta);
    /// The range's end `delta` further, kept within the tokens.
    void extendBy(std::int64_t delta);
    /// Unpins. Hover stays with the pointer.
    void clear();
    void setFollowsHead(bool follows);

Q_SIGNALS:
    /// After any change below; `before` tells what moved.
    void changed(const kvscope::TokenSelection& now, const kvscope::TokenSelection& before);
    void hoverChanged();
    void pinChanged(); ///< the pinned token or the range
    void followsHeadChanged(bool follows);

private:
    void set(const TokenSelection& selection);
    std::int64_t clamped(std::int64_t position) const;

    TokenSelection m_selection;
    std::int64_t m_tokenCount = 0;
};

} // namespace kvscope

Q_DECLARE_METATYPE(kvscope::TokenSelection)
