#pragma once

#include <filesystem>
#include <optional>

namespace kvscope {

/// The program that draws, beside this one: `kvscope --render CARD.json OUT`. Nothing where it was
/// not built.
std::optional<std::filesystem::path> drawingProgram();

/// Runs it without a screen and waits for it. What it says goes to standard error.
/// \throws EngineError naming the picture where it cannot be started or fails
void drawWith(const std::filesystem::path& program, const std::filesystem::path& json,
              const std::filesystem::path& picture);

} // namespace kvscope
