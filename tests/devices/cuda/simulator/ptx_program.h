// A kernel as an array of instructions, ready to run.
#ifndef GRAPHRUN_TESTS_DEVICES_CUDA_SIMULATOR_PTX_PROGRAM_H_
#define GRAPHRUN_TESTS_DEVICES_CUDA_SIMULATOR_PTX_PROGRAM_H_

#include <functional>
#include <map>
#include <string>
#include <vector>
#include "absl/strings/string_view.h"

#include "absl/status/statusor.h"
#include "tests/devices/cuda/simulator/ptx_text.h"

namespace graphrun::testing::ptx {

class Warp;
struct Instruction;

/// Does an instruction for the lanes of a mask.
using Handler = void (*)(Warp& warp, const Instruction& instruction, uint32_t mask);

/// Where a warp goes on behind an instruction.
enum class Flow : uint8_t { kNext, kBranch, kExit, kTrap, kBarrier, kShuffle };
enum class Space : uint8_t { kParameter, kGlobal, kConstant, kShared, kGeneric };

/// Operands of an instruction, results first. `count` above 1: a list {a, b}; kPair: d|p, of which
/// p is a predicate.
struct Pattern {
  enum class Role : uint8_t { kResult, kSource, kAddress, kLabel, kPair };
  Role role;
  Type type = Type::kB64;
  uint8_t count = 1;
  bool wider = false;  // registers may be wider than the type
};

/// One row of the table of instructions.
struct Operation {
  std::string name;
  std::vector<Pattern> patterns;
  Handler run = nullptr;
  Flow flow = Flow::kNext;
  Space space = Space::kGlobal;  // of loads and stores; kConstant: global, and nothing writes it
};

/// All that is known, by name; several rows of a name differ in their operands.
using Operations = std::multimap<std::string, Operation, std::less<>>;
const Operations& operations();

/// A Register is a range of the file, in units of kSlotBytes, and the bytes of a lane.
struct Register {
  uint32_t slot = 0;
  uint8_t bytes = 0;
};
inline constexpr uint32_t kLanes = 32;
inline constexpr size_t kSlotBytes = 64;

struct Instruction {
  const Operation* operation = nullptr;
  uint8_t results = 0, sources = 0;
  bool guardNot = false;
  int guard = -1;                      // a slot
  std::array<Register, 8> operands{};  // results, then sources
  int64_t offset = 0;                  // of an address
  uint32_t target = 0;                 // of a branch
  int line = 0;
};

struct Program {
  std::string name;
  std::vector<Parameter> parameters;
  std::array<uint32_t, 3> blockThreads{};
  uint64_t sharedBytes = 0;
  std::vector<Instruction> code;
  uint32_t slots = 0;

  /// What is in registers before the first instruction.
  struct Constant {
    Register reg;
    uint64_t bits = 0;
  };
  std::vector<Constant> constants;
  std::map<Special, Register> specials;

  size_t parameterBytes() const {
    return parameters.empty() ? 0 : parameters.back().offset + parameters.back().bytes;
  }
};

/// INVALID_ARGUMENT with the line: an instruction that is not known, or operands that do not fit
/// it.
absl::StatusOr<Program> compile(const Kernel& kernel);

}  // namespace graphrun::testing::ptx

#endif  // GRAPHRUN_TESTS_DEVICES_CUDA_SIMULATOR_PTX_PROGRAM_H_
