#include "widgets/token_keys.h"

#include "widgets/token_selection.h"

#include <QKeyEvent>

namespace kvscope {

bool handleTokenKey(QKeyEvent& event, TokenSelectionModel& selection)
{
    const Qt::KeyboardModifiers modifiers = event.modifiers() & ~Qt::KeypadModifier;
    if (modifiers != Qt::NoModifier && modifiers != Qt::ShiftModifier)
        return false;
    const bool extends = modifiers == Qt::ShiftModifier;
    switch (event.key()) {
    case Qt::Key_Left:
    case Qt::Key_Right: {
        const int step = event.key() == Qt::Key_Left ? -1 : 1;
        extends ? selection.extendBy(step) : selection.moveBy(step);
        break;
    }
    case Qt::Key_Home:
        extends ? selection.extendTo(0) : selection.pin(0);
        break;
    case Qt::Key_End:
        extends ? selection.extendTo(selection.tokenCount() - 1)
                : selection.pin(selection.tokenCount() - 1);
        break;
    case Qt::Key_F:
        if (extends)
            return false;
        selection.setFollowsHead(!selection.selection().followsHead);
        break;
    default:
        return false;
    }
    event.accept();
    return true;
}

} // namespace kvscope
