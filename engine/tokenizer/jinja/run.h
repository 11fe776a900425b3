#pragma once

#include "engine/tokenizer/jinja/budget.h"
#include "engine/tokenizer/jinja/value.h"

#include <ctime>
#include <functional>
#include <memory>
#include <vector>

namespace kvscope::jinja {

/// The local time and date, for strftime_now.
using LocalClock = std::function<std::tm()>;

class Namespace;

/// What everything that runs within one rendering shares.
struct Run
{
    Budget budget;
    LocalClock clock;
    /// Namespaces can hold each other, so they are emptied when the rendering ends.
    std::vector<std::shared_ptr<Namespace>> namespaces;

    ~Run();
};

} // namespace kvscope::jinja
