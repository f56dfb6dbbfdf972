// A program carries out collectives in communicators of NCCL. Internal to devices/cuda.
#ifndef GRAPHRUN_DEVICES_CUDA_NCCL_COMMUNICATORS_H_
#define GRAPHRUN_DEVICES_CUDA_NCCL_COMMUNICATORS_H_

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "devices/cuda/driver/libraries.h"
#include "devices/device.h"

namespace graphrun::devices::cuda {

/// The id that Collectives::newCommunicatorId gives: a unique one of NCCL, which this process
/// listens for from now on.
absl::StatusOr<std::string> newCommunicatorId(Libraries& libraries);

/// Those of one program. They are NCCL's non-blocking ones, whose state is asked again and again,
/// so that every wait for other members has an end. Once one fails, or is told to end, all are
/// broken off, which ends kernels that wait for other members: these never leave them by
/// themselves. One thread at a time, the context of the GPU being its own, but for `interrupt`.
class Communicators {
 public:
  explicit Communicators(Libraries& libraries) : libraries_(libraries) {}
  /// Waits for other members to leave, but not long.
  ~Communicators();
  Communicators(const Communicators&) = delete;
  Communicators& operator=(const Communicators&) = delete;

  /// Before the first is joined: which there are, ascending.
  void expect(std::vector<uint32_t> ids) { ids_ = std::move(ids); }
  absl::Span<const uint32_t> ids() const { return ids_; }
  /// See Program.
  absl::Status join(const CommunicatorRank& rank);
  absl::StatusOr<bool> hasJoined(uint32_t id);
  void setDeadline(int64_t nanos) { deadlineNanos_ = nanos; }
  void interrupt() { interrupted_.store(true); }
  void beginShutdown();

  /// Puts a collective into a stream: `call`, of NCCL's `function`, does. Returns when the library
  /// has put it, for which at first it may need the other members.
  absl::Status put(uint32_t id, absl::string_view function,
                   absl::FunctionRef<ncclResult_t(const NcclApi&, ncclComm_t)> call);
  /// OK if their work may be waited for any longer; breaks them off when not. `what` then tells
  /// which work that is, empty where nobody knows.
  absl::Status check(absl::FunctionRef<std::string()> what);
  /// Ends what they do, for good. The first reason stays.
  absl::Status breakOff(const absl::Status& why);

 private:
  enum class State : uint8_t { kJoining, kJoined, kLeaving };
  struct Member {
    uint32_t id = 0;
    uint32_t member = 0;
    uint32_t members = 0;
    State state = State::kJoining;
    ncclComm_t handle = nullptr;

    std::string name() const;
  };

  Member* find(uint32_t id);
  absl::StatusOr<bool> isReady(const Member& member) const;
  absl::Status mayWait() const;
  absl::Status waitUntilReady(const Member& member);
  bool areLeaving() const;
  bool haveLeft() const;

  Libraries& libraries_;
  const NcclApi* api_ = nullptr;  ///< as soon as there is a member
  std::vector<uint32_t> ids_;
  std::vector<Member> members_;
  absl::Status failure_;  ///< why they were broken off
  int64_t deadlineNanos_ = 0;
  std::atomic<bool> interrupted_{false};
};

}  // namespace graphrun::devices::cuda

#endif  // GRAPHRUN_DEVICES_CUDA_NCCL_COMMUNICATORS_H_
