#pragma once

#include <c10/core/Device.h>

namespace kvscope {

/// Returns when all that this thread has asked of a device is done. A GPU works behind the calls
/// that ask it, so a time taken without waiting is that of asking; a CPU is always done.
void waitForDevice(c10::Device device);

} // namespace kvscope
