// These are the functions of devices/functions over rows of f32, compiled for the machine's
// vectors. Internal to devices/cpu.
#ifndef GRAPHRUN_DEVICES_CPU_VECTORS_ROW_FUNCTIONS_H_
#define GRAPHRUN_DEVICES_CPU_VECTORS_ROW_FUNCTIONS_H_

#include <cstdint>
#include <optional>

#include "absl/strings/string_view.h"
#include "devices/executable/executable.h"

namespace graphrun::devices::cpu {

/// A function with its parameters. Its results are to the bit those of generated kernels, on every
/// machine.
struct RowFunction {
  using Run = void (*)(const float* x, float* y, int64_t count, float alpha, float beta);
  Run run = nullptr;
  float alpha = 0;  ///< the first parameter of the gr operation, if it has one
  float beta = 0;   ///< the second

  /// y[i] = f(x[i]), on this thread; y may be x.
  void operator()(const float* x, float* y, int64_t count) const { run(x, y, count, alpha, beta); }
};

/// Returns the function of an operation: gr.exp, …, or gelu_tanh; nothing for those that are not
/// among devices/functions. `rounded` is the type that its results are rounded to next: for one of
/// 16 bits there may be a shorter form.
std::optional<RowFunction> rowFunction(absl::string_view operation, runtime::ElementType rounded,
                                       float alpha = 0, float beta = 0);

/// Returns the function of an element-wise post-op.
std::optional<RowFunction> rowFunction(const PostOp& op,
                                       runtime::ElementType rounded = runtime::ElementType::kF32);

}  // namespace graphrun::devices::cpu

#endif  // GRAPHRUN_DEVICES_CPU_VECTORS_ROW_FUNCTIONS_H_
