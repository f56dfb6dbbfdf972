// What `graphrun test` is made of: children that may crash, diagnostics, the list of failures.
#include <signal.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <thread>

#include "frontends/cli/child_pool.h"
#include "frontends/cli/expected_failures.h"
#include "frontends/cli/symbolic_model.h"
#include "frontends/cli/test_case.h"
#include "frontends/cli/test_modes.h"
#include "frontends/cli/wire_format.h"

namespace graphrun::cli {
namespace {

using std::chrono::milliseconds;

std::map<size_t, TaskEnd> runTasks(ChildPool& pool, size_t count) {
  std::map<size_t, TaskEnd> ends;
  absl::Status status =
      pool.run(count, [&](size_t task, const TaskEnd& end) { ends.emplace(task, end); });
  CHECK(status.ok());
  CHECK(ends.size() == count);
  return ends;
}

TEST_CASE("children answer for each task") {
  for (size_t children : {1, 3}) {
    ChildPool pool(children, milliseconds(30'000),
                   [](size_t task) { return std::string(task * 1000, 'x'); });
    for (const auto& [task, end] : runTasks(pool, 300)) {
      CHECK(end.returned);
      CHECK(end.text.size() == task * 1000);
    }
  }
}

TEST_CASE("a task that breaks its process loses nothing but itself") {
  ChildPool pool(2, milliseconds(500), [](size_t task) -> std::string {
    if (task == 3) {
      signal(SIGSEGV, SIG_DFL);  // Catch2's handler would report it as its own
      raise(SIGSEGV);
    } else if (task == 5) {
      _exit(7);
    } else if (task == 7) {
      std::this_thread::sleep_for(std::chrono::seconds(60));
    }
    return "fine";
  });
  std::map<size_t, TaskEnd> ends = runTasks(pool, 10);
  CHECK(ends[3].text == "crashed: signal 11 (Segmentation fault)");
  CHECK(ends[5].text == "its process ended with exit code 7");
  CHECK(ends[7].text == "took longer than 0.5 s");
  for (size_t task : {0, 1, 2, 4, 6, 8, 9}) {
    CHECK(ends[task].returned);
  }
}

TEST_CASE("a child that ends badly after its last task is reported") {
  ChildPool pool(1, milliseconds(30'000), [](size_t) {
    std::atexit([] { _exit(9); });
    return std::string();
  });
  absl::Status status = pool.run(2, [](size_t, const TaskEnd&) {});
  CHECK_THAT(std::string(status.message()), Catch::Contains("exit code 9"));
}

TEST_CASE("one line tells what went wrong first") {
  CHECK(firstDiagnostic("c/model.onnx: 2 problems\n  node a: bad\n  node b: bad", "c") ==
        "node a: bad (and 1 more)");
  CHECK(firstDiagnostic("it cannot be prepared:\n  Add_0: no kernel", "c") == "Add_0: no kernel");
  CHECK(firstDiagnostic("c/test_data_set_0: none", "c") == "test_data_set_0: none");
  CHECK(firstDiagnostic("1 problem", "c") == "1 problem");
  CHECK(firstDiagnostic("", "c") == "it fails without a message");
}

absl::StatusOr<ExpectedFailures> readList(const std::string& text) {
  std::string path = std::filesystem::temp_directory_path() / ("list" + std::to_string(getpid()));
  std::ofstream(path) << text;
  auto failures = readExpectedFailures(path);
  std::filesystem::remove(path);
  return failures;
}

TEST_CASE("expected failures have a name and a reason") {
  auto failures = readList("# a comment\n\ntest_a  no kernel yet\n  test_b\tslow \n");
  REQUIRE(failures.ok());
  CHECK(*failures == ExpectedFailures{{"test_a", "no kernel yet"}, {"test_b", "slow "}});
  CHECK_THAT(std::string(readList("test_a x\ntest_b  \n").status().message()),
             Catch::Contains(":2: test_b has no reason"));
  CHECK_THAT(std::string(readList("a x\na y\n").status().message()),
             Catch::Contains(":2: a is listed twice"));
  CHECK(exitCodeOf(readExpectedFailures("/nowhere/list").status()) == kBadFile);
}

TEST_CASE("modes are given by name") {
  CHECK(*parseTestModes("whole") == std::vector<TestMode>{TestMode::kWhole});
  CHECK(*parseTestModes("split,symbolic") ==
        std::vector<TestMode>{TestMode::kSplit, TestMode::kSymbolic});
  for (const char* bad : {"", "whole,", "Whole", "all"}) {
    CHECK(exitCodeOf(parseTestModes(bad).status()) == kUsage);
  }
  CHECK(TestCase{"a/test_add", TestMode::kWhole}.name() == "test_add");
  CHECK(TestCase{"a/test_add", TestMode::kSplit}.name() == "test_add/split");
}

/// A field of bytes, as in a protocol buffer.
std::string field(uint32_t number, const std::string& content) {
  std::string out;
  appendBytes(number, content, out);
  return out;
}

std::string opened(const std::string& model) {
  return withSymbolicDims({reinterpret_cast<const uint8_t*>(model.data()), model.size()});
}

/// A graph input, output or value_info: a tensor of f32 whose shape is `dims`.
std::string value(const std::string& name, const std::string& dims) {
  std::string tensor = std::string("\x08\x01", 2) + field(2, dims);
  return field(1, name) + field(2, field(1, tensor));
}

TEST_CASE("dims of inputs and outputs are left open") {
  std::string two = field(1, "\x08\x02");  // Dimension{dim_value: 2}
  std::string named = field(1, field(2, "N"));
  std::string open = field(1, "");
  std::string node = field(1, "a node");
  std::string weight = field(5, field(8, "w"));
  std::string ir = "\x08\x09";  // ir_version, no bytes
  auto model = [&](const std::string& graph) { return ir + field(7, graph); };
  CHECK(
      opened(model(node + weight + field(11, value("x", two + named)) + field(11, value("w", two)) +
                   field(12, value("y", two)) + field(13, value("t", two)))) ==
      model(node + weight + field(11, value("x", open + open)) + field(11, value("w", two)) +
            field(12, value("y", open))));

  auto sequence = [](const std::string& dims) {
    std::string tensor = std::string("\x08\x01", 2) + field(2, dims);
    return field(1, "s") + field(2, field(4, field(1, field(1, tensor))));
  };
  CHECK(opened(model(field(11, sequence(two)))) == model(field(11, sequence(open))));
}

TEST_CASE("what is no model stays as it is, however deep it goes") {
  for (const std::string& text :
       {std::string(), std::string("hello"), std::string("\x3a\x7f", 2)}) {
    CHECK(opened(text) == text);
  }
  std::string type;
  while (type.size() < 60'000) {
    type = field(4, field(1, type));
  }
  std::string deep = field(7, field(11, field(2, type)));
  CHECK(opened(deep) == deep);
}

}  // namespace
}  // namespace graphrun::cli
