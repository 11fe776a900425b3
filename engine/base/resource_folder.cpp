#include "engine/base/resource_folder.h"

#include <cstdlib>

namespace kvscope {

std::filesystem::path resourceFolder()
{
    const char* chosen = std::getenv("KVSCOPE_RESOURCES");
    return chosen != nullptr && *chosen != '\0' ? chosen : KVSCOPE_RESOURCE_FOLDER;
}

} // namespace kvscope
