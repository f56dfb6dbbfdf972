// A device spec says what is wanted of a device, by cluster.yaml or by whoever found the device.
#ifndef GRAPHRUN_RUNTIME_CLUSTER_DEVICE_SPEC_H_
#define GRAPHRUN_RUNTIME_CLUSTER_DEVICE_SPEC_H_

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/base/device_kind.h"

namespace graphrun::runtime {

/// A device of a worker, as placement may use it.
struct DeviceSpec {
  DeviceKind kind;
  /// The number of the hardware on its worker; devices on the host's cores are numbered as they
  /// come.
  int index = 0;
  std::string source;  ///< who asked for the device: "cluster.yaml:12", for messages; "": nobody
  /// On the host's cores: the logical CPUs it may use; empty: all that the worker's process may,
  /// which any other CPU device of its host may have, too.
  std::vector<int> cores;
  /// The cores are those that the process may use, as the worker said, not some that were given to
  /// the device.
  bool coresFound = false;
  /// Other devices of the worker that say so too may have the same cores. Such devices take turns.
  bool shared = false;
  /// On the host's cores: whether placement may split it for branches.
  bool splits = true;
  /// In the client's process too the model's inputs and outputs reach it over edges, as they
  /// reach a device of another process: for tests of what crosses.
  bool detached = false;
  int64_t memoryBytes = 0;   ///< limit; 0: none given
  std::string memorySource;  ///< who gave it: "cluster.yaml:12", for messages
  /// The weight says how much the device is wanted: placement counts its time 1/weight times.
  double weight = 1;
  /// Threads of a kernel; 0: one a core, and unknown where no cores are given either.
  int threads = 0;
};

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_CLUSTER_DEVICE_SPEC_H_
