// Compares a kernel with the reference kernel of its operation.
#ifndef GRAPHRUN_TESTS_DEVICES_CPU_LIKE_REFERENCE_H_
#define GRAPHRUN_TESTS_DEVICES_CPU_LIKE_REFERENCE_H_

#include <catch2/catch.hpp>

#include "tests/devices/cpu/instruction_runner.h"

namespace graphrun::devices::cpu {

/// Requires that an operation's kernel of `options` gives what its reference kernel gives, up to
/// `tolerance` (see distance).
inline void requireLikeReference(const Operation& operation, const Tensors& inputs,
                                 const RunOptions& options, double tolerance) {
  auto expected = runOperation(operation, inputs);
  INFO(expected.status());
  REQUIRE(expected.ok());
  auto got = runOperation(operation, inputs, options);
  INFO(got.status());
  REQUIRE(got.ok());
  CHECK(distance((*got)[0], (*expected)[0]) < tolerance);
}

}  // namespace graphrun::devices::cpu

#endif  // GRAPHRUN_TESTS_DEVICES_CPU_LIKE_REFERENCE_H_
