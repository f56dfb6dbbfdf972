// A check tells which Winograd convolutions are exact enough for a filter.
#ifndef GRAPHRUN_DEVICES_CPU_COMPILER_WINOGRAD_TILES_H_
#define GRAPHRUN_DEVICES_CPU_COMPILER_WINOGRAD_TILES_H_

#include <vector>

#include "devices/compiler/library_instruction.h"

namespace graphrun::devices::cpu {

/// Tiles (4, 2) by whose transforms the convolution keeps kMostWinogradError (../winograd_error.h)
/// in each output channel. None for instructions that Winograd's algorithm is not for, and for
/// filters whose elements are not there to be looked at. Reads the filter once or twice.
std::vector<int64_t> winogradTiles(const LibraryInstruction& library);

}  // namespace graphrun::devices::cpu

#endif  // GRAPHRUN_DEVICES_CPU_COMPILER_WINOGRAD_TILES_H_
