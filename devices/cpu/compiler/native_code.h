// The LLVM dialect becomes machine code of this CPU, linked as a shared object.
#ifndef GRAPHRUN_DEVICES_CPU_COMPILER_NATIVE_CODE_H_
#define GRAPHRUN_DEVICES_CPU_COMPILER_NATIVE_CODE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "devices/codegen/llvm_code.h"
#include "mlir/IR/BuiltinOps.h"

namespace graphrun::devices::cpu {

/// Widest vector register that code may use (devices/cpu/vectors/instructions.h) in bits: 512, 256
/// or 128.
int64_t nativeVectorBits();

using codegen::CodeTarget;

/// This CPU, with the features that code may use.
CodeTarget nativeTarget();

/// Optimises and compiles modules of the LLVM dialect, on at most `threads` threads: an ELF object
/// file for each. Internal on failure.
absl::StatusOr<std::vector<std::vector<uint8_t>>> compileNative(
    llvm::ArrayRef<mlir::ModuleOp> modules, const CodeTarget& target, int threads);

/// Links object files with LLD into a shared object. Libm functions stay undefined and resolve when
/// it is loaded. Internal on failure.
absl::StatusOr<std::vector<uint8_t>> linkNative(llvm::ArrayRef<std::vector<uint8_t>> objects);

}  // namespace graphrun::devices::cpu

#endif  // GRAPHRUN_DEVICES_CPU_COMPILER_NATIVE_CODE_H_
