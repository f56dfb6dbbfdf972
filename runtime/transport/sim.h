// A simulated network in one process, for tests: what a real one does to messages, from a seed.
#ifndef GRAPHRUN_RUNTIME_TRANSPORT_SIM_H_
#define GRAPHRUN_RUNTIME_TRANSPORT_SIM_H_

#include <functional>
#include <memory>

#include "runtime/transport/transport.h"

namespace graphrun::runtime {

struct SimOptions {
  uint64_t seed = 1;
  /// Each message takes a time from this range of simulated nanoseconds, so messages overtake each
  /// other. No real time passes.
  int64_t minDelayNanos = 1'000;
  int64_t maxDelayNanos = 100'000;
  /// Up to this size a payload is copied when it is sent; above, it is read from the sender's
  /// buffer when it is delivered, as a rendezvous does.
  size_t eagerBytes = 1024;
  /// Copies payloads, which then may also lie in memory of devices; unset: host memory only.
  std::function<void(void* to, const void* from, size_t bytes)> copy = {};
};

/// The network. Messages move when a transport on it makes progress: in a single-threaded test the
/// order of everything follows from the seed alone.
class SimNetwork {
 public:
  virtual ~SimNetwork() = default;
  /// Loses all messages between two ranks that are under way or sent later, both ways.
  virtual void cut(uint32_t a, uint32_t b) = 0;
  /// The same once `messages` more have been delivered between them.
  virtual void cutAfter(uint32_t a, uint32_t b, uint64_t messages) = 0;
  /// Loses the next `messages` that would be delivered between two ranks, and no more.
  virtual void loseNext(uint32_t a, uint32_t b, uint64_t messages) = 0;
  /// Number of messages delivered, and a hash of their order.
  virtual uint64_t delivered() const = 0;
  virtual uint64_t orderHash() const = 0;
};

std::shared_ptr<SimNetwork> makeSimNetwork(const SimOptions& options);

/// A transport for `rank`, unique on the network.
absl::StatusOr<std::unique_ptr<Transport>> makeSimTransport(std::shared_ptr<SimNetwork> network,
                                                            uint32_t rank);

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_TRANSPORT_SIM_H_
