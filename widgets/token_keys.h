#pragma once

class QKeyEvent;

namespace kvscope {

class TokenSelectionModel;

/// The keys that mean the same in every view of tokens: left and right (with Shift: extend the
/// range), Home and End, F for following the head. \return whether the key was one of them; the
/// event is then accepted.
bool handleTokenKey(QKeyEvent& event, TokenSelectionModel& selection);

} // namespace kvscope
