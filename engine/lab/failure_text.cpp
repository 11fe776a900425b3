#include "engine/lab/failure_text.h"

#include "engine/base/errors.h"

#include <c10/util/Exception.h>

#include <new>

namespace kvscope {

FailureText failureFromCurrentException()
{
    FailureText failure;
    try {
        throw;
    } catch (const EngineError& error) {
        failure.message = error.what();
        failure.detail = error.detail();
    } catch (const c10::OutOfMemoryError& error) {
        failure.message =
            "The device is out of memory; a shorter context or a smaller cache type needs less.";
        failure.detail = error.what_without_backtrace();
    } catch (const c10::Error& error) {
        failure.message = std::string("LibTorch refused an operation: ") + error.msg();
        failure.message = failure.message.substr(0, failure.message.find('\n'));
        failure.detail = error.what_without_backtrace();
    } catch (const std::bad_alloc&) {
        failure.message = "This machine is out of memory.";
    } catch (const std::exception& error) {
        failure.message = error.what();
    }
    return failure;
}

} // namespace kvscope
