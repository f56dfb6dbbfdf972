// Runs kernels, and finds what they do wrong.
#ifndef GRAPHRUN_TESTS_DEVICES_CUDA_SIMULATOR_PTX_EXECUTION_H_
#define GRAPHRUN_TESTS_DEVICES_CUDA_SIMULATOR_PTX_EXECUTION_H_

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tests/devices/cuda/simulator/ptx_program.h"

namespace graphrun::testing::ptx {

/// Global memory: device addresses [begin, end), and where the first of them is on the host.
struct Allocation {
  uint64_t begin = 0, end = 0;
  uint8_t* host = nullptr;
};

struct Launch {
  std::array<uint32_t, 3> grid = {1, 1, 1}, block = {1, 1, 1};
  uint64_t sharedBytes = 0;         // dynamic
  std::vector<uint8_t> parameters;  // as they lie in the kernel's parameter space
  /// The allocation that holds an address, or begins behind it; empty if none does.
  std::function<Allocation(uint64_t address)> find;
  /// A warp's instruction counts once, whatever lanes it is done for.
  uint64_t mostInstructions = uint64_t{1} << 36;
};

/// Why a launch did not end well: what, in which kernel, line, block and thread.
struct Fault {
  enum class Kind : uint8_t {
    kBadLaunch,       // sizes that the kernel does not take
    kIllegalAddress,  // beyond the memory that there is
    kMisaligned,      // an address that is no multiple of what is read or written
    kTrap,            // the kernel says so itself
    kUnwritten,       // a register or shared memory is read that nothing was written to
    kRace,            // shared memory, without a barrier between
    kNotConstant,     // global memory that is read as constant, and that the kernel writes
    kDiverged,        // a barrier or shuffle that not all threads come to
    kTooLong          // more than mostInstructions
  };
  Kind kind = Kind::kTrap;
  std::string message;
};

/// Empty, or what `run` would not launch.
std::string whyNotLaunched(const Program& program, const Launch& launch);

/// Runs block after block on the calling thread; warps in lock-step where their threads agree.
/// Stops at the first fault. `done`, if given: what mostInstructions counts.
std::optional<Fault> run(const Program& program, const Launch& launch, uint64_t* done = nullptr);

}  // namespace graphrun::testing::ptx

#endif  // GRAPHRUN_TESTS_DEVICES_CUDA_SIMULATOR_PTX_EXECUTION_H_
