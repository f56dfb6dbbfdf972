#include "placement/cluster/roofline.h"

#include <algorithm>
#include <cmath>

namespace graphrun::placement {

int64_t rooflineNs(const OpWork& work, const DeviceModel& model) {
  double rate = model.peakOpsPerSecond[static_cast<size_t>(work.type)] *
                model.efficiency[static_cast<size_t>(work.opClass)];
  double compute = static_cast<double>(work.flops) / rate * 1e9;
  double memory =
      static_cast<double>(work.bytesRead + work.bytesWritten) / model.memoryBytesPerSecond * 1e9;
  double alone = std::max(compute, memory);
  double together = std::min(alone + model.joinNs, alone / model.oneThread);
  double overhead = model.opOverheadNs + static_cast<double>(work.steps - 1) * model.stepOverheadNs;
  return static_cast<int64_t>(std::ceil(overhead + together));
}

}  // namespace graphrun::placement
