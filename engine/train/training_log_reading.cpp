#include "engine/train/training_log_reading.h"

#include "engine/base/errors.h"
#include "engine/base/mapped_file.h"
#include "engine/base/units.h"

#include <array>
#include <charconv>
#include <optional>
#include <string_view>
#include <utility>

namespace kvscope {
namespace {

constexpr std::size_t kColumns = 13;
constexpr std::size_t kMostPhases = 1024;
using Fields = std::array<std::string_view, kColumns>;

std::optional<Fields> fieldsOf(std::string_view line)
{
    Fields fields;
    for (std::size_t i = 0; i < kColumns; ++i) {
        const std::size_t length = line.find(',');
        if ((length == line.npos) != (i + 1 == kColumns))
            return std::nullopt;
        fields[i] = line.substr(0, length);
        line.remove_prefix(length == line.npos ? line.size() : length + 1);
    }
    return fields;
}

/// \returns whether all of the text is a number
template <typename Number>
bool parse(std::string_view text, Number& number)
{
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    return error == std::errc() && end == text.data() + text.size();
}

/// Of a loss or a time: a larger one is damage, and would have no axis to be drawn on.
bool parseAmount(std::string_view text, double& number)
{
    constexpr double kMost = 1e9;
    return parse(text, number) && number >= 0.0 && number <= kMost;
}

/// Nothing where a field is not what its column has. \param step  its phase is left to the caller
bool parseStep(const Fields& fields, TrainingReportStep& step)
{
    return parse(fields[0], step.step) && parse(fields[2], step.length) &&
           parseAmount(fields[6], step.answerLoss) && parseAmount(fields[7], step.textLoss) &&
           parseAmount(fields[8], step.balance) && parse(fields[10], step.numAnswers) &&
           parse(fields[11], step.numRight) && parseAmount(fields[12], step.seconds);
}

/// Adds steps to a report, line by line.
class Reader
{
public:
    explicit Reader(const std::filesystem::path& file)
        : m_file(file)
    {
    }

    void add(std::string_view line)
    {
        ++m_line;
        if (m_line == 1) {
            if (line != kTrainingLogHeader)
                fail("is not the first line of a training's loss.csv");
            return;
        }
        const auto fields = fieldsOf(line);
        TrainingReportStep step;
        if (!fields || !parseStep(*fields, step))
            fail("is no step of a training");
        const std::int64_t last = m_report.steps.empty() ? -1 : m_report.steps.back().step;
        if (step.step <= last)
            fail("does not come after the step before it");
        step.phase = phaseOf((*fields)[1]);
        m_report.steps.push_back(step);
    }

    TrainingReport take()
    {
        if (m_report.steps.empty())
            throw CheckpointError(m_file.string() + ": no step of a training is in it");
        return std::move(m_report);
    }

private:
    [[noreturn]] void fail(const char* why) const
    {
        throw CheckpointError(m_file.string() + ": line " + formatCount(m_line) + " " + why);
    }

    /// A phase has its steps in one piece.
    std::size_t phaseOf(std::string_view name)
    {
        std::vector<std::string>& phases = m_report.phases;
        if (phases.empty() || phases.back() != name) {
            if (phases.size() == kMostPhases)
                fail("begins one phase too many");
            phases.emplace_back(name);
        }
        return phases.size() - 1;
    }

    const std::filesystem::path& m_file;
    std::int64_t m_line = 0;
    TrainingReport m_report;
};

} // namespace

TrainingReport readTrainingLog(const std::filesystem::path& file)
{
    const MappedFile mapped(file);
    std::string_view text(reinterpret_cast<const char*>(mapped.bytes().data()),
                          mapped.bytes().size());
    Reader reader(file);
    for (std::size_t end = text.find('\n'); end != text.npos; end = text.find('\n')) {
        reader.add(text.substr(0, end));
        text.remove_prefix(end + 1);
    }
    return reader.take();
}

} // namespace kvscope
