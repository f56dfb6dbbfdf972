// A device description says which device is meant, and what it has.
#ifndef GRAPHRUN_RUNTIME_BASE_DEVICE_DESCRIPTION_H_
#define GRAPHRUN_RUNTIME_BASE_DEVICE_DESCRIPTION_H_

#include <cstdint>
#include <string>
#include <vector>

namespace graphrun::runtime {

/// A device as the run world knows it: a machine finds it, a worker offers it, a plan names it, and
/// it is opened and compiled for by this record.
struct DeviceDescription {
  std::string name;             ///< in the cluster: "node0/cpu:0"; as found: "cpu:0"
  std::string kind;             ///< the name of its kind: runtime/base/device_kind.h
  uint32_t index = 0;           ///< among the devices of its kind on the worker
  std::vector<uint32_t> cores;  ///< logical CPUs it may use; empty: all that the process may
  uint64_t memoryBytes = 0;     ///< limit for weights, arenas and edges; 0: none
  uint32_t threads = 0;         ///< cpu: that a kernel may use, not pinned; 0: one a core
  /// As found: the library that carries out collectives between devices of this kind ("nccl
  /// 2.28.3"): devices with equal texts can be in one communicator; "": none.
  std::string collectives;
  bool multipliesBytes = false;  ///< as found; cpu: u8 by i8, exactly and fast
};

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_BASE_DEVICE_DESCRIPTION_H_
