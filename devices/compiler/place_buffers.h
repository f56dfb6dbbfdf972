// The static memory of an executable is planned here: lifetimes of the arena's buffers and their
// offsets.
#ifndef GRAPHRUN_DEVICES_COMPILER_PLACE_BUFFERS_H_
#define GRAPHRUN_DEVICES_COMPILER_PLACE_BUFFERS_H_

#include "devices/executable/executable.h"

namespace graphrun::devices {

/// Gives every arena buffer an offset, a multiple of `alignment` bytes (a power of two, at least
/// kTensorAlignment), and sets the arena's size. A buffer lives from the first instruction that
/// names it to the last one, a sent one to the end of the step. InvalidArgument when the sizes add
/// up to more than 2^62 bytes.
absl::Status placeBuffers(Executable& executable, uint64_t alignment);

}  // namespace graphrun::devices

#endif  // GRAPHRUN_DEVICES_COMPILER_PLACE_BUFFERS_H_
