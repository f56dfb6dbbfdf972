// These functions tell what the machine's instructions can do, and how much of that this process
// may use.
#ifndef GRAPHRUN_DEVICES_CPU_VECTORS_INSTRUCTIONS_H_
#define GRAPHRUN_DEVICES_CPU_VECTORS_INSTRUCTIONS_H_

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace graphrun::devices::cpu {

/// The environment variable that limits the instructions of generated, own and library kernels.
inline constexpr char kInstructionLimitVariable[] = "GRAPHRUN_MAX_ISA";

/// Sets of vector instructions of x86-64, each with all before it. The library's kernels begin at
/// SSE4.1, which is what they use under kSse2.
enum class InstructionSet { kSse2, kAvx2, kAvx2Vnni, kAvx512, kAvx512Vnni, kAvx512Bf16, kAmx };

/// The set that `text` names, in upper or lower case; nothing for "". InvalidArgument, with the
/// names that there are, for anything else and on other processors than x86-64.
absl::StatusOr<std::optional<InstructionSet>> parseInstructionLimit(absl::string_view text);

/// The limit of this process: nothing where the variable is not set. The first call reads it and
/// tells oneDNN: it must come before that library's first use. Thread-safe.
const absl::StatusOr<std::optional<InstructionSet>>& instructionLimit();

/// Returns, of kSse2, kAvx2 and kAvx512, the widest that the machine has and the limit allows;
/// kAvx2 stands for FMA too.
InstructionSet loopInstructions();

/// The library's set as a number of its own, under the limit.
int libraryInstructions();

/// Returns what `graphrun doctor` tells: the sets of loops and library, and the limit. A wrong
/// limit is told as such.
std::string describeInstructions();

/// True where u8 times i8 is summed exactly: elsewhere pairs of products saturate to 16 bits.
bool sumsBytesExactly();

/// True where there are products of bf16.
bool multipliesBFloat16();

}  // namespace graphrun::devices::cpu

#endif  // GRAPHRUN_DEVICES_CPU_VECTORS_INSTRUCTIONS_H_
