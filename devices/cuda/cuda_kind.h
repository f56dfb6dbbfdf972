// The record of the kind "cuda", which is there in builds without CUDA as well: clusters with GPUs
// can be planned anywhere.
#ifndef GRAPHRUN_DEVICES_CUDA_CUDA_KIND_H_
#define GRAPHRUN_DEVICES_CUDA_CUDA_KIND_H_

#include "runtime/base/device_kind.h"

namespace graphrun::devices::cuda {

/// A generic data-centre GPU.
inline runtime::DeviceKind cudaKind() {
  using runtime::ElementType;
  using runtime::OpClass;
  runtime::DeviceKind kind;
  kind.name = "cuda";
  kind.onHostCores = false;
  kind.memory = "cuda";
  kind.peerCopy = true;
  kind.collectives = true;
  kind.rates.opOverheadNs = 5000;
  kind.rates.stepOverheadNs = 6000;  // a product and a cell, in a graph of launches
  kind.rates.memoryBytesPerSecond = 1.5e12;
  kind.rates.opsPerSecond.fill(15e12);
  for (ElementType type : {ElementType::kF64, ElementType::kI64, ElementType::kU64}) {
    kind.rates.opsOf(type) = 7e12;
  }
  for (ElementType type :
       {ElementType::kF16, ElementType::kBF16, ElementType::kI8, ElementType::kU8}) {
    kind.rates.opsOf(type) = 200e12;
  }
  kind.rates.efficiency.fill(0.3);
  kind.rates.efficiencyOf(OpClass::kMatmul) = 0.6;
  kind.rates.efficiencyOf(OpClass::kConvolution) = 0.5;
  return kind;
}

}  // namespace graphrun::devices::cuda

#endif  // GRAPHRUN_DEVICES_CUDA_CUDA_KIND_H_
