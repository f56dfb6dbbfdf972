// What every device must do, and the written list of what one cannot.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <iterator>
#include <map>

#include "devices/device.h"
#include "devices/executable.h"
#include "negate_ptx.h"

namespace graphrun::devices {
namespace {

/// A device under test. A new device adds a row.
struct Subject {
  DeviceDescription description;
  /// What it cannot do -> why.
  std::map<std::string, std::string> cannot;
  /// An executable that negates four f32, named x and y.
  std::vector<uint8_t> (*negation)(const Device& device) = nullptr;
};

/// A step that negates input 0 into output 1, but for what the device needs to know of it.
Executable negation(const Device& device) {
  TensorDesc vector{runtime::ElementType::kF32, {4}, {}, false};
  Executable e;
  e.fingerprint = device.fingerprint();
  e.buffers.resize(2);
  e.buffers[0].kind = BufferKind::kInput;
  e.buffers[1].kind = BufferKind::kOutput;
  e.buffers[0].bytes = e.buffers[1].bytes = 16;
  e.steps.resize(1);
  e.steps[0].operation = "gr.neg";
  e.steps[0].inputs = {{0, vector}};
  e.steps[0].outputs = {{1, vector}};
  e.inputs = {{"x", 0, vector}};
  e.outputs = {{"y", 1, vector}};
  return e;
}

std::vector<uint8_t> cpuNegation(const Device& device) {
  Executable e = negation(device);
  e.steps[0].kernel = "reference";
  return writeExecutable(e);
}

std::vector<uint8_t> cudaNegation(const Device& device) {
  Executable e = negation(device);
  e.steps[0].kernel = "generated";
  e.steps[0].symbol = "negate";
  e.steps[0].sizes = {4};
  e.steps[0].grid = {1, 1, 1};
  e.steps[0].block = {32, 1, 1};
  e.code.assign(std::begin(kNegatePtx), std::end(kNegatePtx));
  return writeExecutable(e);
}

/// Those that are there; tells of the others why they are not.
std::vector<Subject> subjects() {
  std::vector<Subject> all = {
      {{"test/cpu:0", "cpu", 0, {}, 0}, {}, cpuNegation},
      {{"test/cuda:0", "cuda", 0, {}, 0}, {}, cudaNegation},
      {{"test/null:0", "null", 0, {}, 0},
       {{"load", "the null device runs no operation: it is the skeleton to copy"}}},
  };
  std::erase_if(all, [](const Subject& subject) {
    absl::Status status = checkDevice(subject.description);
    if (!status.ok()) {
      WARN("skipped: " << status.message());
    }
    return !status.ok();
  });
  return all;
}

class NoWeights : public WeightSource {
 public:
  absl::StatusOr<Weight> weight(uint32_t) override { return absl::NotFoundError("no weights"); }
};

}  // namespace

TEST_CASE("a device tells what it is") {
  for (const Subject& subject : subjects()) {
    CAPTURE(subject.description.kind);
    auto device = createDevice(subject.description);
    REQUIRE(device.ok());
    CHECK((*device)->description().name == subject.description.name);
    CHECK(!(*device)->fingerprint().empty());
    CHECK((*device)->fingerprint() == createDevice(subject.description).value()->fingerprint());
    CHECK((*device)->enter().ok());
  }
}

TEST_CASE("memory of a device is aligned and holds what is copied") {
  for (const Subject& subject : subjects()) {
    CAPTURE(subject.description.kind);
    auto device = createDevice(subject.description).value();
    for (size_t bytes : {size_t{0}, size_t{1}, size_t{4096}, size_t{5} << 20}) {
      auto memory = device->allocate(bytes);
      REQUIRE(memory.ok());
      CHECK(reinterpret_cast<uintptr_t>(*memory) % runtime::kTensorAlignment == 0);
      std::vector<uint8_t> out(bytes, 3);
      std::vector<uint8_t> in(bytes, 0);
      std::copy(out.begin(), out.end(), static_cast<uint8_t*>(*memory));
      std::copy_n(static_cast<const uint8_t*>(*memory), bytes, in.begin());
      CHECK(in == out);
      device->deallocate(*memory);
    }
    // The host's memory is the process's, which no other plan gives it more of.
    absl::Status most = device->allocate(size_t{1} << 62).status();
    CHECK((absl::IsResourceExhausted(most) || absl::IsUnavailable(most)));
  }
}

TEST_CASE("a device loads an executable and runs it, step after step") {
  for (const Subject& subject : subjects()) {
    CAPTURE(subject.description.kind);
    auto device = createDevice(subject.description).value();
    NoWeights weights;
    if (subject.cannot.contains("load")) {
      WARN(subject.description.kind << " cannot load: " << subject.cannot.at("load"));
      CHECK(absl::IsUnimplemented(device->load({}, weights).status()));
      continue;
    }
    REQUIRE(device->enter().ok());
    std::vector<uint8_t> executable = subject.negation(*device);
    auto program = device->load(executable, weights);
    INFO(program.status());
    REQUIRE(program.ok());
    REQUIRE((*program)->inputs().size() == 1);
    CHECK((*program)->inputs()[0].name == "x");
    float x[4] = {1, 2, 3, 4};
    void* in = device->allocate(16).value();
    void* out = device->allocate(16).value();
    (*program)->buffers()[(*program)->inputs()[0].buffer] = in;
    (*program)->buffers()[(*program)->outputs()[0].buffer] = out;
    for (int step = 0; step < 3; ++step) {
      std::memcpy(in, x, 16);
      for (const OpRecord& record : (*program)->records()) {
        REQUIRE(record.run(record.state, (*program)->buffers().data()) == 0);
      }
      float y[4];
      std::memcpy(y, out, 16);
      CHECK(y[3] == -x[3]);
      x[3] = y[3];
    }
    device->deallocate(in);
    device->deallocate(out);
  }
}

TEST_CASE("damaged executables give an error") {
  for (const Subject& subject : subjects()) {
    auto device = createDevice(subject.description).value();
    NoWeights weights;
    CHECK(!device->load({}, weights).ok());
    CHECK(!device->load(std::vector<uint8_t>(256, 0xff), weights).ok());
  }
}

TEST_CASE("devices that are not there are refused with what there is") {
  absl::Status unknown = createDevice({"node0/tpu:0", "tpu", 0, {}, 0}).status();
  CHECK(absl::IsNotFound(unknown));
  CHECK(unknown.message().find("cpu") != std::string::npos);
  absl::Status core = createDevice({"node0/cpu:0", "cpu", 0, {9999}, 0}).status();
  CHECK(absl::IsInvalidArgument(core));
  CHECK(core.message().find("9999") != std::string::npos);
}

TEST_CASE("the machine offers its CPU") {
  std::vector<DeviceDescription> devices = discoverDevices();
  REQUIRE(!devices.empty());
  CHECK(devices[0].kind == "cpu");
  CHECK(!devices[0].cores.empty());
  CHECK(devices[0].memoryBytes > 0);
  CHECK(createDevice(devices[0]).value()->enter().ok());
}

TEST_CASE("a GPU that is not there is refused with what is missing and how to get it") {
  DeviceDescription gpu{"node0/cuda:99", "cuda", 99, {}, 0};
  absl::Status status = createDevice(gpu).status();
  CHECK(absl::IsNotFound(status));
  CHECK(checkDevice(gpu) == status);
  CHECK(status.message().find("device node0/cuda:99") != std::string::npos);
  bool told = status.message().find("install") != std::string::npos ||
              status.message().find("there is no GPU 99") != std::string::npos;
  CHECK(told);
}

TEST_CASE("kinds of devices tell what they found") {
  std::vector<KindFindings> findings = findKinds();
  REQUIRE(findings.size() == 2);
  CHECK(findings[0].kind == "cpu");
  CHECK(findings[1].kind == "cuda");
  for (const KindFindings& found : findings) {
    CHECK(!found.lines.empty());
  }
}

}  // namespace graphrun::devices
