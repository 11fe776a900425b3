#include "engine/cache/device_work.h"

#include <c10/core/impl/VirtualGuardImpl.h>

namespace kvscope {

void waitForDevice(c10::Device device)
{
    if (!device.is_cpu())
        c10::impl::VirtualGuardImpl(device.type()).getStream(device).synchronize();
}

} // namespace kvscope
