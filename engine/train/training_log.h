#pragma once

#include "engine/train/trainer.h"

#include <filesystem>
#include <fstream>

namespace kvscope {

/// The steps of a training as CSV, a line each, that grows as they are done.
class TrainingLog
{
public:
    /// Goes on with the file; lines of steps from `nextStep` on, which a killed training did after
    /// it was last saved, are taken out. \throws EngineError where it cannot be read or written
    TrainingLog(std::filesystem::path file, std::int64_t nextStep);

    /// \throws EngineError for a full disk, or the like
    void append(const TrainingStep& step, const std::string& phase, double seconds);

private:
    std::filesystem::path m_file;
    std::ofstream m_stream;
};

} // namespace kvscope
