// This declares the record of the kind "null".
#ifndef GRAPHRUN_DEVICES_NULL_NULL_KIND_H_
#define GRAPHRUN_DEVICES_NULL_NULL_KIND_H_

#include "runtime/base/device_kind.h"

namespace graphrun::devices {

/// No cluster has one. A kind that computes says its rates here, and what it can do.
inline runtime::DeviceKind nullKind() {
  runtime::DeviceKind kind;
  kind.name = "null";
  kind.computes = false;
  kind.onHostCores = false;
  return kind;
}

}  // namespace graphrun::devices

#endif  // GRAPHRUN_DEVICES_NULL_NULL_KIND_H_
