#include "engine/lab/sweep_task.h"

#include "engine/base/errors.h"
#include "engine/base/resource_folder.h"
#include "engine/base/units.h"
#include "engine/base/utf8.h"
#include "engine/lab/needle_task.h"
#include "engine/lab/passkey_task.h"

#include <filesystem>
#include <fstream>
#include <sstream>

namespace kvscope {
namespace {

constexpr std::int64_t kMostTokens = std::int64_t{1} << 40;
/// Where a length is in words, its text is made and encoded to know its tokens: 16,777,216 words
/// are 80 MB of text, and longer than any model's context.
constexpr std::int64_t kMostWords = std::int64_t{1} << 24;
constexpr std::uintmax_t kMostTextBytes = std::uintmax_t{1} << 30;

[[noreturn]] void refuse(const std::string& what)
{
    throw ArgumentError(what);
}

void requirePossible(const SweepRequest& request)
{
    if (request.lengths.empty())
        refuse("no length is asked for");
    for (const std::int64_t length : request.lengths)
        if (length < 1 || length > kMostTokens)
            refuse("a length is from 1 to 2^40 tokens, " + formatCount(length) + " was asked for");
    const bool countsWords = request.experiment == SweepExperiment::Passkey &&
                             request.protocol == PasskeyProtocol::Reference;
    for (const std::int64_t length : request.lengths)
        if (countsWords && length > kMostWords)
            refuse("the reference protocol's lengths are from 1 to " + formatCount(kMostWords) +
                   " words, " + formatCount(length) + " were asked for");
    if (request.depths.empty())
        refuse("no depth is asked for");
    for (const double depth : request.depths)
        if (!(depth >= 0.0 && depth <= 100.0))
            refuse("a depth is from 0 to 100 per cent, " + std::to_string(depth) +
                   " was asked for");
    if (request.numItems < 1)
        refuse("a cell needs a trial or more");
    if (request.maxTrials < 0 || request.answerRoom < 0 || request.chunkTokens < 0)
        refuse("trials, answer room and chunk are not negative");
}

NeedleFiller fillerFrom(const std::string& file)
{
    if (file.empty())
        return {std::string(kBuiltInTextName), readBuiltInText()};
    std::error_code error;
    if (!std::filesystem::is_regular_file(file, error))
        refuse(file + ": no such text file");
    if (std::filesystem::file_size(file, error) > kMostTextBytes)
        refuse(file + ": is larger than 1 GiB, which is too long for a filler text");
    std::ifstream stream(file, std::ios::binary);
    std::ostringstream text;
    text << stream.rdbuf();
    if (!stream)
        refuse(file + (text.str().empty() ? ": is empty, or cannot be read"
                                          : ": cannot be read to its end"));
    if (const auto bad = firstInvalidUtf8(text.str()))
        refuse(file + ": is not UTF-8 text (byte " + std::to_string(*bad) + ")");
    return {std::filesystem::path(file).filename().string(), text.str()};
}

std::unique_ptr<const SweepTask> needleTask(const SweepRequest& request)
{
    NeedleMaterial material =
        readNeedleMaterial(request.factsFile.empty() ? resourceFolder() / "needle" / "facts.json"
                                                     : std::filesystem::path(request.factsFile));
    if (request.numItems > std::ssize(material.facts))
        refuse("there are " + formatCount(std::ssize(material.facts)) + " facts, " +
               formatCount(request.numItems) + " were asked for");
    return makeNeedleTask(request.experiment, std::move(material), fillerFrom(request.fillerFile),
                          request.seed);
}

} // namespace

SweepSpot spotOf(const SweepTrial& trial)
{
    return {trial.role, trial.tokens, trial.depth, trial.item, trial.round};
}

std::unique_ptr<const SweepTask> makeSweepTask(const SweepRequest& request)
{
    requirePossible(request);
    if (request.experiment == SweepExperiment::Passkey)
        return makePasskeyTask(request);
    if (request.isLeaky || request.protocol == PasskeyProtocol::Reference)
        refuse("the leaking template and the reference protocol belong to passkeys");
    return needleTask(request);
}

} // namespace kvscope
