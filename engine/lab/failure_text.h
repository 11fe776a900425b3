#pragma once

#include <string>

namespace kvscope {

/// How an exception reads to a person.
struct FailureText
{
    std::string message; ///< one sentence
    std::string detail;  ///< for the log; may be empty
};

/// Of the exception being handled; call inside a catch block. The one place where exceptions end.
FailureText failureFromCurrentException();

} // namespace kvscope
