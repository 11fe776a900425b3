#pragma once

#include "engine/train/training_report.h"

#include <filesystem>

namespace kvscope {

/// The first line of loss.csv, without its end.
inline constexpr const char* kTrainingLogHeader =
    "step,phase,length,tokens,learning_rate,loss,answer_loss,text_loss,balance,gradient_norm,"
    "answers,answers_right,seconds";

/// Reads a training's loss.csv. An unfinished last line, of a training at work, is left out.
/// \throws CheckpointError naming the file and the line that is no step, a file without any, or one
/// of more than 1,024 phases
TrainingReport readTrainingLog(const std::filesystem::path& file);

} // namespace kvscope
