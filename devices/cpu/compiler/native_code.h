// LLVM dialect to machine code of this CPU, linked as a shared object.
#ifndef GRAPHRUN_DEVICES_CPU_COMPILER_NATIVE_CODE_H_
#define GRAPHRUN_DEVICES_CPU_COMPILER_NATIVE_CODE_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "mlir/IR/BuiltinOps.h"

namespace graphrun::devices::cpu {

/// Widest vector register of this CPU in bits: 512, 256 or 128.
int64_t nativeVectorBits();

/// Optimises and compiles a module of the LLVM dialect for this CPU and links it with LLD. Libm
/// functions stay undefined and resolve when the object is loaded. Internal on failure.
absl::StatusOr<std::vector<uint8_t>> compileNative(mlir::ModuleOp module);

}  // namespace graphrun::devices::cpu

#endif  // GRAPHRUN_DEVICES_CPU_COMPILER_NATIVE_CODE_H_
