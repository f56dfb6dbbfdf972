// A session without a cluster places on its own devices, which are those of its process.
#ifndef GRAPHRUN_RUNTIME_SESSION_OWN_DEVICES_H_
#define GRAPHRUN_RUNTIME_SESSION_OWN_DEVICES_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "runtime/cluster/cluster_description.h"
#include "runtime/control/worker_handler.h"
#include "runtime/session/session.h"

namespace graphrun::runtime {

/// The name of this machine in plans without a cluster: devices are "local/cpu:0", and so on,
/// and users may leave "local/" out.
inline constexpr char kOwnMachine[] = "local";

/// A piece of hardware: what "cpu:0" is not.
struct Hardware {
  std::string kind;
  uint32_t index = 0;
};

/// Why `worker`, which `isHere` if it is on this machine, does not have such hardware: what is
/// missing and how to get it. Of others that is what they said when they joined:
/// WorkerOffer::missing.
absl::Status missingDevice(const std::string& worker, const Hardware& hardware, bool isHere,
                           absl::Span<const std::string> missing = {});

/// OK when this process may use the logical CPUs that `cluster` gives to workers on this machine,
/// those to be started and those in this process. At the stage of placement.
absl::Status checkOwnCores(const ClusterDescription& cluster);

/// The same for a worker that has joined and offers `offers`.
absl::Status checkCores(const GivenWorker& worker, absl::Span<const DeviceDescription> offers);

/// OK when all hardware that `options` name (pins, limits, a placement on one device) is among
/// `offers`, the devices of this process; else what is missing. At the stage of placement.
absl::Status checkNamedHardware(const SessionOptions& options,
                                absl::Span<const DeviceDescription> offers);

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_SESSION_OWN_DEVICES_H_
