// Values may go from device to device without the host's memory: a kind of device may offer this
// beside the core of the contract (devices/device.h).
#ifndef GRAPHRUN_DEVICES_DIRECT_TRANSFERS_H_
#define GRAPHRUN_DEVICES_DIRECT_TRANSFERS_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace graphrun::devices {

class Device;

/// A DirectTransfer says how the value of an edge goes from device to device without the host's
/// memory.
enum class DirectTransfer : uint8_t {
  /// Both devices are of this process, and both ends are told: the receiver takes the value where
  /// the sender has it (DirectTransfers::canAccessPeer). What the executor passes between their
  /// buffers only they understand; it is valid until the step ends.
  kPeerCopy,
  /// A transport carries it: the end that is told has it in its device's own memory
  /// (DirectTransfers::allocateDevice), whatever the other end does.
  kNetwork
};

/// DirectTransfers are what a device offers for values that do not go through the host's memory.
/// Thread-safe.
class DirectTransfers {
 public:
  virtual ~DirectTransfers() = default;
  /// Returns OK when this device and `to`, another one of this process, can do
  /// DirectTransfer::kPeerCopy. It was tried, when it was first asked; the status says why not.
  /// Unimplemented where no device of the kind does.
  virtual absl::Status canAccessPeer(Device& to) = 0;
  /// The name of the device's own memory: DeviceKind::memory.
  virtual absl::string_view memory() const = 0;
  /// Memory of the device's own, which the host cannot use: for what transports carry.
  virtual absl::StatusOr<void*> allocateDevice(size_t bytes) = 0;
  virtual void deallocateDevice(void* memory) = 0;
  /// Blocking copies between the host's memory and such.
  virtual absl::Status copyToDevice(void* to, const void* from, size_t bytes) = 0;
  virtual absl::Status copyFromDevice(void* to, const void* from, size_t bytes) = 0;
};

/// The ends of edges in a program that can do without the host's memory.
class DirectEdges {
 public:
  virtual ~DirectEdges() = default;
  /// Returns whether this end of edges()[index] can do without the host's memory.
  virtual bool canTransferDirectly(size_t index) const = 0;
  /// From now on it does; before the first step, needs canTransferDirectly. `edges()[index].buffer`
  /// may then be another than before.
  virtual absl::Status transferDirectly(size_t index, DirectTransfer transfer) = 0;
};

}  // namespace graphrun::devices

#endif  // GRAPHRUN_DEVICES_DIRECT_TRANSFERS_H_
