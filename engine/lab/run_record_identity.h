#pragma once

#include "engine/checkpoint/checkpoint.h"
#include "engine/lab/run_record.h"
#include "engine/model/decoder.h"
#include "engine/tokenizer/tokenizer.h"

#include <span>
#include <string>
#include <string_view>

namespace kvscope {

/// A checkpoint's identity, the same wherever its files lie: "fnv1a64:" and 16 hexadecimal digits.
///
/// FNV-1a over the architecture and every setting of its ModelConfig, then over every
/// tensor in the order of names: name, storage type, shape, and up to 16 pieces of 64 bytes evenly
/// spaced over its data, the first and the last among them. So it reads some thousand pages of a
/// large file, not all of it. The rotation is left out, a setting of the run; ablations are not. It
/// tells runs apart; it is no protection against a file made to deceive.
std::string modelHash(const Checkpoint& checkpoint);

/// The same hash of token ids, or of a text, so that a record notices another one.
std::string idsHash(std::span<const TokenId> ids);
std::string textHash(std::string_view text);

/// What computes: "AMD EPYC 7763 64-Core Processor, 2 threads"; of a GPU its name as a device.
std::string machineText(const at::Device& device);

/// The header of a run on this decoder; experiment, version, dtype, seed and settings are the
/// caller's to fill.
RunHeader runHeader(const Decoder& decoder);

} // namespace kvscope
