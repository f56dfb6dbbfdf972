// Types of PTX, and the C++ types that hold their values.
#ifndef GRAPHRUN_TESTS_DEVICES_CUDA_SIMULATOR_PTX_TYPES_H_
#define GRAPHRUN_TESTS_DEVICES_CUDA_SIMULATOR_PTX_TYPES_H_

#include <array>
#include <cstdint>
#include <optional>
#include "absl/strings/string_view.h"

#include "tests/devices/cuda/simulator/small_float.h"

namespace graphrun::testing::ptx {

/// In the order of kTypes.
enum class Type : uint8_t {
  kPred,
  kB8,
  kB16,
  kB32,
  kB64,
  kU8,
  kU16,
  kU32,
  kU64,
  kS8,
  kS16,
  kS32,
  kS64,
  kF16,
  kF16x2,
  kBf16,
  kBf16x2,
  kF32,
  kF64
};

struct TypeInfo {
  absl::string_view name;  // as it ends an instruction's name
  uint8_t bytes;           // of a register's lane
};

inline constexpr std::array<TypeInfo, 19> kTypes = {{{"pred", 1},
                                                     {"b8", 1},
                                                     {"b16", 2},
                                                     {"b32", 4},
                                                     {"b64", 8},
                                                     {"u8", 1},
                                                     {"u16", 2},
                                                     {"u32", 4},
                                                     {"u64", 8},
                                                     {"s8", 1},
                                                     {"s16", 2},
                                                     {"s32", 4},
                                                     {"s64", 8},
                                                     {"f16", 2},
                                                     {"f16x2", 4},
                                                     {"bf16", 2},
                                                     {"bf16x2", 4},
                                                     {"f32", 4},
                                                     {"f64", 8}}};

constexpr const TypeInfo& infoOf(Type type) { return kTypes[static_cast<size_t>(type)]; }

constexpr std::optional<Type> typeNamed(absl::string_view name) {
  for (size_t i = 0; i < kTypes.size(); ++i) {
    if (kTypes[i].name == name) {
      return static_cast<Type>(i);
    }
  }
  return std::nullopt;
}

constexpr bool isSigned(Type type) { return infoOf(type).name[0] == 's'; }

/// A type of PTX with what holds its value: predicates 0 or 1, bits as unsigned numbers, pairs of
/// 16-bit floats as 32 bits.
template <Type kType, typename V>
struct Typed {
  using Value = V;
  static constexpr Type type = kType;
};

using Pred = Typed<Type::kPred, uint8_t>;
using B16 = Typed<Type::kB16, uint16_t>;
using B32 = Typed<Type::kB32, uint32_t>;
using B64 = Typed<Type::kB64, uint64_t>;
using U8 = Typed<Type::kU8, uint8_t>;
using U16 = Typed<Type::kU16, uint16_t>;
using U32 = Typed<Type::kU32, uint32_t>;
using U64 = Typed<Type::kU64, uint64_t>;
using S8 = Typed<Type::kS8, int8_t>;
using S16 = Typed<Type::kS16, int16_t>;
using S32 = Typed<Type::kS32, int32_t>;
using S64 = Typed<Type::kS64, int64_t>;
using F16 = Typed<Type::kF16, Half>;
using F16x2 = Typed<Type::kF16x2, uint32_t>;
using Bf16 = Typed<Type::kBf16, Brain>;
using Bf16x2 = Typed<Type::kBf16x2, uint32_t>;
using F32 = Typed<Type::kF32, float>;
using F64 = Typed<Type::kF64, double>;

}  // namespace graphrun::testing::ptx

#endif  // GRAPHRUN_TESTS_DEVICES_CUDA_SIMULATOR_PTX_TYPES_H_
