#pragma once

#include "engine/tokenizer/tokenizer.h"

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace kvscope {

/// Something short that can be asked for, in two wordings of ours.
struct NeedleFact
{
    std::string id;                        ///< "ferry"
    std::array<std::string, 2> statements; ///< sentences that hold the answer
    std::array<std::string, 2> questions;  ///< that do not
    std::string answer;                    ///< ASCII digits
};

/// What needle tests are put together from.
struct NeedleMaterial
{
    std::vector<NeedleFact> facts;
    std::vector<std::string> filler; ///< sentences without a digit
};

/// Reads facts and filler (resources/needle/facts.json, or a file of that form) and checks that the
/// test they make is a fair one: every statement states its answer and no other number, no question
/// and no filler sentence holds a digit, no two facts share an answer or an id.
/// \throws CheckpointError naming the file and the fact
NeedleMaterial readNeedleMaterial(const std::filesystem::path& file);

/// The built-in prose: Northanger Abbey, see resources/texts/README.md. UTF-8.
/// \throws ArgumentError where it is missing, saying what to do
std::string readBuiltInText();

/// The first `count` ids of a text, all of them where it has fewer, without encoding much more of
/// it: what 2,048 tokens are read from may be 64 MiB.
///
/// What is encoded ends before white space, and some hundred tokens behind those that are asked
/// for: how a text is split depends on what follows within a word, a run of spaces, or a control
/// token, so that the ids are those of the whole text. Where it has no white space to end before
/// (digits may be grouped from their run's end), the whole is encoded.
/// \throws TokenizerError as Tokenizer::encode(), of what is encoded
std::vector<TokenId> firstIds(const Tokenizer& tokenizer, std::string_view text, std::int64_t count,
                              ControlTokens control);

/// What results call it.
inline constexpr std::string_view kBuiltInTextName = "Northanger Abbey (built in)";

} // namespace kvscope
