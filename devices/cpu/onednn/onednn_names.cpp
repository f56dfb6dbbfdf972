#include "devices/cpu/onednn/onednn_names.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/pair_table.h"

namespace graphrun::devices::cpu {
namespace {

using dnnl::algorithm;
using Name = std::pair<absl::string_view, algorithm>;

constexpr Name kElementwise[] = {
    {"gr.relu", algorithm::eltwise_relu},  {"gr.leaky_relu", algorithm::eltwise_relu},
    {"gr.abs", algorithm::eltwise_abs},    {"gr.sqrt", algorithm::eltwise_sqrt},
    {"gr.clip", algorithm::eltwise_clip},  {"gr.round", algorithm::eltwise_round},
    {"linear", algorithm::eltwise_linear},
};

constexpr Name kBinary[] = {
    {"gr.add", algorithm::binary_add}, {"gr.sub", algorithm::binary_sub},
    {"gr.mul", algorithm::binary_mul}, {"gr.div", algorithm::binary_div},
    {"gr.min", algorithm::binary_min}, {"gr.max", algorithm::binary_max},
};

constexpr Name kReductions[] = {
    {"sum", algorithm::reduction_sum},  {"mean", algorithm::reduction_mean},
    {"max", algorithm::reduction_max},  {"min", algorithm::reduction_min},
    {"prod", algorithm::reduction_mul},
};

template <size_t N>
absl::StatusOr<algorithm> find(const Name (&names)[N], absl::string_view name,
                               absl::string_view what) {
  std::optional<algorithm> found = runtime::valueFor(names, name);
  if (!found) {
    return absl::UnimplementedError(absl::StrCat("oneDNN has no ", what, " ", name));
  }
  return *found;
}

}  // namespace

absl::StatusOr<algorithm> eltwiseAlgorithm(absl::string_view operation) {
  return find(kElementwise, operation, "post-op for");
}

absl::StatusOr<algorithm> binaryAlgorithm(absl::string_view operation) {
  return find(kBinary, operation, "binary");
}

absl::StatusOr<algorithm> reductionAlgorithm(absl::string_view kind) {
  return find(kReductions, kind, "reduction");
}

}  // namespace graphrun::devices::cpu
