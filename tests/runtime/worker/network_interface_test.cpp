// Tensors take the interface that leads to whom they are for, and no other.
#include "runtime/worker/network_interface.h"

#include <catch2/catch.hpp>

namespace graphrun::runtime {
namespace {

std::string listener(const std::string& text) {
  absl::StatusOr<std::string> name = interfaceOfListener(parseAddress(text).value());
  INFO(name.status());
  REQUIRE(name.ok());
  return *name;
}

TEST_CASE("what only this machine reaches takes loopback") {
  const std::string loopback = loopbackInterface();
  REQUIRE(!loopback.empty());
  CHECK(listener("unix:/tmp/w.sock") == loopback);
  CHECK(listener("127.0.0.1:7070") == loopback);
  CHECK(listener("127.8.7.6:7070") == loopback);
  CHECK(interfaceTowards("127.0.0.1") == loopback);
}

TEST_CASE("a listener's host name is resolved") {
  Address address;
  address.kind = Address::Kind::kName;
  address.host = "localhost";
  address.port = 7070;
  CHECK(interfaceOfListener(address).value() == loopbackInterface());
  address.host = "nosuch.invalid";
  CHECK(absl::IsInvalidArgument(interfaceOfListener(address).status()));
  CHECK(interfaceTowards("nosuch.invalid").empty());
}

TEST_CASE("the address of all interfaces leaves the choice open") {
  CHECK(listener("0.0.0.0:7070").empty());
  CHECK(listener("[::]:7070").empty());
}

TEST_CASE("a list of interfaces names those of this machine") {
  for (const std::string& list : {std::string(), std::string("all"), loopbackInterface(),
                                  loopbackInterface() + "," + loopbackInterface() + ":1"}) {
    CHECK(checkInterfaces(list).ok());
  }
  for (const char* list : {"nosuch0", "../net", ".", "lo,nosuch0:1"}) {
    const absl::Status status = checkInterfaces(list);
    CHECK(absl::IsInvalidArgument(status));
    CHECK_THAT(std::string(status.message()), Catch::Contains("known: "));
  }
}

TEST_CASE("an address that no interface has is refused") {
  const absl::Status status =
      interfaceOfListener(parseAddress("203.0.113.9:7070").value()).status();
  CHECK(absl::IsInvalidArgument(status));
  CHECK_THAT(std::string(status.message()), Catch::Contains("no interface of this machine has"));
}

}  // namespace
}  // namespace graphrun::runtime
