// From MLIR to PTX that NVIDIA's assembler takes.
#include "devices/cuda/compiler/emit/ptx.h"

#include <catch2/catch.hpp>

#include "devices/codegen/lowering_passes.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Parser/Parser.h"
#include "tests/devices/cuda/compiler/ptxas.h"

namespace graphrun::devices::cuda {
namespace {

constexpr int kCapabilities[] = {80, 90, 100};

/// Copies 4 floats a thread.
constexpr const char* kCopy = R"(
  module attributes {kernel.index_bits = 32 : i32} {
    func.func @copy(%from: !llvm.ptr {llvm.noalias}, %to: !llvm.ptr {llvm.noalias}, %size: i64)
        attributes {kernel.block_threads = 128 : i32} {
      %threads = arith.constant 128 : i32
      %thread = nvvm.read.ptx.sreg.tid.x : i32
      %block = nvvm.read.ptx.sreg.ctaid.x : i32
      %first = arith.muli %block, %threads : i32
      %number = arith.addi %first, %thread : i32
      %index = arith.index_castui %number : i32 to index
      %end = arith.index_cast %size : i64 to index
      %works = arith.cmpi ult, %index, %end : index
      scf.if %works {
        %offset = arith.index_castui %index : index to i64
        %source = llvm.getelementptr %from[%offset] : (!llvm.ptr, i64) -> !llvm.ptr, vector<4xf32>
        %target = llvm.getelementptr %to[%offset] : (!llvm.ptr, i64) -> !llvm.ptr, vector<4xf32>
        %value = llvm.load %source {alignment = 16 : i64} : !llvm.ptr -> vector<4xf32>
        llvm.store %value, %target {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr
      }
      return
    }
  })";

std::string ptxOf(const char* text, int computeCapability) {
  mlir::MLIRContext context;
  codegen::loadKernelDialects(context);
  context.loadDialect<mlir::NVVM::NVVMDialect>();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  REQUIRE(module);
  auto target = ptxTarget(computeCapability);
  REQUIRE(target.ok());
  auto ptx = emitPtx(*module, *target);
  REQUIRE(ptx.status().ToString() == "OK");
  return *ptx;
}

bool has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

TEST_CASE("PTX is made for the newest architecture that the GPU and LLVM know") {
  CHECK(ptxTarget(75)->processor == "sm_75");
  CHECK(ptxTarget(80)->processor == "sm_80");
  CHECK(ptxTarget(86)->processor == "sm_86");
  CHECK(ptxTarget(88)->processor == "sm_87");
  CHECK(ptxTarget(90)->processor == "sm_90");
  CHECK(ptxTarget(100)->processor == "sm_90");
  CHECK(ptxTarget(121)->processor == "sm_90");
  auto old = ptxTarget(70);
  CHECK(old.status().code() == absl::StatusCode::kUnimplemented);
  CHECK(has(old.status().ToString(), "compute capability 7.0; expected 7.5 or above"));
}

TEST_CASE("A kernel reads and writes global memory by vectors") {
  std::string ptx = ptxOf(kCopy, 80);
  INFO(ptx);
  CHECK(has(ptx, ".target sm_80"));
  CHECK(has(ptx, ".version 7.0"));
  CHECK(has(ptx, ".visible .entry copy("));
  CHECK(has(ptx, ".reqntid 128"));
  CHECK(has(ptx, "ld.global.nc.v4.f32"));
  CHECK(has(ptx, "st.global.v4.f32"));
  CHECK(has(ptxOf(kCopy, 100), ".target sm_90"));
}

TEST_CASE("The assembler takes PTX for each architecture") {
  if (!hasPtxas()) {
    return;
  }
  for (int capability : kCapabilities) {
    requireAssembles(ptxOf(kCopy, capability), capability);
  }
}

}  // namespace
}  // namespace graphrun::devices::cuda
