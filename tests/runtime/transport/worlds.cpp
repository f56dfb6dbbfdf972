#include "worlds.h"

#include <catch2/catch.hpp>

#include "runtime/transport/inproc.h"
#include "runtime/transport/sim.h"
#include "runtime/transport/ucx.h"

namespace graphrun::runtime::testing {
namespace {

void add(World& world, absl::StatusOr<std::unique_ptr<Transport>> transport) {
  INFO(transport.status());
  REQUIRE(transport.ok());
  world.transports.push_back(std::move(*transport));
}

World makeInproc(uint32_t size) {
  World world;
  auto hub = makeInprocHub();
  world.network = hub;
  for (uint32_t rank = 0; rank < size; ++rank) {
    add(world, makeInprocTransport(hub, rank));
  }
  return world;
}

World makeSim(uint32_t size, uint64_t seed) {
  World world;
  auto network = makeSimNetwork({.seed = seed});
  world.network = network;
  for (uint32_t rank = 0; rank < size; ++rank) {
    add(world, makeSimTransport(network, rank));
  }
  return world;
}

World makeUcx(uint32_t size) {
  World world;
  for (uint32_t rank = 0; rank < size; ++rank) {
    add(world, makeUcxTransport({.rank = rank}));
  }
  return world;
}

}  // namespace

void World::connectAll() {
  for (auto& from : transports) {
    for (auto& to : transports) {
      if (from != to) {
        REQUIRE(from->connect(to->rank(), to->localAddress(), kToken).ok());
      }
    }
  }
  for (auto& from : transports) {
    for (auto& to : transports) {
      if (from != to) {
        absl::Status status = from->waitConnected(to->rank(), WaitOptions::within(10 * kSecond));
        INFO(status);
        REQUIRE(status.ok());
      }
    }
  }
}

std::vector<Factory> factories() {
  return {
      {"inproc", makeInproc},
      {"sim, seed 1", [](uint32_t size) { return makeSim(size, 1); }},
      {"sim, seed 2", [](uint32_t size) { return makeSim(size, 2); }},
      {"ucx", makeUcx},
  };
}

}  // namespace graphrun::runtime::testing
