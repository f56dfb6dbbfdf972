// oneDNN's names of operations of the gr dialect. Internal to devices/cpu.
#ifndef GRAPHRUN_DEVICES_CPU_ONEDNN_ONEDNN_NAMES_H_
#define GRAPHRUN_DEVICES_CPU_ONEDNN_ONEDNN_NAMES_H_

#include <dnnl.hpp>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace graphrun::devices::cpu {

/// The library's algorithm for an element-wise gr operation, or Unimplemented: those whose results
/// are exact, so that it gives the bits of all other kernels. `linear` (alpha * x + beta) is known
/// too.
absl::StatusOr<dnnl::algorithm> eltwiseAlgorithm(absl::string_view operation);

/// The same for an operation on two tensors: "gr.add".
absl::StatusOr<dnnl::algorithm> binaryAlgorithm(absl::string_view operation);

/// The same for a kind of gr.reduce: "sum".
absl::StatusOr<dnnl::algorithm> reductionAlgorithm(absl::string_view kind);

}  // namespace graphrun::devices::cpu

#endif  // GRAPHRUN_DEVICES_CPU_ONEDNN_ONEDNN_NAMES_H_
