// Runs one device's program, step after step: a loop over an array of records.
#ifndef GRAPHRUN_RUNTIME_EXECUTOR_EXECUTOR_H_
#define GRAPHRUN_RUNTIME_EXECUTOR_EXECUTOR_H_

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "devices/device.h"
#include "runtime/base/trace.h"
#include "runtime/base/trace_json.h"
#include "runtime/executor/state_cell.h"
#include "runtime/executor/step_control.h"
#include "runtime/transport/edge.h"

namespace graphrun::runtime {

/// This process's end of an edge: one of the two is set, as EdgeBinding::send says.
struct EdgeEnd {
  SendEdge* send = nullptr;
  RecvEdge* receive = nullptr;
};

/// A program with its edges, ready to run. The path of a step has no lock, allocation, string or
/// look-up; a failure ends it for all executors that share the StepControl.
///
/// What a step does to memory: a sent buffer is read until the step ends and must not be written
/// after its send record; a received buffer is the edge's slot until the step ends. At the end the
/// slots are given back, and the step waits until what it sent has been taken.
///
/// One thread at a time; it may be another for each call.
class Executor {
 public:
  /// `ends`: one for each of program->edges(), in that order. `device` and `control` must outlive
  /// the executor, the edges must stay open as long. The program is shared because the network may
  /// read its memory for a while after the executor has gone (EdgeSpec::owner). InvalidArgument for
  /// a program whose records, buffers and edges do not fit together.
  static absl::StatusOr<std::unique_ptr<Executor>> create(devices::Device* device,
                                                          std::shared_ptr<devices::Program> program,
                                                          absl::Span<const EdgeEnd> ends,
                                                          StepControl* control);

  /// Runs `steps` steps from number `firstStep` on the calling thread. False: something failed,
  /// here or elsewhere; the control knows what.
  bool run(uint64_t firstStep, uint32_t steps);

  /// Between steps: when the waits of this executor end, of nowNanos(), in place of the control's
  /// deadline, which is that of all steps in flight.
  void setDeadline(int64_t nanos) { deadlineNanos_ = nanos; }

  // A step piece by piece, for a caller who must not wait: see StepsInFlight.

  enum class Progress : uint8_t { kWaits, kDone, kFailed };
  static constexpr size_t kNoLimit = std::numeric_limits<size_t>::max();
  /// Makes the thread fit for what follows, once for each. False: that failed.
  bool enter();
  void beginStep(uint64_t step);
  /// Goes on until the step waits for others, is done or failed. It does not come to transfer
  /// `limit`, in the order of the records, where the end of the step counts as one more.
  Progress advance(size_t limit = kNoLimit);
  /// The transfer to which the step comes next.
  size_t nextTransfer() const { return at_.transfer; }
  /// Waits for what advance could not go on without, for no longer than to the deadline. False:
  /// that failed.
  bool block();
  /// Fails the step because it could not come to its next transfer, for step `before`, in time.
  void failTurn(uint64_t before);
  /// After a step that failed.
  void synchronize() { program_->synchronize(); }

  /// The memory of an input or output, by position in the program's list; aligned to
  /// kTensorAlignment and valid while steps run.
  void bindInput(size_t index, void* data);
  void bindOutput(size_t index, void* data);

  /// The memory of the program's states, one for each of program->states(), in that order. Before
  /// the first step. States that the program updates have both blocks.
  void bindStates(std::vector<std::shared_ptr<StateCell>> cells) { states_ = std::move(cells); }
  /// Between steps: makes states what they were before the last step, if that has succeeded here;
  /// for one that failed elsewhere.
  void revertStates();

  const devices::Program& program() const { return *program_; }
  const devices::DeviceDescription& device() const { return device_->description(); }
  /// Returns the events of the last runs, for the trace. Thread-safe.
  TraceStream trace() const;

 private:
  /// A send or receive record with what it needs, in the order of the records.
  struct Transfer {
    EdgeEnd end;
    size_t bytes = 0;
    uint32_t buffer = 0;
    const devices::OpRecord* record = nullptr;
    bool forwarded = false;  // receive: the buffer is sent on, so its slot goes back last
  };

  Executor(devices::Device* device, std::shared_ptr<devices::Program> program,
           StepControl* control);
  absl::Status addTransfers(absl::Span<const EdgeEnd> ends);
  absl::Status addTransfer(const devices::OpRecord& record, absl::Span<const EdgeEnd> ends);
  bool runStep(uint64_t step);
  Progress transfer(size_t limit);
  Progress send(const Transfer& transfer);
  Progress receive(const Transfer& transfer);
  Progress endStep(size_t limit);
  void giveBackSlots();
  Progress giveBackForwarded();
  Progress awaitSent(std::optional<uint32_t> buffer);
  void commitStates();
  bool fail(absl::Status status, const devices::OpRecord* record);
  WaitOptions waitOptions() const;

  devices::Device* device_;
  std::shared_ptr<devices::Program> program_;
  devices::CollectiveProgram* collectives_;  // the program's; null: it has none
  StepControl* control_;
  const uint64_t id_;  // unique in the process: which executor a thread has entered
  absl::Span<const devices::OpRecord> records_;
  absl::Span<void*> buffers_;
  std::vector<Transfer> transfers_;
  std::vector<std::shared_ptr<StateCell>> states_;
  bool committed_ = false;  // what the last step made of them
  std::optional<int64_t> deadlineNanos_;
  /// A Position is the progress of the step.
  struct Position {
    uint64_t step = 0;
    int64_t begin = 0;
    int64_t start = 0;  // of the record
    uint32_t record = 0;
    size_t transfer = 0;
    bool waitsForOthers = false;       // what the record does begins when these are done
    bool gaveBack = false;             // the slots that are not forwarded
    size_t forwarded = 0;              // transfers from here on have given theirs back
    const Transfer* unsent = nullptr;  // that the end waits for
  };
  Position at_;
  TraceRing ring_;
};

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_EXECUTOR_EXECUTOR_H_
