// Instructions of the library that let go of a NaN. Internal to devices/cpu.
//
// Maxima and minima of x86 give their second operand where one is a NaN, and the library puts the
// bound there: relu and clip make numbers of NaN, and with them a model's broken values look sound.
// Its other forms are no way out: relu as a leaky one of factor 0 is the same instruction, as PReLU
// of weights 0 it makes -0 of negative numbers and NaN of -Inf; a pass of our own behind each
// product, and a look at all operands before it, cost 1 to 4 % of a residual block. But each such
// machine instruction raises the invalid flag of its thread (invalid_operations.h). So an
// instruction is run as it is, at the cost of reading a register, and when something was raised it
// is computed again, exactly. Where there is no such flag, or an instruction overwrites an operand,
// what loses NaN is done behind the library's part in all cases.
#ifndef GRAPHRUN_DEVICES_CPU_ONEDNN_NAN_GUARD_H_
#define GRAPHRUN_DEVICES_CPU_ONEDNN_NAN_GUARD_H_

#include "devices/cpu/onednn/onednn_primitive.h"

namespace graphrun::devices::cpu {

/// True for an operation that is a sum of products, which keeps NaN.
bool isProduct(const Instruction& instruction);

/// The first post-op by which the library may lose a NaN; their number where there is none.
size_t firstLosingNaN(const Instruction& instruction);

/// Returns whether the library may lose a NaN, or an infinity, in `instruction`.
bool mayLoseNaN(const Instruction& instruction);
/// The same of the operation, without its post-ops.
bool operationMayLoseNaN(const Instruction& instruction);

/// Returns whether an instruction that has run can be seen to have lost one, and be computed again.
bool canBeGuarded(const Instruction& instruction);

/// The first post-op that is not the library's, as it may lose a NaN that nobody would see; their
/// number where there is none.
size_t firstLosingUnseen(const Instruction& instruction);

/// `kernel`, which `plan` planned for `instruction`, and what to do when it has lost a NaN.
std::unique_ptr<Kernel> guardNaN(std::unique_ptr<Kernel> kernel, const Instruction& instruction,
                                 PlanFunction plan, const OneDnn& onednn);

}  // namespace graphrun::devices::cpu

#endif  // GRAPHRUN_DEVICES_CPU_ONEDNN_NAN_GUARD_H_
