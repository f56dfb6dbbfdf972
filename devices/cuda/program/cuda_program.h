// A partition on a GPU, ready to run.
#ifndef GRAPHRUN_DEVICES_CUDA_PROGRAM_CUDA_PROGRAM_H_
#define GRAPHRUN_DEVICES_CUDA_PROGRAM_CUDA_PROGRAM_H_

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "devices/cuda/cublaslt/product_library.h"
#include "devices/cuda/cudnn/cudnn_library.h"
#include "devices/cuda/driver/code_module.h"
#include "devices/cuda/driver/device_memory.h"
#include "devices/cuda/driver/peers.h"
#include "devices/cuda/driver/pinned_pool.h"
#include "devices/cuda/nccl/communicators.h"
#include "devices/cuda/program/schedule.h"
#include "devices/cuda/program/segment.h"
#include "devices/cuda/program/shared_weights.h"
#include "devices/device.h"

namespace graphrun::devices::cuda {

/// The parts of a device that its programs share.
struct DeviceParts {
  ContextPointer context;
  std::shared_ptr<const MemoryPool> memory;
  std::shared_ptr<PinnedPool> pinned;
  std::shared_ptr<SharedWeights> weights;
  std::shared_ptr<ProductLibrary> products;
  std::shared_ptr<CudnnLibrary> cudnn;
  Libraries* libraries = nullptr;  ///< outlive the device
};

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
  absl::Span<const Binding> inputs() const override { return inputs_; }
  absl::Span<const Binding> outputs() const override { return outputs_; }
  absl::Span<const EdgeBinding> edges() const override { return edges_; }
  absl::Span<const std::string> labels() const override { return labels_; }
  ProgramMemory memory() const override { return {memoryBytes_, sharedBytes_, {}, {}}; }
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
  /// A Storage is what a bound entry of the table of buffers holds the address of.
  enum class Storage : uint8_t {
    kHost,   ///< host memory
    kOther,  ///< a DeviceValue, of another GPU
    kOwn     ///< memory of this GPU beside the program's
  };
  /// A copy of a buffer to the GPU, or from it.
  struct Transfer {
    uint32_t buffer;  ///< of the executable
    CUdeviceptr address;
    uint64_t bytes;
    Event* arrived;      ///< kept by arrivals_; null for what is copied in
    uint32_t bound = 0;  ///< entry of the table: the other end
    Storage storage = Storage::kHost;
  };
  struct Record {
    Record(CudaProgram* its, Action::Kind does) : program(its), kind(does) {}

    CudaProgram* program;
    Action::Kind kind;
    std::unique_ptr<Segment> segment;
    std::vector<Transfer> in;
    std::vector<Transfer> out;
    Event* awaited = nullptr;    ///< null: nothing
    std::vector<Event*> made;    ///< of values that GPUs fetch; kept by handed_
    std::unique_ptr<Event> met;  ///< of a collective: it is done; null: it is none
  };
  /// A value that a send hands over, and the event that it names.
  struct Handed {
    uint32_t buffer;  ///< of the executable
    std::unique_ptr<Event> made;
    DeviceValue value;
  };

  explicit CudaProgram(const DeviceParts& device)
      : device_(device), communicators_(std::make_unique<Communicators>(*device.libraries)) {}

  absl::Status prepare(const Executable& executable, WeightSource& weights, uint64_t limit);
  absl::Status countMemory(const Executable& executable, uint64_t limit);
  absl::Status placeBuffers(const Executable& executable, WeightSource& weights);
  absl::Status createRecords(const Executable& executable);
  using Kernels = std::vector<std::unique_ptr<Kernel>>;  ///< by instruction
  absl::StatusOr<Kernels> createKernels(const Executable& executable,
                                        const std::vector<Action>& actions);
  absl::Status addLaunch(const Executable& executable, const Action& action, Kernels& kernels);
  absl::StatusOr<std::unique_ptr<Kernel>> createKernel(const Instruction& instruction,
                                                       const KernelContext& context);
  absl::StatusOr<Transfer> addCopyOut(const Executable& executable, uint32_t buffer);
  absl::Status addEdge(const Executable& executable, const Action& action);
  void addRecord(std::unique_ptr<Record> record, std::string label);

  static int runRecord(void* state, void* const* buffers);
  absl::Status launch(Record& record, void* const* buffers);
  absl::Status copyIn(const Transfer& transfer, void* const* buffers);
  absl::Status copyOut(const Transfer& transfer, void* const* buffers);
  Record* writerOf(uint32_t buffer) const;
  std::vector<Transfer*> readersOf(uint32_t buffer) const;
  bool isSent(uint32_t buffer) const;
  bool isOutput(uint32_t buffer) const;
  absl::StatusOr<DeviceValue*> handedValue(uint32_t buffer);
  absl::Status carry(uint32_t buffer, uint32_t entry);
  void dropCopyOut(uint32_t buffer);
  absl::Status await(const Record& record);
  absl::Status waitFor(const Event& event);
  std::string pendingCollective() const;
  void waitForStreams() const;
  absl::Status finish();
  absl::Status readClocks();
  absl::Status createErrors(const Executable& executable);
  absl::Status clearErrors();
  absl::Status readErrors();

  DeviceParts device_;
  std::unique_ptr<Communicators> communicators_;
  std::unique_ptr<Stream> compute_;
  std::unique_ptr<Stream> copyIn_;
  std::unique_ptr<Stream> copyOut_;
  std::unique_ptr<Event> given_;     ///< what a launch reads is on the GPU
  std::unique_ptr<Event> computed_;  ///< what a launch made is ready
  std::unique_ptr<Event> finished_;
  std::map<uint32_t, std::unique_ptr<Event>> arrivals_;  ///< of buffers on the host
  std::vector<std::unique_ptr<Handed>> handed_;
  std::vector<std::unique_ptr<OwnMemory>> carried_;
  std::unique_ptr<DeviceMemory> arena_;
  std::unique_ptr<DeviceMemory> bound_;  ///< of inputs, outputs, received tensors
  std::vector<std::shared_ptr<const DeviceMemory>> stored_;  ///< weights and constants
  std::vector<PinnedMemory> staging_;                        ///< of what is sent
  std::unique_ptr<DeviceMemory> errors_;        ///< an ErrorRecord; null: no kernel has one
  PinnedMemory seenErrors_;                     ///< what it was at the end of a step
  std::vector<std::string> instructionLabels_;  ///< where there is one
  std::unique_ptr<CodeModule> code_;
  std::vector<CUdeviceptr> addresses_;
  std::vector<void*> hostBuffers_;
  std::vector<std::unique_ptr<Record>> states_;
  std::vector<OpRecord> records_;
  std::vector<Binding> inputs_;
  std::vector<Binding> outputs_;
  std::vector<EdgeBinding> edges_;
  std::vector<std::string> labels_;
  uint64_t memoryBytes_ = 0;
  uint64_t sharedBytes_ = 0;
  bool isTimed_ = false;  ///< the clocks of all segments were read
  mutable std::mutex mutex_;
  std::vector<runtime::KernelTime> kernelTimes_;  ///< guarded by mutex_
  absl::Status failure_;                          ///< of the record that failed last
  std::string failedInstruction_;  ///< the instruction that it is of; "": the record's
};

}  // namespace graphrun::devices::cuda

#endif  // GRAPHRUN_DEVICES_CUDA_PROGRAM_CUDA_PROGRAM_H_
