// A StateStore holds the states of a job in this process: named tensors that outlive plans.
#ifndef GRAPHRUN_RUNTIME_WORKER_STATE_STORE_H_
#define GRAPHRUN_RUNTIME_WORKER_STATE_STORE_H_

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "devices/device.h"
#include "runtime/base/tensor.h"
#include "runtime/executor/state_cell.h"
#include "runtime/worker/device_set.h"

namespace graphrun::runtime {

/// States by name, each in the memory of the first device that a plan had it on. All programs of
/// the process that name a state share it: when a plan goes, is tuned or is placed again, its
/// values stay. Thread-safe, but for the elements: no step that uses a state may run while it is
/// read or set.
class StateStore {
 public:
  /// The cell of a program's state on `device`, which is made with its first value unless it is
  /// there. InvalidArgument where another program or `set` has it of another type or shape;
  /// Unimplemented for a device whose memory is not the host's; what `weights` and the device's
  /// allocation fail with.
  absl::StatusOr<std::shared_ptr<StateCell>> bind(const devices::StateBinding& binding,
                                                  devices::WeightSource& weights,
                                                  const std::shared_ptr<SharedDevice>& device);

  /// A copy of the value of a state; nothing for one that no plan has had and nobody has set.
  std::optional<HostTensor> get(const std::string& name);
  /// Gives a state a value, also before a plan has it. InvalidArgument for one of another type or
  /// shape than it has.
  absl::Status set(const std::string& name, const HostTensor& value);

  /// The job is over: forgets all. Cells that programs still have stay valid.
  void clear();

 private:
  struct Entry {
    TensorSpec spec;
    std::shared_ptr<StateCell> cell;  // null: no plan has had it
    HostTensor given;                 // what `set` gave it before that
  };

  std::mutex mutex_;
  std::map<std::string, Entry> states_;
};

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_WORKER_STATE_STORE_H_
