// The kinds of devices of the product.
#include <catch2/catch.hpp>

#include "devices/device.h"

namespace graphrun::devices {

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
  CHECK(createDevice(devices[0]).value()->attachThread().ok());
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
