// Convolutions along one dim, which the library is shown as ones of images of one row: it sums
// blocks of the elements of a row. Of images of one column (H x 1, as of audio and text) it would
// sum one element at a time, and over one spatial dim it has no kernels for depthwise filters.
// Internal to devices/cpu.
#ifndef GRAPHRUN_DEVICES_CPU_ONEDNN_ROW_IMAGES_H_
#define GRAPHRUN_DEVICES_CPU_ONEDNN_ROW_IMAGES_H_

#include <optional>

#include "devices/cpu/base/kernel.h"

namespace graphrun::devices::cpu {

/// `instruction`, a convolution, on images of one row in the same memory; nothing where it has
/// others. InvalidArgument for malformed layouts and attributes.
absl::StatusOr<std::optional<Instruction>> onRows(const Instruction& instruction);

/// Returns the choice for onRows(instruction), in the dims of `instruction`.
absl::StatusOr<LayoutChoice> fromRows(const Instruction& instruction, LayoutChoice choice);

}  // namespace graphrun::devices::cpu

#endif  // GRAPHRUN_DEVICES_CPU_ONEDNN_ROW_IMAGES_H_
