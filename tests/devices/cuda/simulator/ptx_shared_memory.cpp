#include "tests/devices/cuda/simulator/ptx_shared_memory.h"

namespace graphrun::testing::ptx {

uint8_t* SharedMemory::view(uint64_t address, size_t bytes) {
  bool isDynamic = address >= kMostStaticShared;
  uint64_t at = isDynamic ? address - kMostStaticShared : address;
  uint64_t size = isDynamic ? dynamicBytes_ : staticBytes_;
  if (at > size || bytes > size - at) {
    return nullptr;
  }
  return bytes_.data() + (isDynamic ? staticBytes_ : 0) + at;
}

std::optional<Fault::Kind> SharedMemory::noteRead(const uint8_t* at, size_t bytes,
                                                  uint32_t thread) {
  Mark* marks = marks_.data() + (at - bytes_.data());
  for (size_t i = 0; i < bytes; ++i) {
    Mark& mark = marks[i];
    if (mark.wrote < block_) {
      return Fault::Kind::kUnwritten;
    }
    if (mark.wrote == epoch_ && mark.writer != thread) {
      return Fault::Kind::kRace;
    }
    mark.reader = mark.read == epoch_ && mark.reader != thread ? kSeveral : thread;
    mark.read = epoch_;
  }
  return std::nullopt;
}

/// Writing what is there already is no race: all threads of a warp may store their common result.
std::optional<Fault::Kind> SharedMemory::noteWrite(const uint8_t* at, const uint8_t* from,
                                                   size_t bytes, uint32_t thread) {
  Mark* marks = marks_.data() + (at - bytes_.data());
  for (size_t i = 0; i < bytes; ++i) {
    Mark& mark = marks[i];
    bool isOthers = (mark.wrote == epoch_ && mark.writer != thread) ||
                    (mark.read == epoch_ && mark.reader != thread);
    if (isOthers && at[i] != from[i]) {
      return Fault::Kind::kRace;
    }
    mark.wrote = epoch_;
    mark.writer = thread;
  }
  return std::nullopt;
}

}  // namespace graphrun::testing::ptx
