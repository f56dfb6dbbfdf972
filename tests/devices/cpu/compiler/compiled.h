// Compiles the text of a partition, as the tests of the compiler do.
#ifndef GRAPHRUN_TESTS_DEVICES_CPU_COMPILER_COMPILED_H_
#define GRAPHRUN_TESTS_DEVICES_CPU_COMPILER_COMPILED_H_

#include <catch2/catch.hpp>
#include <string>
#include <utility>

#include "devices/cpu/base/onednn_layouts.h"
#include "devices/cpu/compiler/cpu_compiler.h"
#include "devices/executable/executable.h"
#include "ir/dialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"

namespace graphrun::devices::cpu {

/// The executable of the first function in `module`, for a device of `threads` threads and
/// `memoryBytes` (0: no limit).
inline Executable compiled(mlir::ModuleOp module, Tuning& tuning, uint32_t threads = 1,
                           uint64_t memoryBytes = 0) {
  DeviceDescription device{"here/cpu:0", "cpu", 0, {}, memoryBytes, threads};
  auto bytes = CpuCompiler().compile(
      *module.getOps<mlir::func::FuncOp>().begin(), device, "test",
      [](mlir::Operation*) { return std::nullopt; }, tuning);
  REQUIRE(bytes.status().ToString() == "OK");
  auto executable = readExecutable(*bytes, layoutBytes);
  REQUIRE(executable.status().ToString() == "OK");
  return *std::move(executable);
}

/// The same of the first function in `text`.
inline Executable compiled(const std::string& text, Tuning& tuning, uint32_t threads = 1,
                           uint64_t memoryBytes = 0) {
  mlir::MLIRContext context;
  context.loadDialect<ir::GRDialect, mlir::func::FuncDialect>();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  REQUIRE(module);
  return compiled(*module, tuning, threads, memoryBytes);
}

/// The same by estimates.
inline Executable compiled(const std::string& text) {
  Tuning tuning;
  return compiled(text, tuning);
}

}  // namespace graphrun::devices::cpu

#endif  // GRAPHRUN_TESTS_DEVICES_CPU_COMPILER_COMPILED_H_
