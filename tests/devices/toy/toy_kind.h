// The record of the kind "toy": memory of its own, no collectives, no copies between its devices.
#ifndef GRAPHRUN_TESTS_DEVICES_TOY_TOY_KIND_H_
#define GRAPHRUN_TESTS_DEVICES_TOY_TOY_KIND_H_

#include "runtime/base/device_kind.h"

namespace graphrun::devices {

/// So fast that whatever may go there does.
inline runtime::DeviceKind toyKind() {
  runtime::DeviceKind kind;
  kind.name = "toy";
  kind.onHostCores = false;
  kind.memory = "toy";
  kind.rates.opOverheadNs = 1;
  kind.rates.memoryBytesPerSecond = 1e15;
  kind.rates.opsPerSecond.fill(1e18);
  return kind;
}

}  // namespace graphrun::devices

#endif  // GRAPHRUN_TESTS_DEVICES_TOY_TOY_KIND_H_
