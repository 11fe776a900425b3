#include "app/panel_help.h"

#include <QCoreApplication>

#include <array>

namespace kvscope {
namespace {

struct Help
{
    const char* dock;
    const char* text;
};

constexpr std::array kHelp{
    Help{"chat", QT_TRANSLATE_NOOP("kvscope::Help",
                                   "The conversation, token by token. Enter sends, Shift+Enter "
                                   "breaks a line, Esc stops. A click on a word pins its token in "
                                   "every view; left and right go to its neighbours.")},
    Help{"rings", QT_TRANSLATE_NOOP("kvscope::Help",
                                    "The windowed layers' ring buffers: slot 0 at the top, "
                                    "clockwise, coloured by age. The head writes over the oldest "
                                    "slot. A click pins the token that a slot holds.")},
    Help{"globalLayers", QT_TRANSLATE_NOOP("kvscope::Help",
                                           "The growing arrays of the global layers: filled is "
                                           "live, hatched is allocated and unused, marks are where "
                                           "an array was copied to grow.")},
    Help{"memory", QT_TRANSLATE_NOOP("kvscope::Help",
                                     "Memory by purpose. Areas are arithmetic, the line is the "
                                     "process as measured; what lies between is Unaccounted. The "
                                     "wheel zooms, Shift and the wheel pan, 0 fits, F follows.")},
    Help{"loss", QT_TRANSLATE_NOOP("kvscope::Help",
                                   "The loss of every token in nats, given all before it, and the "
                                   "mean of 64. The wheel zooms, Shift and the wheel pan, 0 fits, "
                                   "F follows.")},
    Help{"layers", QT_TRANSLATE_NOOP("kvscope::Help",
                                     "A row a layer: its kind, window, positions held and bytes.")},
    Help{"token", QT_TRANSLATE_NOOP("kvscope::Help",
                                    "Everything known of the pinned token, else the newest one, "
                                    "and which layers can still reach it. Esc unpins.")},
    Help{"experiment", QT_TRANSLATE_NOOP("kvscope::Help",
                                         "Choose an experiment, see what it would run and what "
                                         "cannot fit, then start it. Space pauses and resumes; a "
                                         "message to the model pauses it too, behind the part that "
                                         "runs. Losses and sweeps that are recorded are gone on "
                                         "with after an end.")},
    Help{"result",
         QT_TRANSLATE_NOOP("kvscope::Help",
                           "What the chosen experiment found. In a map of needles, arrows "
                           "move over the cells and Enter opens their trials; ▲ is "
                           "wholly above the line, ▼ below, ? undecided. Intervals are "
                           "Wilson's, 95 %; after further trials they are slightly "
                           "optimistic.")},
    Help{"trials",
         QT_TRANSLATE_NOOP("kvscope::Help",
                           "The trials of the cell that is open: what was asked for, what "
                           "was answered, and the loss of the right answer.")},
    Help{"prompt", QT_TRANSLATE_NOOP("kvscope::Help",
                                     "The chosen trial's exact prompt, made again from its seed, "
                                     "with what was asked for marked, the answer, and the loss of "
                                     "the right answer's tokens.")},
    Help{"running",
         QT_TRANSLATE_NOOP("kvscope::Help",
                           "The part of the experiment that runs now: how much of its prompt is in "
                           "the cache, about where the answer lies in it, where the trained "
                           "positions end, and how many tokens a second were read up to each "
                           "position. Hatched is allocated and not used yet.")}};

} // namespace

QString panelHelp(const QString& dock)
{
    for (const Help& help : kHelp)
        if (dock == QLatin1String(help.dock))
            return QCoreApplication::translate("kvscope::Help", help.text);
    return {};
}

} // namespace kvscope
