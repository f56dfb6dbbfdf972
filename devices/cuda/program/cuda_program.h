// A partition on a GPU, ready to run.
#ifndef GRAPHRUN_DEVICES_CUDA_PROGRAM_CUDA_PROGRAM_H_
#define GRAPHRUN_DEVICES_CUDA_PROGRAM_CUDA_PROGRAM_H_

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "devices/cuda/driver/code_module.h"
#include "devices/cuda/nccl/communicators.h"
#include "devices/cuda/program/device_parts.h"
#include "devices/cuda/program/error_reports.h"
#include "devices/cuda/program/program_buffers.h"
#include "devices/cuda/program/program_streams.h"
#include "devices/cuda/program/schedule.h"
#include "devices/cuda/program/segment.h"
#include "devices/cuda/program/sent_values.h"
#include "devices/device.h"

namespace graphrun::devices::cuda {

/// Its records launch segments, wait, send and receive (schedule.h). What session and executor bind
/// is host memory; each bound buffer has its own memory on the GPU beside the arena, and what is
/// sent from the arena a page-locked buffer on the host. Streams are its own, so that programs on
/// several threads do not meet.
class CudaProgram : public Program, public DirectEdges, public CollectiveProgram {
 public:
  /// Builds the program of `bytes`, made for a device of `fingerprint`. `memoryLimit` 0: none.
  static absl::StatusOr<std::unique_ptr<CudaProgram>> load(absl::Span<const uint8_t> bytes,
                                                           WeightSource& weights,
                                                           const DeviceParts& device,
                                                           const std::string& fingerprint,
                                                           uint64_t memoryLimit);
  ~CudaProgram() override;

  absl::Span<const OpRecord> records() const override { return records_; }
  absl::Span<void*> buffers() override { return absl::MakeSpan(hostBuffers_); }
  const ProgramBindings& bindings() const override { return bindings_; }
  absl::Span<const std::string> labels() const override { return labels_; }
  ProgramMemory memory() const override {
    return {buffers_->bytes() + sent_->networkBytes(), buffers_->sharedBytes(), {}, {}};
  }
  DirectEdges* directEdges() override { return this; }
  CollectiveProgram* collectives() override { return this; }
  bool canTransferDirectly(size_t index) const override;
  absl::Status transferDirectly(size_t index, DirectTransfer transfer) override;
  absl::Span<const uint32_t> communicators() const override { return communicators_->ids(); }
  absl::Status join(const CommunicatorRank& rank) override;
  absl::StatusOr<bool> hasJoined(uint32_t communicator) override;
  void setDeadline(int64_t nanos) override { communicators_->setDeadline(nanos); }
  void interrupt() override { communicators_->interrupt(); }
  void beginShutdown() override;
  absl::Status errorMessage(const OpRecord& record, int code) const override;
  std::optional<std::vector<runtime::KernelTime>> kernelTimes() const override;
  void synchronize() override;

 private:
  struct Record {
    Record(CudaProgram* its, Action::Kind does) : program(its), kind(does) {}

    CudaProgram* program;
    Action::Kind kind;
    std::unique_ptr<Segment> segment;
    std::vector<Copy> in;
    std::vector<Copy> out;
    Event* awaited = nullptr;    ///< null: nothing
    std::vector<Event*> made;    ///< of values that GPUs fetch; kept by sent_
    std::unique_ptr<Event> met;  ///< of a collective: it is done; null: it is none
  };

  explicit CudaProgram(const DeviceParts& device)
      : device_(device), communicators_(std::make_unique<Communicators>(*device.libraries)) {}

  absl::Status prepare(const Executable& executable, WeightSource& weights, uint64_t limit);
  absl::Status createRecords(const Executable& executable);
  using Kernels = std::vector<std::unique_ptr<Kernel>>;  ///< by instruction
  absl::StatusOr<Kernels> createKernels(const Executable& executable,
                                        const std::vector<Action>& actions);
  absl::Status addLaunch(const Executable& executable, const Action& action, Kernels& kernels);
  absl::StatusOr<std::unique_ptr<Kernel>> createKernel(const Instruction& instruction,
                                                       const KernelContext& context);
  absl::StatusOr<Copy> addCopyOut(const Executable& executable, uint32_t buffer);
  absl::Status addEdge(const Executable& executable, const Action& action);
  void addRecord(std::unique_ptr<Record> record, std::string label);

  static int runRecord(void* state, void* const* buffers);
  absl::Status launch(Record& record, void* const* buffers);
  Record* writerOf(uint32_t buffer) const;
  std::vector<Copy*> readersOf(uint32_t buffer) const;
  bool isSent(uint32_t buffer) const;
  bool isOutput(uint32_t buffer) const;
  absl::StatusOr<DeviceValue*> peerValue(uint32_t buffer);
  absl::Status carry(uint32_t buffer, uint32_t entry);
  void dropCopyOut(uint32_t buffer);
  absl::Status await(const Record& record);
  absl::Status waitFor(const Event& event);
  std::string pendingCollective() const;
  absl::Status finish();
  absl::Status readClocks();

  DeviceParts device_;
  std::unique_ptr<Communicators> communicators_;
  std::unique_ptr<ProgramStreams> streams_;
  std::unique_ptr<ProgramBuffers> buffers_;
  std::unique_ptr<SentValues> sent_;
  std::unique_ptr<ErrorReports> errors_;  ///< null: no kernel has any
  std::unique_ptr<CodeModule> code_;
  std::vector<void*> hostBuffers_;
  std::vector<std::unique_ptr<Record>> states_;
  std::vector<OpRecord> records_;
  ProgramBindings bindings_;
  std::vector<std::string> labels_;
  bool isTimed_ = false;  ///< the clocks of all segments were read
  mutable std::mutex mutex_;
  std::vector<runtime::KernelTime> kernelTimes_;  ///< guarded by mutex_
  absl::Status failure_;                          ///< of the record that failed last
  std::string failedInstruction_;  ///< the instruction that it is of; "": the record's
};

}  // namespace graphrun::devices::cuda

#endif  // GRAPHRUN_DEVICES_CUDA_PROGRAM_CUDA_PROGRAM_H_
