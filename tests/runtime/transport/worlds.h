// Sets of connected transports for the conformance test: one row per kind of network.
#ifndef GRAPHRUN_TESTS_RUNTIME_TRANSPORT_WORLDS_H_
#define GRAPHRUN_TESTS_RUNTIME_TRANSPORT_WORLDS_H_

#include <memory>
#include <string>
#include <vector>

#include "runtime/transport/edge.h"
#include "runtime/transport/transport.h"

namespace graphrun::runtime::testing {

inline constexpr int64_t kSecond = 1'000'000'000;
inline constexpr LinkToken kToken{0x1122334455667788, 0x99AABBCCDDEEFF00};

/// What a factory makes: transports of ranks 0 to n-1 in this process.
struct World {
  std::shared_ptr<void> network;  // outlives the transports
  std::vector<std::unique_ptr<Transport>> transports;

  Transport& operator[](size_t rank) { return *transports[rank]; }
  /// Links all pairs with kToken and waits until all are up.
  void connectAll();
};

struct Factory {
  std::string name;
  World (*make)(uint32_t size);
};

/// All kinds of transport.
std::vector<Factory> factories();

}  // namespace graphrun::runtime::testing

#endif  // GRAPHRUN_TESTS_RUNTIME_TRANSPORT_WORLDS_H_
