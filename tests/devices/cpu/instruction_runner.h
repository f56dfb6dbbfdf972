// Runs one operation as a whole executable: the smallest compiler of the CPU device.
#ifndef GRAPHRUN_TESTS_DEVICES_CPU_INSTRUCTION_RUNNER_H_
#define GRAPHRUN_TESTS_DEVICES_CPU_INSTRUCTION_RUNNER_H_

#include <initializer_list>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "devices/cpu/runtime/cpu_device.h"
#include "devices/executable/executable.h"
#include "runtime/base/tensor.h"

namespace graphrun::devices::cpu {

using runtime::ElementType;
using runtime::HostTensor;
using runtime::TensorSpec;
using Tensors = std::vector<HostTensor>;
using Dims = std::vector<int64_t>;

/// A tensor of `type` with `values`, converted.
HostTensor tensor(ElementType type, Dims dims, const std::vector<double>& values);
inline HostTensor f32(Dims dims, const std::vector<double>& values) {
  return tensor(ElementType::kF32, std::move(dims), values);
}
inline HostTensor i64(Dims dims, const std::vector<double>& values) {
  return tensor(ElementType::kI64, std::move(dims), values);
}
/// The elements as doubles.
std::vector<double> values(const HostTensor& tensor);
/// f32 elements in [low, high).
HostTensor randomTensor(Dims dims, std::mt19937& random, double low = -1, double high = 1);

/// Weights held by the test.
class TestWeights : public WeightSource {
 public:
  absl::StatusOr<Weight> weight(uint32_t index) override;
  std::vector<absl::Span<const uint8_t>> list;
  std::shared_ptr<const void> owner;  ///< of all; null: they are there during a load only
};

/// A program with its device and the memory bound to its inputs and outputs.
absl::StatusOr<Tensors> runExecutable(const Executable& executable, const Tensors& inputs,
                                      int runs = 1);

/// How an operation is run.
struct RunOptions {
  std::string kernel = "reference";
  bool open = false;         ///< the kernel chooses layouts; reorders stand around it
  std::set<size_t> weights;  ///< operands that are packed at load
  bool openWeights = false;  ///< the layouts of these operands are open, whatever `open` says
  std::vector<TensorDesc> layouts;  ///< of the first operands, whatever `open` says
};

struct Operation {
  std::string name;
  Attributes attributes;
  std::vector<TensorSpec> outputs;
  std::vector<PostOp> postOps;  ///< operands are the last of the inputs, in order
};

/// The executable that computes `operation`; OK status of the kernel's choice required.
absl::StatusOr<Executable> makeExecutable(const Operation& operation, const Tensors& inputs,
                                          const RunOptions& options);
absl::StatusOr<Tensors> runOperation(const Operation& operation, const Tensors& inputs,
                                     const RunOptions& options = {});

/// The same by the reference kernel, for operands that are listed.
inline absl::StatusOr<Tensors> tryRun(const std::string& name, const Attributes& attributes,
                                      const std::vector<TensorSpec>& outputs,
                                      const Tensors& inputs) {
  return runOperation({name, attributes, outputs, {}}, inputs);
}
template <typename... Rest>
Tensors list(Rest... tensors) {
  Tensors result;
  (result.push_back(std::move(tensors)), ...);
  return result;
}

/// The device that tests run on: all cores, not pinned.
CpuDevice& testDevice();

/// Largest |a - b| / (1 + |b|) of two tensors of one shape; infinity when they differ in shape or
/// NaN.
double distance(const HostTensor& a, const HostTensor& b);

/// The 2-norm of a - b over that of b; infinity when they differ in shape or one is no number.
double normDistance(const HostTensor& a, const HostTensor& b);

/// The most of normDistance that a result of bf16 may have.
inline constexpr double kBFloat16Norm = 2e-2;

}  // namespace graphrun::devices::cpu

#endif  // GRAPHRUN_TESTS_DEVICES_CPU_INSTRUCTION_RUNNER_H_
