// 32 threads that run together.
#ifndef GRAPHRUN_TESTS_DEVICES_CUDA_SIMULATOR_PTX_WARP_H_
#define GRAPHRUN_TESTS_DEVICES_CUDA_SIMULATOR_PTX_WARP_H_

#include <array>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "tests/devices/cuda/simulator/ptx_execution.h"
#include "tests/devices/cuda/simulator/ptx_global_memory.h"
#include "tests/devices/cuda/simulator/ptx_shared_memory.h"

namespace graphrun::testing::ptx {

inline constexpr uint32_t kAllLanes = ~0U;

template <typename V>
using Lanes = std::array<V, kLanes>;

/// What the warps of a launch share.
struct Machine {
  Machine(const Program& program, const Launch& launch)
      : program(program),
        launch(launch),
        shared(program.sharedBytes, launch.sharedBytes),
        recent(program.code.size()) {}

  const Program& program;
  const Launch& launch;
  SharedMemory shared;
  GlobalUse global;
  std::vector<Allocation> recent;  // by instruction: where its last address was
  std::array<uint32_t, 3> block{};
  uint64_t instructions = 0;
  std::optional<Fault> fault;
};

/// Groups of threads that stand at the same instruction run in lock-step, the one that is furthest
/// behind first, and are one again where they meet: what a compiler that reconverges at the
/// earliest place would do. A shuffle waits for all lanes of its mask, a barrier for all that have
/// not ended.
class Warp {
 public:
  enum class State : uint8_t { kAtBarrier, kEnded, kFault };

  Warp(Machine& machine, uint32_t number);

  /// All threads at the first instruction of the machine's block.
  void begin();
  /// Runs until all threads are at a barrier or have ended.
  State run();
  void passBarrier();

  /// A register of all lanes, of the type's size.
  template <typename V>
  Lanes<V> read(Register reg) const {
    Lanes<V> lanes;
    std::memcpy(lanes.data(), &file_[reg.slot * kSlotBytes], sizeof(lanes));
    return lanes;
  }
  template <typename V>
  void write(Register reg, const Lanes<V>& lanes, uint32_t mask) {
    uint8_t* to = &file_[reg.slot * kSlotBytes];
    if (mask == kAllLanes) {
      std::memcpy(to, lanes.data(), sizeof(lanes));
      return;
    }
    for (uint32_t lane = 0; lane < kLanes; ++lane) {
      if ((mask >> lane & 1) != 0) {
        std::memcpy(to + lane * sizeof(V), &lanes[lane], sizeof(V));
      }
    }
  }
  /// One lane of a register of any size, as the low bits (the host is little-endian).
  uint64_t bits(Register reg, uint32_t lane) const {
    uint64_t value = 0;
    std::memcpy(&value, &file_[reg.slot * kSlotBytes + lane * reg.bytes], reg.bytes);
    return value;
  }
  void setBits(Register reg, uint32_t lane, uint64_t value) {
    std::memcpy(&file_[reg.slot * kSlotBytes + lane * reg.bytes], &value, reg.bytes);
  }

  Machine& machine() { return machine_; }
  /// The thread's number in its block.
  uint32_t thread(uint32_t lane) const { return number_ * kLanes + lane; }
  /// Ends the launch.
  void fail(Fault::Kind kind, const Instruction& instruction, uint32_t lane,
            const std::string& what);

 private:
  struct Group {
    uint32_t at;
    uint32_t lanes;
  };

  std::array<uint32_t, static_cast<size_t>(Special::kCount)> specialsOf(uint32_t lane) const;
  void join(Group group);
  bool isReady(const Group& group) const;
  void advance(Group group, uint32_t until);
  uint32_t guarded(const Instruction& instruction, uint32_t mask);
  bool mayRead(Register reg, const Instruction& instruction, uint32_t mask);
  bool execute(const Instruction& instruction, uint32_t mask);
  void failStuck();

  Machine& machine_;
  uint32_t number_;
  std::vector<uint8_t> file_;
  std::vector<uint32_t> written_;  // by slot: the lanes that have a value
  std::vector<Group> groups_;      // by where they are
  uint32_t alive_ = 0;
};

}  // namespace graphrun::testing::ptx

#endif  // GRAPHRUN_TESTS_DEVICES_CUDA_SIMULATOR_PTX_WARP_H_
