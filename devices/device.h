// The device contract of the run world: what the executor needs of a device. The compile world's
// side is devices/device_compiler.h. A new device copies devices/null.
#ifndef GRAPHRUN_DEVICES_DEVICE_H_
#define GRAPHRUN_DEVICES_DEVICE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "devices/collectives.h"
#include "devices/direct_transfers.h"
#include "runtime/base/device_description.h"
#include "runtime/base/device_kind.h"
#include "runtime/base/tensor.h"
#include "runtime/base/trace.h"

namespace graphrun::devices {

using runtime::DeviceDescription;

/// One instruction of a program. Fixed size, so that a stream is an array.
struct OpRecord {
  enum class Kind : uint8_t { kCompute, kSend, kReceive };

  /// Runs the kernel on `buffers` (the program's table). Returns 0, or an error that
  /// `Program::errorMessage` explains. Must not lock or, but for the first steps, allocate. It does
  /// not block either; only a device with queues of its own has records that wait for what others
  /// launched: one before a send, until what is sent is there, and one at the end of a step, until
  /// nothing touches bound memory any more.
  using Run = int (*)(void* state, void* const* buffers);

  Run run = nullptr;      ///< null for kSend and kReceive
  void* state = nullptr;  ///< owned by the program
  uint32_t label = 0;     ///< index into Program::labels()
  uint32_t buffer = 0;    ///< kSend, kReceive: index into Program::buffers()
  uint32_t edge = 0;      ///< kSend, kReceive: id in the plan
  Kind kind = Kind::kCompute;
};

/// An input or output of a program: the session binds caller memory to its buffer before a step.
struct Binding {
  std::string name;
  uint32_t buffer = 0;  ///< index into Program::buffers()
  runtime::TensorSpec spec;
};

/// An edge's end in a program.
struct EdgeBinding {
  uint32_t edge = 0;
  uint32_t buffer = 0;
  runtime::TensorSpec spec;
  bool send = false;
};

/// The first value of a state: dense row-major bytes.
struct FirstValue {
  std::optional<uint32_t> weight;  ///< in the plan's table; nothing: `bytes` are given
  std::vector<uint8_t> bytes;
  bool splat = false;  ///< the weight is one element that stands for all
};

/// A state of a program: a tensor that outlives it. Whoever runs the program binds memory to its
/// buffers before a step, and after a step that succeeds takes what is in `next` for its value.
struct StateBinding {
  std::string name;
  uint32_t buffer = 0;  ///< its value when the step begins, which the program does not write
  std::optional<uint32_t> next;  ///< the program writes all of it in each step; nothing: no change
  runtime::TensorSpec spec;
  FirstValue first;
};

/// ProgramBindings are the buffers of a program that others bind.
struct ProgramBindings {
  std::vector<Binding> inputs;
  std::vector<Binding> outputs;
  std::vector<EdgeBinding> edges;
  std::vector<StateBinding> states;
};

/// RecordMemory is the memory that a record needs beside the tensors of the graph, in bytes.
struct RecordMemory {
  uint64_t weights = 0;  ///< as laid out for it; those that several read count for the first
  uint64_t scratch = 0;  ///< while it runs
};

/// The memory of a program, in bytes.
struct ProgramMemory {
  uint64_t bytes = 0;   ///< held: weights, states, arena and scratch
  uint64_t shared = 0;  ///< of these, what programs that were loaded before it hold as well
  /// One for each record; empty where the device cannot tell.
  absl::Span<const RecordMemory> records;
  /// The host's memory in which it computes, in pages that nothing else is in; what it sends lies
  /// there, unless that is bound. Empty where a device has memory of its own.
  absl::Span<uint8_t> hostArena;
};

/// A partition, ready to run: records in order over a table of buffers, all memory allocated. One
/// step at a time; owned by the executor's thread after loading. The buffer of a kSend is not
/// written after its record in the same step: the executor lets the consumer read it until the step
/// ends.
class Program {
 public:
  virtual ~Program() = default;
  virtual absl::Span<const OpRecord> records() const = 0;
  /// Address of each buffer. Entries of inputs, outputs, states and received edges are set by the
  /// executor before the record that uses them; the rest is fixed.
  virtual absl::Span<void*> buffers() = 0;
  virtual const ProgramBindings& bindings() const = 0;
  absl::Span<const Binding> inputs() const { return bindings().inputs; }
  absl::Span<const Binding> outputs() const { return bindings().outputs; }
  absl::Span<const EdgeBinding> edges() const { return bindings().edges; }
  absl::Span<const StateBinding> states() const { return bindings().states; }
  virtual absl::Span<const std::string> labels() const = 0;
  virtual ProgramMemory memory() const = 0;
  /// Returns, where records only launch and wait, the times of the instructions that they launch,
  /// by their labels, as far as those were measured; nothing where a record takes as long as its
  /// instruction. Thread-safe.
  virtual std::optional<std::vector<runtime::KernelTime>> kernelTimes() const {
    return std::nullopt;
  }
  /// Null where its edges' values always go through the host's memory.
  virtual DirectEdges* directEdges() { return nullptr; }
  /// Null where it has no collectives.
  virtual CollectiveProgram* collectives() { return nullptr; }
  virtual absl::Status errorMessage(const OpRecord& record, int code) const = 0;
  /// Called when a step ends early: waits until nothing that its records launched touches bound
  /// memory.
  virtual void synchronize() {}
};

/// The bytes of a weight as in the model: dense, row-major; one element for a splat. Read-only.
struct Weight {
  absl::Span<const uint8_t> bytes;
  /// Keeps the bytes in place (a mapped file); null: they are valid while `Device::load` runs.
  std::shared_ptr<const void> owner;
  uint64_t checksum = 0;  ///< XXH3-64 of `bytes`: programs share what they make of it; 0: unknown
};

/// A program reads its weights from a WeightSource, by their index in the plan's table.
class WeightSource {
 public:
  virtual ~WeightSource() = default;
  virtual absl::StatusOr<Weight> weight(uint32_t index) = 0;
  /// Weight::checksum, without reading the weight.
  virtual uint64_t checksum(uint32_t /*index*/) const { return 0; }
  /// Tells that what was read of the bytes is not needed again soon: it was copied. They stay valid
  /// as long as their owner, if they have one.
  virtual void release(uint32_t /*index*/) {}
};

/// A device of this process. Thread-safe but for `attachThread`.
class Device {
 public:
  virtual ~Device() = default;
  virtual const DeviceDescription& description() const = 0;
  /// Hardware and library versions: part of the key of the executable cache.
  virtual std::string fingerprint() const = 0;
  /// Memory for what is bound to programs (inputs, outputs, slots of edges), aligned to
  /// kTensorAlignment. The host can use it too: a device with memory of its own gives page-locked
  /// host memory, and its programs copy.
  virtual absl::StatusOr<void*> allocate(size_t bytes) = 0;
  virtual void deallocate(void* memory) = 0;
  /// Returns whether what `allocate` gives is the host's memory, in place of the device's own, to
  /// which DeviceDescription::memoryBytes then does not apply.
  virtual bool bindsHostMemory() const { return false; }
  /// Locks whole pages of the host's memory until what it gives goes: it copies from there and to
  /// there as fast as from what `allocate` gives. They must not be freed before.
  virtual absl::StatusOr<std::shared_ptr<void>> pinHostMemory(absl::Span<uint8_t> /*pages*/) {
    return absl::UnimplementedError("no device of this kind copies");
  }
  /// Builds what the device's compiler made of a partition. `executable` must outlive the program.
  virtual absl::StatusOr<std::unique_ptr<Program>> load(absl::Span<const uint8_t> executable,
                                                        WeightSource& weights) = 0;
  /// Prepares the calling thread to run programs of this device (affinity, number of threads).
  virtual absl::Status attachThread() = 0;
  /// Null where values always go through what `allocate` gives.
  virtual DirectTransfers* directTransfers() { return nullptr; }
  /// Null where no device of this kind carries out collectives.
  virtual Collectives* collectives() { return nullptr; }
  /// Ends threads that wait for the calling thread to run programs of this device.
  virtual void detachThread() {}
  /// Returns whether programs that run at the same time would be in each other's way.
  virtual bool takesTurns() const { return false; }
};

/// Makes the device of this process that `description` tells; NotFound when the kind is not built
/// in or the hardware is not there.
absl::StatusOr<std::unique_ptr<Device>> createDevice(const DeviceDescription& description);

/// The errors of createDevice for what is not there, without making the device.
absl::Status checkDevice(const DeviceDescription& description);

/// The kinds that clusters can have devices of, whether this machine has some or not.
std::vector<runtime::DeviceKind> deviceKinds();

/// The record of a kind. One that is not in this build has nothing but its name.
runtime::DeviceKind kindNamed(absl::string_view name);

/// The devices that this machine offers when nothing else is said.
std::vector<DeviceDescription> discoverDevices();

/// KindFindings say what a kind of device found of the libraries and the hardware that it needs,
/// and what is missing and how to get it.
struct KindFindings {
  std::string kind;
  std::vector<std::string> lines;
};
/// Returns the findings of the kinds that have something to tell, whether they are in this build or
/// not.
std::vector<KindFindings> findKinds();

/// Returns a line for each kind that offers what it finds by itself and finds nothing, with the
/// reason. Cheap.
std::vector<std::string> missingKinds();

}  // namespace graphrun::devices

#endif  // GRAPHRUN_DEVICES_DEVICE_H_
