// Steps are started and told to be done over the tensor plane, by a pair of edges between the
// coordinator and each worker. A failure goes over the control plane, which has words for it.
#ifndef GRAPHRUN_RUNTIME_WORKER_STEP_LINE_H_
#define GRAPHRUN_RUNTIME_WORKER_STEP_LINE_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/transport/edge.h"
#include "runtime/transport/transport.h"

namespace graphrun::runtime {

/// The coordinator's rank on the tensor plane.
inline constexpr uint32_t kCoordinatorRank = 0;
/// Starts that may be under way on one line.
inline constexpr uint32_t kStepLineSlots = 16;

/// Runs steps of a plan: `steps` of them from number `firstStep`. As it travels.
struct StepStart {
  uint64_t plan = 0;
  uint64_t firstStep = 0;
  uint64_t timeoutNanos = 0;  ///< After which no wait of these steps goes on.
  uint64_t steps = 1;
};

/// The messages of one end, which the network reads or writes.
struct StepLineMemory;

/// The coordinator's end of a line. Starts are numbered from 0.
class StepStarter {
 public:
  /// The line to the worker `rank`, whose ServeSteps call has the number `run`. Does not wait for
  /// the worker. NotFound: no link to it.
  static absl::StatusOr<std::unique_ptr<StepStarter>> open(std::shared_ptr<Transport> transport,
                                                           uint32_t rank, uint64_t run);
  ~StepStarter();

  /// Sends the next start and gives its number; waits while kStepLineSlots of them are under way.
  /// `inputsFollow`: the caller sends what the worker needs for the step at once, which takes the
  /// start along. One thread at a time.
  absl::StatusOr<uint64_t> start(const StepStart& start, bool inputsFollow,
                                 const WaitOptions& options);
  /// Returns whether the start with this number is done; true once, which makes room for another.
  /// Cheap. One thread at a time for a number.
  bool takeDone(uint64_t number);

 private:
  StepStarter(std::shared_ptr<Transport> transport, std::shared_ptr<StepLineMemory> memory);

  std::shared_ptr<Transport> transport_;
  std::shared_ptr<StepLineMemory> memory_;
  SendEdge* starts_ = nullptr;
  RecvEdge* dones_ = nullptr;
  uint64_t started_ = 0;
};

/// The worker's end of a line. Not thread-safe.
class StepServer {
 public:
  /// The line of this worker's ServeSteps call `run`. NotFound: no link to the coordinator.
  static absl::StatusOr<std::unique_ptr<StepServer>> open(std::shared_ptr<Transport> transport,
                                                          uint64_t run);
  ~StepServer();

  /// Waits for the next start. InvalidArgument: it is none.
  absl::StatusOr<StepStart> next(const WaitOptions& options);
  /// Returns whether next() would not wait. Cheap.
  bool hasNext() const { return starts_->poll(next_).has_value(); }
  /// Tells that the first start of next() is done that was not yet told of.
  absl::Status done(const WaitOptions& options);

 private:
  StepServer(std::shared_ptr<Transport> transport, std::shared_ptr<StepLineMemory> memory);

  std::shared_ptr<Transport> transport_;
  std::shared_ptr<StepLineMemory> memory_;
  RecvEdge* starts_ = nullptr;
  SendEdge* dones_ = nullptr;
  uint64_t next_ = 0;
  uint64_t done_ = 0;
};

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_WORKER_STEP_LINE_H_
