// A block's shared memory, with who wrote and read it since the last barrier.
#ifndef GRAPHRUN_TESTS_DEVICES_CUDA_SIMULATOR_PTX_SHARED_MEMORY_H_
#define GRAPHRUN_TESTS_DEVICES_CUDA_SIMULATOR_PTX_SHARED_MEMORY_H_

#include <optional>
#include <vector>

#include "tests/devices/cuda/simulator/ptx_execution.h"

namespace graphrun::testing::ptx {

/// Static memory is at 0, dynamic memory at kMostStaticShared.
class SharedMemory {
 public:
  SharedMemory(uint64_t staticBytes, uint64_t dynamicBytes)
      : staticBytes_(staticBytes),
        dynamicBytes_(dynamicBytes),
        bytes_(staticBytes + dynamicBytes),
        marks_(bytes_.size()) {}

  /// What another block left is as if never written.
  void beginBlock() { block_ = ++epoch_; }
  void passBarrier() { ++epoch_; }

  /// Null: not all of it is there.
  uint8_t* view(uint64_t address, size_t bytes);
  /// Notes that `thread` reads or is about to write `from` at what view() gave. What is wrong with
  /// it, if anything.
  std::optional<Fault::Kind> noteRead(const uint8_t* at, size_t bytes, uint32_t thread);
  std::optional<Fault::Kind> noteWrite(const uint8_t* at, const uint8_t* from, size_t bytes,
                                       uint32_t thread);

 private:
  static constexpr uint32_t kSeveral = ~0U;
  struct Mark {
    uint32_t wrote = 0, read = 0;  // when, in barriers
    uint32_t writer = 0, reader = 0;
  };

  uint64_t staticBytes_, dynamicBytes_;
  std::vector<uint8_t> bytes_;
  std::vector<Mark> marks_;
  uint32_t epoch_ = 0, block_ = 0;
};

}  // namespace graphrun::testing::ptx

#endif  // GRAPHRUN_TESTS_DEVICES_CUDA_SIMULATOR_PTX_SHARED_MEMORY_H_
