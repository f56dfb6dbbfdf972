// New values of weights are written into a copy of the ONNX file that they were trained from.
#ifndef GRAPHRUN_FRONTENDS_ONNX_WEIGHTS_WRITER_H_
#define GRAPHRUN_FRONTENDS_ONNX_WEIGHTS_WRITER_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "runtime/base/tensor.h"

namespace graphrun::frontends {

/// The value of an initializer or of a node Constant, by its name: row-major.
struct WeightValue {
  std::string name;
  runtime::TensorSpec spec;
  absl::Span<const uint8_t> bytes;
};

/// Copies the ONNX file `path` to `outPath`, whole or not at all, with these values in the place of
/// its own; what lay in files beside the model, of these weights, lies in the copy. Values whose
/// names the model does not have are no part of it, and left out. InvalidArgument for another type
/// or shape than the model's; FailedPrecondition where other weights are in files beside the model
/// and `outPath` is in another folder. Otherwise as importOnnx.
absl::Status writeWeights(const std::string& path, absl::Span<const WeightValue> values,
                          const std::string& outPath);

}  // namespace graphrun::frontends

#endif  // GRAPHRUN_FRONTENDS_ONNX_WEIGHTS_WRITER_H_
