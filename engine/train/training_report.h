#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace kvscope {

/// One step of a training as its loss.csv has it. Losses are in nats.
struct TrainingReportStep
{
    std::int64_t step = 0; ///< from 0
    std::size_t phase = 0; ///< index into TrainingReport::phases
    std::int64_t length = 0;
    double answerLoss = 0.0; ///< mean over the digits of answers
    double textLoss = 0.0;   ///< mean over all tokens
    double balance = 0.0;    ///< of the experts' load in each text; 1: even
    std::int64_t numAnswers = 0;
    std::int64_t numRight = 0;
    double seconds = 0.0;
};

/// How a training went, so far or to its end.
struct TrainingReport
{
    std::vector<std::string> phases;       ///< names, in their order
    std::vector<TrainingReportStep> steps; ///< ascending; not all need be there
};

} // namespace kvscope
