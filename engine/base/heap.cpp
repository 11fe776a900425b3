#include "engine/base/heap.h"

#include <cstdlib>

#if defined(__GLIBC__)
#include <malloc.h>
#endif

namespace kvscope {

void keepFreedMemory()
{
#if defined(__GLIBC__)
    constexpr int kLeastMappedBytes = 4 << 20;
    ::mallopt(M_MMAP_THRESHOLD, kLeastMappedBytes);
    ::mallopt(M_TRIM_THRESHOLD, static_cast<int>(kKeptFreedBytes));
#endif
}

} // namespace kvscope
