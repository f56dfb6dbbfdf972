// A worker's trace as text, and text that is none.
#include "runtime/worker/worker_trace.h"

#include <catch2/catch.hpp>

namespace graphrun::runtime {
namespace {

TEST_CASE("a trace is read back as it was written") {
  TraceStream plain{"cpu:0", {{TraceKind::kSend, 3, 7, -5, 12}}, {"a", "b"}, 42, {1, 2}, {3, 4}};
  TraceStream clocked{"cuda:0", {}, {"launch a"}, 42};
  clocked.kernelTimes = {{"a", 17}, {"b", 0}};
  std::vector<TraceStream> streams = {plain, clocked};
  auto read = readWorkerTrace(writeWorkerTrace(streams));
  REQUIRE(read.ok());
  REQUIRE(read->size() == 2);
  CHECK(read->at(0).events == plain.events);
  CHECK(read->at(0).kernelNames == plain.kernelNames);
  CHECK(read->at(0).kernelScratch == plain.kernelScratch);
  CHECK_FALSE(read->at(0).kernelTimes.has_value());
  CHECK(read->at(1).kernelTimes == clocked.kernelTimes);
}

TEST_CASE("other text is no trace") {
  std::string good =
      writeWorkerTrace(std::vector<TraceStream>{{"cuda:0", {}, {}, 1, {}, {}, {{}}}});
  REQUIRE(readWorkerTrace(good).ok());
  for (const char* steps : {"7", "[7]", "[[1, 2]]", R"([["a", -1]])", R"([["a", 1, 2]])"}) {
    std::string bad = good;
    bad.replace(bad.find("\"steps\":[]"), 10, std::string("\"steps\":") + steps);
    CAPTURE(bad);
    CHECK(absl::IsInvalidArgument(readWorkerTrace(bad).status()));
  }
  good.replace(good.find("\"events\":[]"), 11, "\"events\":[1,2,3,-4,5]");
  REQUIRE(readWorkerTrace(good).ok());
  // A kind, an edge, a step and times that are none, or too far apart.
  for (const char* events :
       {"[4,2,3,4,5]", "[-1,2,3,4,5]", "[300,2,3,4,5]", "[1,4294967296,3,4,5]", "[1,2,-3,4,5]",
        "[1,2,3,1152921504606846977,5]", "[1,2,3,4,9223372036854775808]",
        "[1,2,3,-9223372036854775808,5]", "[1,2,3,-1152921504606846976,5]", "[1,2,3,4]",
        "[1,2,3,0,700000000000000000,1,2,3,700000000000000000,0]"}) {
    std::string bad = good;
    bad.replace(bad.find("[1,2,3,-4,5]"), 12, events);
    CAPTURE(bad);
    CHECK(absl::IsInvalidArgument(readWorkerTrace(bad).status()));
  }
  std::string slow = good;
  slow.replace(slow.find("\"steps\":[]"), 10, R"("steps":[["a",1152921504606846977]])");
  CHECK(absl::IsInvalidArgument(readWorkerTrace(slow).status()));
  CHECK(absl::IsInvalidArgument(readWorkerTrace("{").status()));
  CHECK(absl::IsInvalidArgument(readWorkerTrace("[{}]").status()));
}

}  // namespace
}  // namespace graphrun::runtime
