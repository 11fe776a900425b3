#pragma once

// Precompiled for every floor that uses tensors: parsing this costs some four seconds a file.
#include <ATen/core/Tensor.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>
