#include "tests/devices/cuda/simulator/nccl_reduce.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "tests/devices/cuda/simulator/small_float.h"

namespace graphrun::testing {
namespace {

/// Elements as they are; `Value` is what they are combined as.
template <typename Stored, typename Value>
struct Plain {
  static Value load(const char* from) {
    Stored stored;
    std::memcpy(&stored, from, sizeof stored);
    return static_cast<Value>(stored);
  }
  static void store(char* to, Value value) {
    const auto stored = static_cast<Stored>(value);
    std::memcpy(to, &stored, sizeof stored);
  }
};

template <typename Small>
struct Rounded {
  static double load(const char* from) {
    return Small{Plain<uint16_t, uint16_t>::load(from)}.value();
  }
  static void store(char* to, double value) {
    Plain<uint16_t, uint16_t>::store(to, Small::round(value).bits);
  }
};

template <typename Value>
Value combined(Value a, Value b, int operation) {
  switch (operation) {
    case ncclProd:
      return static_cast<Value>(a * b);
    case ncclMax:
      return std::max(a, b);
    case ncclMin:
      return std::min(a, b);
    default:
      return static_cast<Value>(a + b);
  }
}

/// Integers are combined without a sign, so that what is too large wraps; order needs the sign.
template <typename Access>
std::string reduce(const std::vector<std::string>& operands, size_t bytes, int operation) {
  std::string result = operands[0];
  for (size_t i = 0; i < result.size(); i += bytes) {
    char* address = &result[i];
    for (size_t other = 1; other < operands.size(); ++other) {
      Access::store(address,
                    combined(Access::load(address), Access::load(&operands[other][i]), operation));
    }
    if (operation == ncclAvg) {
      Access::store(address, Access::load(address) /
                                 static_cast<decltype(Access::load(address))>(operands.size()));
    }
  }
  return result;
}

template <typename Signed, typename Unsigned>
std::string reduceSigned(const std::vector<std::string>& operands, int operation) {
  return operation == ncclMax || operation == ncclMin
             ? reduce<Plain<Signed, Signed>>(operands, sizeof(Signed), operation)
             : reduce<Plain<Unsigned, Unsigned>>(operands, sizeof(Signed), operation);
}

}  // namespace

size_t elementBytes(int type) {
  constexpr size_t kBytes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2};
  return type >= 0 && type < static_cast<int>(std::size(kBytes)) ? kBytes[type] : 0;
}

std::string reduced(const std::vector<std::string>& operands, int type, int operation) {
  switch (type) {
    case ncclInt8:
      return reduceSigned<int8_t, uint8_t>(operands, operation);
    case ncclUint8:
      return reduce<Plain<uint8_t, uint8_t>>(operands, 1, operation);
    case ncclInt32:
      return reduceSigned<int32_t, uint32_t>(operands, operation);
    case ncclUint32:
      return reduce<Plain<uint32_t, uint32_t>>(operands, 4, operation);
    case ncclInt64:
      return reduceSigned<int64_t, uint64_t>(operands, operation);
    case ncclUint64:
      return reduce<Plain<uint64_t, uint64_t>>(operands, 8, operation);
    case ncclFloat16:
      return reduce<Rounded<ptx::Half>>(operands, 2, operation);
    case ncclBfloat16:
      return reduce<Rounded<ptx::Brain>>(operands, 2, operation);
    case ncclFloat32:
      return reduce<Plain<float, float>>(operands, 4, operation);
    default:
      return reduce<Plain<double, double>>(operands, 8, operation);
  }
}

}  // namespace graphrun::testing
