// The two ends of an edge: what a gr.send and a gr.recv call every step. No lock, allocation,
// string or look-up on these calls, but for failures.
#ifndef GRAPHRUN_RUNTIME_TRANSPORT_EDGE_H_
#define GRAPHRUN_RUNTIME_TRANSPORT_EDGE_H_

#include <memory>
#include <optional>
#include <string>

#include "runtime/transport/transport.h"
#include "runtime/transport/wire.h"

namespace graphrun::runtime {

class TransportCore;
struct Link;

/// An Edge has the state that both ends share: identity, failure, and a count of what the network
/// still holds of it.
class Edge {
 public:
  Edge(const Edge&) = delete;
  Edge& operator=(const Edge&) = delete;

  const EdgeSpec& spec() const { return spec_; }
  /// Returns whether the edge or its link failed: no step will move any more.
  bool failed() const;
  /// Why, naming edge and peer; OK if it did not. Thread-safe.
  absl::Status status() const;

 protected:
  friend class TransportCore;
  Edge(TransportCore* core, Link* link, const EdgeSpec& spec, const char* direction)
      : core_(core), link_(link), spec_(spec), direction_(direction) {}
  ~Edge() = default;

  /// "edge 3 (plan 1f) to rank 2".
  std::string name() const;
  absl::Status waitFor(absl::FunctionRef<bool()> ready, uint64_t step, const char* forWhat,
                       const WaitOptions& options) const;

  TransportCore* core_;
  Link* link_;
  EdgeSpec spec_;
  const char* direction_;
  uint64_t handle_ = 0;
  std::atomic<uint32_t> pins_{0};  // slots that the network holds
  std::atomic<bool> failed_{false};
  absl::Status failure_;  // written once, before failed_
};

/// The producer's end. One thread at a time sends; sent and waitSent may be called by others.
class SendEdge final : public Edge {
 public:
  /// Starts sending `bytes` at `data` as the value of `step`. False: the slot is still taken, the
  /// consumer has not yet released `step - slots` (or not yet opened its end); nothing was done.
  /// Of `data` nothing may change until sent(step). A slot's steps must ascend.
  /// InvalidArgument: over maxBytes. Else the edge's failure.
  /// `mayRide`: another payload for this peer follows at once, and may take this one along; if none
  /// comes, or this one is not small (RidingPayload), it goes by itself some 30 us later at most.
  absl::StatusOr<bool> trySend(uint64_t step, const void* data, size_t bytes, bool mayRide = false);
  /// Waits until trySend finds the slot free.
  absl::Status waitSlot(uint64_t step, const WaitOptions& options) const;
  /// trySend, waiting for the slot.
  absl::Status send(uint64_t step, const void* data, size_t bytes, const WaitOptions& options,
                    bool mayRide = false);
  /// Returns whether the buffer of `step` may be written again. In place: whether it was released.
  bool sent(uint64_t step) const;
  absl::Status waitSent(uint64_t step, const WaitOptions& options) const;

 private:
  friend class TransportCore;
  SendEdge(TransportCore* core, Link* link, const EdgeSpec& spec);
  bool slotFree(uint64_t step) const;
  void onCredit(uint64_t step);

  std::atomic<uint64_t> remote_{0};  // the receiver's handle, once it told
  bool remoteOnHost_ = true;         // where payloads land; written once, before remote_
  std::unique_ptr<SendSlot[]> slots_;
};

/// The consumer's end. One thread at a time polls and waits; release of an earlier step, one at a
/// time too, may be called by another.
class RecvEdge final : public Edge {
 public:
  /// The value of `step` if it has landed.
  std::optional<Received> poll(uint64_t step) const;
  /// poll, waiting for it.
  absl::StatusOr<Received> wait(uint64_t step, const WaitOptions& options) const;
  /// Gives the slot of `step`, which must have landed, back to the producer.
  void release(uint64_t step);

 private:
  friend class TransportCore;
  RecvEdge(TransportCore* core, Link* link, const EdgeSpec& spec, absl::Span<void* const> buffers);

  std::unique_ptr<RecvSlot[]> slots_;
};

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_TRANSPORT_EDGE_H_
