// Collectives that devices carry out together: what a kind of device may offer beside the core of
// the contract (devices/device.h).
#ifndef GRAPHRUN_DEVICES_COLLECTIVES_H_
#define GRAPHRUN_DEVICES_COLLECTIVES_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace graphrun::devices {

/// A program's rank among devices that carry out collectives together (Plan.communicators).
struct CommunicatorRank {
  uint32_t communicator = 0;  ///< id in the plan
  uint32_t member = 0;        ///< this device's position in it
  uint32_t members = 0;
  /// One of the members got these bytes from Collectives::newCommunicatorId; they are the same at
  /// all.
  std::string id;
};

/// Collectives are what a device offers for collective operations. Thread-safe.
class Collectives {
 public:
  virtual ~Collectives() = default;
  /// Returns where the members of a new communicator meet: bytes for all of them, of one use. They
  /// may tell how to reach this process.
  virtual absl::StatusOr<std::string> newCommunicatorId() = 0;
};

/// The part that a program has in collectives.
class CollectiveProgram {
 public:
  virtual ~CollectiveProgram() = default;
  /// The communicators that its records use, by their ids in the plan, ascending.
  virtual absl::Span<const uint32_t> communicators() const = 0;
  /// Begins to join one of them, before the first step; does not wait for the other members.
  virtual absl::Status join(const CommunicatorRank& rank) = 0;
  /// Returns whether one that it began to join has all of its members by now; fails when it never
  /// will.
  virtual absl::StatusOr<bool> hasJoined(uint32_t communicator) = 0;
  /// Before steps: until when its records may wait for what other devices should do, in terms of
  /// nowNanos().
  virtual void setDeadline(int64_t nanos) = 0;
  /// Ends, soon, what its records wait for that other devices should do: their step fails, and so
  /// do all later ones. Thread-safe, from any thread, at any time; must not block.
  virtual void interrupt() = 0;
  /// No step follows. Begins what has to be done together with other devices before the program
  /// goes, so that several programs of a process can: the destructor waits, but not long.
  virtual void beginShutdown() = 0;
};

}  // namespace graphrun::devices

#endif  // GRAPHRUN_DEVICES_COLLECTIVES_H_
