// What every device must do, and the written list of what one cannot.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>

#include "tests/devices/subjects.h"

namespace graphrun::devices {
namespace {

using testing::Subject;
using testing::subjects;

/// Those that are there; tells of the others why they are not.
std::vector<Subject> present() {
  std::vector<Subject> all = subjects();
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
  for (const Subject& subject : present()) {
    CAPTURE(subject.description.kind);
    auto device = createDevice(subject.description);
    REQUIRE(device.ok());
    CHECK((*device)->description().name == subject.description.name);
    CHECK(!(*device)->fingerprint().empty());
    CHECK((*device)->fingerprint() == createDevice(subject.description).value()->fingerprint());
    CHECK((*device)->attachThread().ok());
  }
}

TEST_CASE("memory of a device is aligned and holds what is copied") {
  for (const Subject& subject : present()) {
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
  for (const Subject& subject : present()) {
    CAPTURE(subject.description.kind);
    auto device = createDevice(subject.description).value();
    NoWeights weights;
    if (subject.cannot.contains("load")) {
      WARN(subject.description.kind << " cannot load: " << subject.cannot.at("load"));
      CHECK(absl::IsUnimplemented(device->load({}, weights).status()));
      continue;
    }
    REQUIRE(device->attachThread().ok());
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
  for (const Subject& subject : present()) {
    auto device = createDevice(subject.description).value();
    NoWeights weights;
    CHECK(!device->load({}, weights).ok());
    CHECK(!device->load(std::vector<uint8_t>(256, 0xff), weights).ok());
  }
}

TEST_CASE("a device has what the record of its kind tells, and no more") {
  for (const Subject& subject : present()) {
    CAPTURE(subject.description.kind);
    const runtime::DeviceKind kind = kindNamed(subject.description.kind);
    auto device = createDevice(subject.description).value();
    CHECK(device->bindsHostMemory() == kind.hasOwnMemory());
    CHECK((device->collectives() != nullptr) == kind.collectives);
    DirectTransfers* transfers = device->directTransfers();
    CHECK((transfers != nullptr || !kind.peerCopy));
    CHECK((transfers == nullptr || transfers->memory() == kind.memory));
  }
}

}  // namespace graphrun::devices
