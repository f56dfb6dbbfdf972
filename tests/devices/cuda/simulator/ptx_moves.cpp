// mov, selp, and the tables of them all.
#include "tests/devices/cuda/simulator/ptx_lanes.h"

namespace graphrun::testing::ptx {
namespace {

using Role = Pattern::Role;

template <typename Whole, typename Part, uint8_t kParts>
void pack(Warp& warp, const Instruction& instruction, uint32_t mask) {
  Lanes<Whole> whole{};
  for (uint8_t i = 0; i < kParts; ++i) {
    Lanes<Part> part = warp.read<Part>(instruction.operands[1 + i]);
    for (uint32_t lane = 0; lane < kLanes; ++lane) {
      whole[lane] = static_cast<Whole>(whole[lane] | Whole{part[lane]} << 8 * sizeof(Part) * i);
    }
  }
  warp.write(instruction.operands[0], whole, mask);
}

template <typename Whole, typename Part, uint8_t kParts>
void unpack(Warp& warp, const Instruction& instruction, uint32_t mask) {
  Lanes<Whole> whole = warp.read<Whole>(instruction.operands[kParts]);
  for (uint8_t i = 0; i < kParts; ++i) {
    Lanes<Part> part;
    for (uint32_t lane = 0; lane < kLanes; ++lane) {
      part[lane] = static_cast<Part>(whole[lane] >> 8 * sizeof(Part) * i);
    }
    warp.write(instruction.operands[i], part, mask);
  }
}

template <typename Whole, typename Part>
void addParts(Operations& all) {
  using W = typename Whole::Value;
  using P = typename Part::Value;
  constexpr uint8_t kParts = sizeof(W) / sizeof(P);
  std::string name = typed<Whole>("mov");
  all.emplace(name, Operation{name,
                              {{Role::kResult, Whole::type}, {Role::kSource, Part::type, kParts}},
                              &pack<W, P, kParts>});
  all.emplace(name, Operation{name,
                              {{Role::kResult, Part::type, kParts}, {Role::kSource, Whole::type}},
                              &unpack<W, P, kParts>});
}

}  // namespace

void addMoves(Operations& all) {
  forTypes<Pred, B16, B32, B64, U16, U32, U64, S16, S32, S64, F16, F32, F64>([&](auto type) {
    using T = AsBits<decltype(type)>;
    addRow<T, T>(all, typed<T>("mov"), [](auto a) { return a; });
    addRow<T, T, T, Pred>(all, typed<T>("selp"),
                          [](auto a, auto b, uint8_t chosen) { return chosen != 0 ? a : b; });
  });
  addParts<B32, B16>(all);
  addParts<B64, B32>(all);
  addParts<B64, B16>(all);
}

const Operations& operations() {
  static const auto* const kAll = [] {
    auto* all = new Operations();
    for (auto* add : {addIntegers, addBits, addFloats, addApproximations, addConversions, addMoves,
                      addMemory, addControl}) {
      add(*all);
    }
    return all;
  }();
  return *kAll;
}

}  // namespace graphrun::testing::ptx
