#pragma once

namespace kvscope {

/// Lets screen readers walk through a PaintedPanel as a table: its name, its one-line description,
/// and a cell for every number of its accessibleTable(). Installed once, by the first panel.
void installAccessiblePanels();

} // namespace kvscope
