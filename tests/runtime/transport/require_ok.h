// REQUIRE_OK fails a test with a status' text.
#ifndef GRAPHRUN_TESTS_RUNTIME_TRANSPORT_REQUIRE_OK_H_
#define GRAPHRUN_TESTS_RUNTIME_TRANSPORT_REQUIRE_OK_H_

#include <catch2/catch.hpp>

#include "absl/status/status.h"

#define REQUIRE_OK(expr)                   \
  do {                                     \
    const absl::Status& okStatus = (expr); \
    INFO(okStatus);                        \
    REQUIRE(okStatus.ok());                \
  } while (false)

#endif  // GRAPHRUN_TESTS_RUNTIME_TRANSPORT_REQUIRE_OK_H_
