#include "engine/checkpoint/special_tokens.h"

#include <algorithm>

namespace kvscope {
namespace {

bool isInside(std::int64_t id, std::int64_t size)
{
    return id >= 0 && id < size;
}

std::string beyond(std::int64_t id, std::int64_t size)
{
    return "token " + std::to_string(id) + " is beyond the vocabulary of " + std::to_string(size);
}

} // namespace

void addEndToken(std::int64_t id, std::int64_t vocabularySize, TokenizerSource& source,
                 std::vector<std::string>& warnings)
{
    if (!isInside(id, vocabularySize)) {
        warnings.push_back("The end " + beyond(id, vocabularySize) +
                           " rows, so generation cannot end with it.");
        return;
    }
    if (std::find(source.endTokens.begin(), source.endTokens.end(), id) == source.endTokens.end())
        source.endTokens.push_back(id);
}

void setBeginToken(std::int64_t id, std::int64_t vocabularySize, TokenizerSource& source,
                   std::vector<std::string>& warnings)
{
    if (isInside(id, vocabularySize))
        source.beginToken = id;
    else
        warnings.push_back("The begin " + beyond(id, vocabularySize) + " rows, so it is not used.");
}

} // namespace kvscope
