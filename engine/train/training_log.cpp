#include "engine/train/training_log.h"

#include "engine/base/errors.h"
#include "engine/train/training_log_reading.h"
#include "engine/train/whole_file.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <string>
#include <utility>

namespace kvscope {
namespace {

/// Whole lines of steps before `nextStep`, ascending; a damaged one is left out.
std::string keptLines(const std::filesystem::path& file, std::int64_t nextStep)
{
    std::string kept = std::string(kTrainingLogHeader) + '\n';
    std::ifstream stream(file);
    std::string line;
    std::getline(stream, line);
    const auto columns = std::count(kept.begin(), kept.end(), ',');
    for (std::int64_t last = -1; std::getline(stream, line);) {
        std::int64_t step = -1;
        std::from_chars(line.data(), line.data() + line.size(), step);
        if (step <= last || step >= nextStep ||
            std::count(line.begin(), line.end(), ',') != columns)
            continue;
        kept += line + '\n';
        last = step;
    }
    return kept;
}

std::string fixed(double value, const char* format)
{
    char text[64];
    std::snprintf(text, sizeof text, format, value);
    return text;
}

} // namespace

TrainingLog::TrainingLog(std::filesystem::path file, std::int64_t nextStep)
    : m_file(std::move(file))
{
    writeWholeFile(m_file, keptLines(m_file, nextStep));
    m_stream.open(m_file, std::ios::app);
}

void TrainingLog::append(const TrainingStep& step, const std::string& phase, double seconds)
{
    m_stream << step.step << ',' << phase << ',' << step.length << ',' << step.numTokens << ','
             << fixed(step.learningRate, "%.6g") << ',' << fixed(step.loss, "%.9g") << ','
             << fixed(step.answerLoss, "%.9g") << ',' << fixed(step.textLoss, "%.9g") << ','
             << fixed(step.balance, "%.6g") << ',' << fixed(step.gradientNorm, "%.6g") << ','
             << step.numAnswers << ',' << step.numRight << ',' << fixed(seconds, "%.3f")
             << std::endl;
    if (!m_stream)
        throw EngineError(m_file.string() + ": cannot be written");
}

} // namespace kvscope
