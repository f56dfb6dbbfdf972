#include "tests/devices/toy/toy_device.h"

#include <cstdlib>
#include <cstring>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "devices/cpu/runtime/cpu_device.h"
#include "runtime/base/status.h"

namespace graphrun::devices {
namespace {

/// The CPU's program over memory that only it has: what is bound is copied there before records
/// read it, and from there before others do.
class ToyProgram : public Program {
 public:
  explicit ToyProgram(std::unique_ptr<Program> inner)
      : inner_(std::move(inner)),
        buffers_(inner_->buffers().begin(), inner_->buffers().end()),
        labels_(inner_->labels().begin(), inner_->labels().end()) {
    labels_.emplace_back("copy");
    for (const Binding& input : inner_->inputs()) {
      own(input.buffer, input.spec.byteSize());
      copy(input.buffer, input.spec.byteSize(), true);
    }
    for (const Binding& output : inner_->outputs()) {
      own(output.buffer, output.spec.byteSize());
    }
    for (const StateBinding& state : inner_->states()) {
      own(state.buffer, state.spec.byteSize());
      copy(state.buffer, state.spec.byteSize(), true);
      if (state.next) {
        own(*state.next, state.spec.byteSize());
      }
    }
    for (const OpRecord& record : inner_->records()) {
      add(record);
    }
    for (const Binding& output : inner_->outputs()) {
      copy(output.buffer, output.spec.byteSize(), false);
    }
    for (const StateBinding& state : inner_->states()) {
      if (state.next) {
        copy(*state.next, state.spec.byteSize(), false);
      }
    }
  }

  absl::Span<const OpRecord> records() const override { return records_; }
  absl::Span<void*> buffers() override { return absl::MakeSpan(buffers_); }
  const ProgramBindings& bindings() const override { return inner_->bindings(); }
  absl::Span<const std::string> labels() const override { return labels_; }
  ProgramMemory memory() const override { return {inner_->memory().bytes + ownBytes_, 0, {}, {}}; }
  absl::Status errorMessage(const OpRecord& record, int code) const override {
    return inner_->errorMessage(static_cast<const Call*>(record.state)->record, code);
  }

 private:
  struct Call {
    Program* inner;
    OpRecord record;
  };
  struct Copy {
    Program* inner;
    uint32_t buffer;
    size_t bytes;
    bool isIn;
  };
  struct Free {
    void operator()(void* memory) const { std::free(memory); }
  };

  static int runCall(void* state, void* const*) {
    auto& call = *static_cast<Call*>(state);
    return call.record.run(call.record.state, call.inner->buffers().data());
  }
  static int runCopy(void* state, void* const* buffers) {
    auto& copy = *static_cast<Copy*>(state);
    void* own = copy.inner->buffers()[copy.buffer];
    std::memcpy(copy.isIn ? own : buffers[copy.buffer], copy.isIn ? buffers[copy.buffer] : own,
                copy.bytes);
    return 0;
  }

  void* allocate(size_t bytes) {
    memory_.emplace_back(
        std::aligned_alloc(runtime::kTensorAlignment, runtime::alignTensor(bytes + 1)));
    ownBytes_ += bytes;
    return memory_.back().get();
  }
  void own(uint32_t buffer, size_t bytes) {
    if (inner_->buffers()[buffer] == nullptr) {
      inner_->buffers()[buffer] = allocate(bytes);
    }
  }
  void copy(uint32_t buffer, size_t bytes, bool isIn) {
    copies_.push_back({inner_.get(), buffer, bytes, isIn});
    OpRecord record;
    record.run = &ToyProgram::runCopy;
    record.state = &copies_.back();
    record.label = static_cast<uint32_t>(labels_.size() - 1);
    records_.push_back(record);
  }

  void add(const OpRecord& record) {
    const EdgeBinding* edge = nullptr;
    for (const EdgeBinding& known : inner_->edges()) {
      edge = known.edge == record.edge ? &known : edge;
    }
    OpRecord made = record;
    if (record.kind == OpRecord::Kind::kCompute) {
      calls_.push_back({inner_.get(), record});
      made.run = &ToyProgram::runCall;
      made.state = &calls_.back();
    } else if (record.kind == OpRecord::Kind::kSend) {
      buffers_[record.buffer] = allocate(edge->spec.byteSize());  // where the host reads it
      copy(record.buffer, edge->spec.byteSize(), false);
    } else {
      own(record.buffer, edge->spec.byteSize());
    }
    records_.push_back(made);
    if (record.kind == OpRecord::Kind::kReceive) {
      copy(record.buffer, edge->spec.byteSize(), true);
    }
  }

  std::unique_ptr<Program> inner_;
  std::vector<void*> buffers_;
  std::vector<std::string> labels_;
  std::vector<OpRecord> records_;
  std::deque<Call> calls_;
  std::deque<Copy> copies_;
  std::vector<std::unique_ptr<void, Free>> memory_;
  uint64_t ownBytes_ = 0;
};

class ToyDevice : public Device {
 public:
  explicit ToyDevice(DeviceDescription description)
      : description_(std::move(description)),
        cores_({absl::StrCat(description_.name, " (cores)"), runtime::kHostKind, 0, {}, 0}) {}

  const DeviceDescription& description() const override { return description_; }
  std::string fingerprint() const override { return cores_.fingerprint(); }
  absl::StatusOr<void*> allocate(size_t bytes) override { return cores_.allocate(bytes); }
  void deallocate(void* memory) override { cores_.deallocate(memory); }
  bool bindsHostMemory() const override { return true; }
  absl::StatusOr<std::unique_ptr<Program>> load(absl::Span<const uint8_t> executable,
                                                WeightSource& weights) override {
    GR_ASSIGN_OR_RETURN(std::unique_ptr<Program> inner, cores_.load(executable, weights));
    return std::make_unique<ToyProgram>(std::move(inner));
  }
  absl::Status attachThread() override { return cores_.attachThread(); }

 private:
  DeviceDescription description_;
  cpu::CpuDevice cores_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Device>> createToyDevice(const DeviceDescription& description) {
  return std::make_unique<ToyDevice>(description);
}

}  // namespace graphrun::devices
