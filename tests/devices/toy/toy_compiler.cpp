// The compile world with a compiler for toys: the registry with one row more.
#include "devices/cpu/compiler/cpu_compiler.h"
#include "devices/cpu/cpu_kind.h"
#include "placement/planner/device_compilers.h"
#include "tests/devices/toy/toy_kind.h"

namespace graphrun::devices {
namespace {

using Compiler = absl::StatusOr<std::unique_ptr<DeviceCompiler>>;

/// Toys run what CPUs run, by the same kernels.
class ToyCompiler final : public DeviceCompiler {
 public:
  explicit ToyCompiler(runtime::CodeStore* code) : cores_(code) {}

  std::string kind() const override { return "toy"; }
  std::string whyUnsupported(mlir::Operation* op) const override {
    return cores_.whyUnsupported(op);
  }
  absl::StatusOr<std::vector<uint8_t>> compile(mlir::func::FuncOp partition,
                                               const DeviceDescription& device,
                                               const std::string& fingerprint,
                                               const WeightIndex& weightIndex,
                                               Tuning& tuning) const override {
    return cores_.compile(partition, device, fingerprint, weightIndex, tuning);
  }

 private:
  cpu::CpuCompiler cores_;
};

constexpr CompilerRow kRows[] = {
    {cpu::cpuKind,
     [](runtime::CodeStore* code) -> Compiler { return std::make_unique<cpu::CpuCompiler>(code); }},
    {toyKind,
     [](runtime::CodeStore* code) -> Compiler { return std::make_unique<ToyCompiler>(code); }},
};

}  // namespace

absl::Span<const CompilerRow> compilerRows() { return kRows; }

}  // namespace graphrun::devices
