// Programs and a device made by hand, to test executors without a compiler.
#ifndef GRAPHRUN_TESTS_RUNTIME_EXECUTOR_FAKE_PROGRAM_H_
#define GRAPHRUN_TESTS_RUNTIME_EXECUTOR_FAKE_PROGRAM_H_

#include <atomic>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "devices/device.h"

namespace graphrun::testing {

/// A program over float buffers, built record by record.
class FakeProgram : public devices::Program, public devices::CollectiveProgram {
 public:
  /// A kernel: reads and writes buffers by index.
  struct Kernel {
    uint32_t from = 0;
    uint32_t to = 0;
    float add = 0;
    int code = 0;  // what it returns
    int64_t count = 1;
  };

  uint32_t addBuffer(size_t elements) {
    constexpr size_t kPadding = runtime::kTensorAlignment / sizeof(float);
    memory_.emplace_back(elements == 0 ? 0 : elements + kPadding);
    void* data = memory_.back().data();
    size_t space = memory_.back().size() * sizeof(float);
    buffers_.push_back(elements == 0 ? nullptr
                                     : std::align(runtime::kTensorAlignment,
                                                  elements * sizeof(float), data, space));
    return static_cast<uint32_t>(buffers_.size() - 1);
  }
  float* buffer(uint32_t index) { return static_cast<float*>(buffers_[index]); }

  void compute(const std::string& label, Kernel kernel) {
    kernels_.push_back(kernel);
    addRecord(label, {&FakeProgram::runKernel, &kernels_.back(), 0, 0, 0,
                      devices::OpRecord::Kind::kCompute});
  }
  void send(uint32_t edge, uint32_t buffer, int64_t elements) {
    addRecord(absl::StrCat("send ", edge),
              {nullptr, nullptr, 0, buffer, edge, devices::OpRecord::Kind::kSend});
    bindings_.edges.push_back({edge, buffer, spec(elements), true});
  }
  void receive(uint32_t edge, uint32_t buffer, int64_t elements) {
    addRecord(absl::StrCat("receive ", edge),
              {nullptr, nullptr, 0, buffer, edge, devices::OpRecord::Kind::kReceive});
    bindings_.edges.push_back({edge, buffer, spec(elements), false});
  }
  void input(const std::string& name, uint32_t buffer, int64_t elements) {
    bindings_.inputs.push_back({name, buffer, spec(elements)});
  }
  void output(const std::string& name, uint32_t buffer, int64_t elements) {
    bindings_.outputs.push_back({name, buffer, spec(elements)});
  }

  absl::Span<const devices::OpRecord> records() const override { return records_; }
  absl::Span<void*> buffers() override { return absl::MakeSpan(buffers_); }
  const devices::ProgramBindings& bindings() const override { return bindings_; }
  absl::Span<const std::string> labels() const override { return labels_; }
  devices::ProgramMemory memory() const override { return {4096, 0, {}, {}}; }
  absl::Status errorMessage(const devices::OpRecord&, int code) const override {
    return absl::OutOfRangeError(absl::StrCat("kernel said ", code));
  }
  void synchronize() override { ++settled; }
  devices::CollectiveProgram* collectives() override { return this; }
  absl::Span<const uint32_t> communicators() const override { return {}; }
  absl::Status join(const devices::CommunicatorRank&) override { return absl::OkStatus(); }
  absl::StatusOr<bool> hasJoined(uint32_t) override { return true; }
  void beginShutdown() override {}
  void setDeadline(int64_t nanos) override { deadlineNanos = nanos; }
  void interrupt() override { ++interrupted; }

  int settled = 0;
  int64_t deadlineNanos = 0;
  std::atomic<int> interrupted{0};

 private:
  static runtime::TensorSpec spec(int64_t elements) {
    return {runtime::ElementType::kF32, {elements}};
  }
  static int runKernel(void* state, void* const* buffers) {
    auto& kernel = *static_cast<Kernel*>(state);
    auto* from = static_cast<const float*>(buffers[kernel.from]);
    auto* to = static_cast<float*>(buffers[kernel.to]);
    for (int64_t i = 0; i < kernel.count; ++i) {
      to[i] = from[i] + kernel.add;
    }
    return kernel.code;
  }
  void addRecord(const std::string& label, devices::OpRecord record) {
    record.label = static_cast<uint32_t>(labels_.size());
    labels_.push_back(label);
    records_.push_back(record);
  }

  std::deque<std::vector<float>> memory_;
  std::deque<Kernel> kernels_;
  std::vector<void*> buffers_;
  std::vector<devices::OpRecord> records_;
  devices::ProgramBindings bindings_;
  std::vector<std::string> labels_;
};

/// A device that only has a name and counts who enters.
class FakeDevice : public devices::Device {
 public:
  explicit FakeDevice(std::string name) {
    description_.name = std::move(name);
    description_.kind = "fake";
  }
  const devices::DeviceDescription& description() const override { return description_; }
  std::string fingerprint() const override { return "fake 1"; }
  absl::StatusOr<void*> allocate(size_t) override { return absl::UnimplementedError("fake"); }
  void deallocate(void*) override {}
  absl::StatusOr<std::unique_ptr<devices::Program>> load(absl::Span<const uint8_t>,
                                                         devices::WeightSource&) override {
    return absl::UnimplementedError("fake");
  }
  absl::Status attachThread() override {
    ++entered;
    return enterStatus;
  }

  std::atomic<int> entered{0};
  absl::Status enterStatus;

 private:
  devices::DeviceDescription description_;
};

}  // namespace graphrun::testing

#endif  // GRAPHRUN_TESTS_RUNTIME_EXECUTOR_FAKE_PROGRAM_H_
