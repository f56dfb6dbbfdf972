// This declares the record of the kind "cpu".
#ifndef GRAPHRUN_DEVICES_CPU_CPU_KIND_H_
#define GRAPHRUN_DEVICES_CPU_CPU_KIND_H_

#include "runtime/base/device_kind.h"

namespace graphrun::devices::cpu {

/// Generic vector cores at some 2.5 GHz: two 8-lane f32 multiply-adds a cycle.
inline runtime::DeviceKind cpuKind() {
  using runtime::ElementType;
  using runtime::OpClass;
  constexpr double kCoreF32 = 80e9;
  runtime::DeviceKind kind;
  kind.name = runtime::kHostKind;
  kind.onHostCores = true;
  kind.rates.opOverheadNs = 300;
  kind.rates.stepOverheadNs = 300;
  kind.rates.byThread = true;
  kind.rates.joinNs = 2000;
  kind.rates.threadScaling = 0.9;  // several lose something to splitting and joining
  kind.rates.memoryBytesPerSecond = 10e9;
  kind.rates.mostMemoryBytesPerSecond = 80e9;  // of a socket
  kind.rates.opsPerSecond.fill(kCoreF32);
  for (ElementType type : {ElementType::kF64, ElementType::kI64, ElementType::kU64}) {
    kind.rates.opsOf(type) = kCoreF32 / 2;
  }
  for (ElementType type : {ElementType::kI8, ElementType::kU8}) {
    kind.rates.opsOf(type) = kCoreF32 * 2;
  }
  kind.rates.efficiency.fill(0.1);
  kind.rates.efficiencyOf(OpClass::kMatmul) = 0.7;
  kind.rates.efficiencyOf(OpClass::kConvolution) = 0.7;
  kind.rates.efficiencyOf(OpClass::kNormalization) = 0.2;
  return kind;
}

}  // namespace graphrun::devices::cpu

#endif  // GRAPHRUN_DEVICES_CPU_CPU_KIND_H_
