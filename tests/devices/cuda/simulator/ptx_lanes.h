// How rows of the table of instructions are written: a function of values, done for each lane.
#ifndef GRAPHRUN_TESTS_DEVICES_CUDA_SIMULATOR_PTX_LANES_H_
#define GRAPHRUN_TESTS_DEVICES_CUDA_SIMULATOR_PTX_LANES_H_

#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include "absl/strings/string_view.h"

#include "absl/strings/str_cat.h"
#include "tests/devices/cuda/simulator/ptx_warp.h"

namespace graphrun::testing::ptx {

/// Result and sources of the types' exact sizes. The function must be defined for all values, as it
/// is done for lanes outside of the mask too.
template <typename F, typename D, typename... S>
void onLanes(Warp& warp, const Instruction& instruction, uint32_t mask) {
  [&]<size_t... kIndex>(std::index_sequence<kIndex...>) {
    std::tuple<Lanes<typename S::Value>...> from(
        warp.read<typename S::Value>(instruction.operands[kIndex + 1])...);
    Lanes<typename D::Value> to;
    for (uint32_t lane = 0; lane < kLanes; ++lane) {
      to[lane] = F()(std::get<kIndex>(from)[lane]...);
    }
    warp.write(instruction.operands[0], to, mask);
  }(std::index_sequence_for<S...>());
}

/// Adds `name`, D from S…: `function`, which captures nothing, of the values.
template <typename D, typename... S, typename F>
void addRow(Operations& all, const std::string& name, F /*function*/) {
  using Role = Pattern::Role;
  all.emplace(name, Operation{name,
                              {{Role::kResult, D::type}, {Role::kSource, S::type}...},
                              &onLanes<F, D, S...>});
}

/// Calls `function` with a value of each type.
template <typename... T, typename F>
void forTypes(F function) {
  (function(T()), ...);
}

/// "add" and u32: "add.u32".
template <typename T>
std::string typed(absl::string_view name) {
  return absl::StrCat(name, ".", infoOf(T::type).name);
}

/// The type with its values as bits.
template <size_t kBytes>
using BitsOfSize = std::conditional_t<
    kBytes == 1, uint8_t,
    std::conditional_t<kBytes == 2, uint16_t, std::conditional_t<kBytes == 4, uint32_t, uint64_t>>>;
template <typename T>
using AsBits = Typed<T::type, BitsOfSize<sizeof(typename T::Value)>>;

// The rows, by family.
void addIntegers(Operations& all);
void addBits(Operations& all);
void addFloats(Operations& all);
void addApproximations(Operations& all);
void addConversions(Operations& all);
void addMoves(Operations& all);
void addMemory(Operations& all);
void addControl(Operations& all);

}  // namespace graphrun::testing::ptx

#endif  // GRAPHRUN_TESTS_DEVICES_CUDA_SIMULATOR_PTX_LANES_H_
