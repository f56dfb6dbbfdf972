// The roofline gives the time of an operation where no measurement exists.
#ifndef GRAPHRUN_PLACEMENT_CLUSTER_ROOFLINE_H_
#define GRAPHRUN_PLACEMENT_CLUSTER_ROOFLINE_H_

#include <cstdint>

#include "placement/cluster/device_model.h"

namespace graphrun::placement {

/// OpWork is the amount of work in one execution of an operation.
struct OpWork {
  /// Arithmetic operations; a multiply-add counts as two.
  int64_t flops = 0;
  int64_t bytesRead = 0;
  int64_t bytesWritten = 0;
  OpClass opClass = OpClass::kOther;
  runtime::ElementType type = runtime::ElementType::kInvalid;
  /// The number of steps of a sequence, each of which needs the one before: a recurrent layer's.
  int64_t steps = 1;
};

/// Nanoseconds of `work` on `model`: overhead + max(flops / reachable peak, bytes / bandwidth),
/// rounded up; a sequence has an overhead a step. Source: Williams, Waterman, Patterson,
/// "Roofline", CACM 52(4), 2009.
int64_t rooflineNs(const OpWork& work, const DeviceModel& model);

}  // namespace graphrun::placement

#endif  // GRAPHRUN_PLACEMENT_CLUSTER_ROOFLINE_H_
