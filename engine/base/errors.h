#pragma once

#include <stdexcept>
#include <string>
#include <utility>

namespace kvscope {

/// Something a person can act on went wrong. `what()` is one sentence without a line break that
/// names what, where, what was expected and what was found; `detail()` is for the log.
class EngineError : public std::runtime_error
{
public:
    explicit EngineError(const std::string& message, std::string detail = {})
        : std::runtime_error(message)
        , m_detail(std::move(detail))
    {
    }
    const std::string& detail() const noexcept { return m_detail; }

private:
    std::string m_detail;
};

/// A model file is missing, damaged, foreign, or disagrees with its configuration.
class CheckpointError : public EngineError
{
public:
    using EngineError::EngineError;
};

/// A vocabulary or template cannot be used, or text cannot be encoded with it.
class TokenizerError : public EngineError
{
public:
    using EngineError::EngineError;
};

/// A request that cannot be carried out as asked (a negative top-p, an id beyond the vocabulary).
class ArgumentError : public EngineError
{
public:
    using EngineError::EngineError;
};

/// The request needs more memory, or more cached tokens, than there may be. Thrown before anything
/// is allocated or changed; the message holds both numbers.
class MemoryError : public EngineError
{
public:
    using EngineError::EngineError;
};

} // namespace kvscope
