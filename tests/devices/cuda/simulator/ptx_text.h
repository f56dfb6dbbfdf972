// PTX text as data: kernels with their statements, names resolved.
#ifndef GRAPHRUN_TESTS_DEVICES_CUDA_SIMULATOR_PTX_TEXT_H_
#define GRAPHRUN_TESTS_DEVICES_CUDA_SIMULATOR_PTX_TEXT_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tests/devices/cuda/simulator/ptx_types.h"

namespace graphrun::testing::ptx {

/// Static shared memory lies below, dynamic shared memory from here on.
inline constexpr uint64_t kMostStaticShared = 48 << 10;

/// Registers that the hardware fills, in the order of their names in ptx_parser.cpp.
enum class Special : uint8_t {
  kThreadX,
  kThreadY,
  kThreadZ,
  kBlockX,
  kBlockY,
  kBlockZ,
  kThreadsX,
  kThreadsY,
  kThreadsZ,
  kBlocksX,
  kBlocksY,
  kBlocksZ,
  kLane,
  kWarp,
  kCount
};

struct Operand {
  enum class Kind : uint8_t {
    kRegister,   // value: its index in Kernel::registers
    kSpecial,    // value: a Special
    kInteger,    // value
    kF32,        // value: the bits
    kF64,        // value: the bits
    kParameter,  // value: where it begins, in bytes
    kShared,     // value: its address
    kLabel,      // text, as it is not declared before
    kSink,       // _
    kAddress,    // parts[0] + value
    kList,       // {parts}
    kPair        // parts[0]|parts[1]
  };
  Kind kind = Kind::kInteger;
  std::string text;
  int64_t value = 0;
  std::vector<Operand> parts;
};

struct Statement {
  int line = 0;
  std::string opcode;
  int guard = -1;  // the register of @p; -1: none
  bool guardNot = false;
  std::vector<Operand> operands;
};

struct Parameter {
  uint32_t offset = 0;  // among the kernel's parameters, in bytes
  uint32_t bytes = 0;
};

struct Kernel {
  std::string name;
  int endLine = 0;
  std::vector<Parameter> parameters;
  std::vector<Type> registers;
  uint64_t sharedBytes = 0;                          // static
  std::array<uint32_t, 3> blockThreads = {0, 0, 0};  // .reqntid; 0: not said
  std::vector<Statement> statements;
  std::map<std::string, size_t> labels;  // the statement behind each
};

struct Module {
  int architecture = 0;  // 90 of sm_90
  std::vector<Kernel> kernels;
};

/// Reads what LLVM's NVPTX backend writes for kernels without calls, local memory and global
/// variables. INVALID_ARGUMENT with the line for anything else.
absl::StatusOr<Module> parse(const std::string& text);

/// "line 7: …"
absl::Status errorAt(int line, const std::string& what);

}  // namespace graphrun::testing::ptx

#endif  // GRAPHRUN_TESTS_DEVICES_CUDA_SIMULATOR_PTX_TEXT_H_
