#include "devices/cpu/compiler/winograd_tiles.h"

#include <cstring>

#include "devices/cpu/kernels/winograd_error.h"
#include "passes/weights.h"

namespace graphrun::devices::cpu {
namespace {

/// 3 x 3 filters without groups.
bool isForWinograd(const Instruction& instruction) {
  if (instruction.operation != "gr.conv" || instruction.inputs.size() < 2) {
    return false;
  }
  const std::vector<int64_t>& filter = instruction.inputs[1].desc.dims;
  return filter.size() == 4 && filter[2] == 3 && filter[3] == 3 &&
         filter[1] == instruction.inputs[0].desc.dims[1];
}

/// The elements of a constant of f32; empty for other values. `made` holds what is not in memory.
absl::Span<const float> elementsOf(mlir::Value value, std::vector<float>& made) {
  mlir::ElementsAttr constant = passes::constantOf(passes::outsideGroup(value));
  if (!constant || !constant.getElementType().isF32()) {
    return {};
  }
  std::optional<passes::ElementBytes> raw = passes::bytesOf(constant);
  if (!raw) {
    return {};
  }
  const auto count = static_cast<size_t>(constant.getNumElements());
  bool isAligned = reinterpret_cast<uintptr_t>(raw->bytes.data()) % alignof(float) == 0;
  if (!raw->splat && !raw->owned && isAligned) {
    return {reinterpret_cast<const float*>(raw->bytes.data()), count};
  }
  made.resize(count);
  for (size_t i = 0; i < count; ++i) {
    const char* from = raw->bytes.data() + (raw->splat ? 0 : i * sizeof(float));
    std::memcpy(&made[i], from, sizeof(float));
  }
  return made;
}

}  // namespace

std::vector<int64_t> winogradTiles(const LibraryInstruction& library) {
  if (!isForWinograd(library.instruction)) {
    return {};
  }
  std::vector<float> made;
  absl::Span<const float> taps = elementsOf(library.operands[1], made);
  const std::vector<int64_t>& filter = library.instruction.inputs[1].desc.dims;
  if (taps.empty()) {
    return {};
  }
  for (int64_t tile : {4, 2}) {  // what the larger keeps, the smaller does too
    if (winogradError(tile, filter[0], filter[1], taps) <= kMostWinogradError) {
      return tile == 4 ? std::vector<int64_t>{4, 2} : std::vector<int64_t>{2};
    }
  }
  return {};
}

}  // namespace graphrun::devices::cpu
