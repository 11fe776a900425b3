#pragma once

#include "engine/checkpoint/checkpoint.h"
#include "engine/session/open_preview_snapshot.h"
#include "engine/session/session.h"

#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

namespace kvscope {

/// A preview with the checkpoint it is of, which is null where it does not open.
struct PreviewedCheckpoint
{
    OpenPreview preview;
    std::shared_ptr<const Checkpoint> checkpoint;
};

/// Opens a checkpoint as Session::open() would, but for its weights: every check is made, the
/// tokenizer built, memory read. What is wrong is in the preview; nothing is thrown for it.
/// Any thread but the GUI's: some 20 ms for a 135M GGUF, 0.3 s for an 8B one.
/// \param stop  looked at between the parts; a preview that was stopped says so as its error
PreviewedCheckpoint previewCheckpoint(const OpenRequest& request, const std::stop_token& stop = {});

/// The CPU and the CUDA devices found, with what is free now.
std::vector<DeviceReading> readDevices();

/// The rotary schemes that a request may ask for.
std::vector<RotaryOption> rotaryOptions();

/// Bytes that running takes beside weights and cache: the float32 activations of a prefill chunk of
/// 512 tokens through one layer, one row of logits, and 64 MiB for slices of weights and buffers.
/// Arithmetic, from the shapes in decoder.cpp.
std::uint64_t workingRoom(const ModelConfig& config);

/// "yes, up to 8,192 tokens (weights 94.4 MiB + cache 180 MiB + ... = 386 MiB; 16.2 GiB free now)".
std::string fitText(const FitEstimate& fit);

} // namespace kvscope
