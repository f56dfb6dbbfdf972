// graphrun test: ONNX test cases, one line each.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "frontends/cli/child_pool.h"
#include "frontends/cli/command_line.h"
#include "frontends/cli/commands.h"
#include "frontends/cli/expected_failures.h"
#include "frontends/cli/option_values.h"
#include "frontends/cli/run_report.h"
#include "frontends/cli/test_case.h"
#include "runtime/base/status.h"

namespace graphrun::cli {
namespace {

namespace fs = std::filesystem;
using Outcome = TestResult::Outcome;

struct TestOptions {
  std::vector<std::string> folders;
  CaseOptions cases;
  std::string expected;
  std::string json;
  std::string ways = "whole";
  uint32_t jobs = 1;
  std::chrono::nanoseconds limit = std::chrono::minutes(1);
};

constexpr const char* kOutcomes[] = {"passed", "failed", "skipped"};

/// A result on its way from a child.
std::string toText(const TestResult& result) {
  return Json{{"outcome", static_cast<int>(result.outcome)},
              {"why", result.why},
              {"message", result.message},
              {"code", result.code},
              {"ms", result.ms},
              {"transfers", result.transfers}}
      .dump(-1, ' ', false, Json::error_handler_t::replace);
}

TestResult fromText(const std::string& text) {
  Json json = Json::parse(text);
  return {static_cast<Outcome>(json["outcome"].get<int>()),
          json["why"],
          json["message"],
          json["code"],
          json["ms"],
          json["transfers"]};
}

struct Counts {
  size_t outcomes[3] = {};
  uint64_t transfers = 0;

  void add(const TestResult& result) {
    ++outcomes[static_cast<size_t>(result.outcome)];
    transfers += result.transfers;
  }
  std::string text() const {
    return absl::StrCat(outcomes[0], " passed, ", outcomes[1], " failed, ", outcomes[2],
                        " skipped");
  }
};

/// Prints results in the order of the cases and counts them. Where a case does not pass whole, how
/// it does in other modes says nothing, and is left out.
class Report {
 public:
  Report(const std::vector<TestCase>& cases, const ExpectedFailures* expected)
      : cases_(cases), expected_(expected), results_(cases.size()), here_(cases.size()) {}

  void add(size_t index, TestResult result) {
    results_[index] = std::move(result);
    here_[index] = true;
    for (; printed_ < results_.size() && here_[printed_]; ++printed_) {
      if (counts(cases_[printed_], results_[printed_])) {
        count(cases_[printed_], results_[printed_]);
        counted_.push_back(printed_);
      }
    }
    std::fflush(stdout);
  }
  int finish() const;
  Json json() const;

 private:
  bool counts(const TestCase& test, const TestResult& result);
  void count(const TestCase& test, const TestResult& result);

  const std::vector<TestCase>& cases_;
  const ExpectedFailures* expected_;  // null: no failure is
  std::vector<TestResult> results_;
  std::vector<bool> here_;
  size_t printed_ = 0;
  std::vector<size_t> counted_;
  std::filesystem::path notWhole_;  // the last case that did not pass whole
  Counts all_;
  std::map<TestMode, Counts> byMode_;
  size_t unexpected_ = 0;
  int code_ = kOk;
};

bool Report::counts(const TestCase& test, const TestResult& result) {
  if (test.mode == TestMode::kWhole && result.outcome != Outcome::kPassed) {
    notWhole_ = test.folder;
  }
  return test.mode == TestMode::kWhole || test.folder != notWhole_;
}

void Report::count(const TestCase& test, const TestResult& result) {
  all_.add(result);
  byMode_[test.mode].add(result);
  std::string name = test.name();
  bool failed = result.outcome == Outcome::kFailed;
  bool listed = expected_ != nullptr && expected_->count(name) != 0;
  if (result.outcome == Outcome::kPassed) {
    std::printf("PASS %s (%.0f ms)%s\n", name.c_str(), result.ms,
                listed ? ": but it is listed as a failure; take it off the list" : "");
  } else {
    const char* word = !failed ? "SKIP" : listed ? "XFAIL" : "FAIL";
    std::printf("%s %s: %s\n", word, name.c_str(), result.why.c_str());
  }
  if (failed != listed) {
    ++unexpected_;
    code_ = std::max(code_, failed ? result.code : static_cast<int>(kDiffers));
  }
}

int Report::finish() const {
  constexpr size_t kSkipped = static_cast<size_t>(Outcome::kSkipped);
  if (all_.outcomes[kSkipped] == counted_.size()) {
    std::printf("nothing was tested: all of %zu cases were skipped\n", counted_.size());
    return std::max(code_, static_cast<int>(kBadFile));
  }
  if (expected_ != nullptr) {
    std::printf("%zu not as listed\n", unexpected_);
  }
  if (byMode_.size() > 1) {
    for (const auto& [mode, counts] : byMode_) {
      std::printf("%s: %s\n", testModeName(mode), counts.text().c_str());
    }
  }
  if (auto split = byMode_.find(TestMode::kSplit); split != byMode_.end()) {
    std::printf("tensors that went from one device to another: %llu\n",
                static_cast<unsigned long long>(split->second.transfers));
  }
  std::printf("%s\n", all_.text().c_str());
  return code_;
}

Json Report::json() const {
  Json list = Json::array();
  for (size_t i : counted_) {
    const TestResult& result = results_[i];
    list.push_back({{"name", cases_[i].name()},
                    {"folder", cases_[i].folder.string()},
                    {"way", testModeName(cases_[i].mode)},
                    {"outcome", kOutcomes[static_cast<size_t>(result.outcome)]},
                    {"ms", result.ms},
                    {"why", result.why},
                    {"message", result.message}});
  }
  return {{"passed", all_.outcomes[0]},
          {"failed", all_.outcomes[1]},
          {"skipped", all_.outcomes[2]},
          {"cases", list}};
}

absl::Status runAll(const TestOptions& options, const std::vector<TestCase>& cases,
                    Report& report) {
  GR_ASSIGN_OR_RETURN(TestModeFiles files, TestModeFiles::create());
  CaseOptions settings = options.cases;
  settings.files = &files;
  auto runOne = [&](size_t index) { return runCase(cases[index], settings); };
  if (options.jobs == 0) {
    for (size_t i = 0; i < cases.size(); ++i) {
      report.add(i, runOne(i));
    }
    return absl::OkStatus();
  }
  ChildPool pool(std::min<size_t>(options.jobs, cases.size()),
                 std::chrono::ceil<std::chrono::milliseconds>(options.limit),
                 [&](size_t index) { return toText(runOne(index)); });
  return pool.run(cases.size(), [&](size_t index, const TaskEnd& end) {
    report.add(index, end.returned ? fromText(end.text) : TestResult::failed(end.text, kInternal));
  });
}

absl::StatusOr<std::vector<TestCase>> allCases(const TestOptions& options) {
  GR_ASSIGN_OR_RETURN(std::vector<TestMode> modes, parseTestModes(options.ways));
  std::vector<TestCase> cases;
  for (const std::string& folder : options.folders) {
    std::vector<fs::path> found = findCases(fs::path(folder).lexically_normal());
    if (found.empty()) {
      return fileError(
          absl::NotFoundError(absl::StrCat(folder, ": there is no model.onnx in it or below")));
    }
    for (const fs::path& one : found) {
      for (TestMode mode : modes) {
        cases.push_back({one, mode});
      }
    }
  }
  return cases;
}

absl::StatusOr<int> test(const TestOptions& options) {
  GR_ASSIGN_OR_RETURN(std::vector<TestCase> cases, allCases(options));
  ExpectedFailures expected;
  if (!options.expected.empty()) {
    GR_ASSIGN_OR_RETURN(expected, readExpectedFailures(options.expected));
  }
  Report report(cases, options.expected.empty() ? nullptr : &expected);
  GR_RETURN_IF_ERROR(runAll(options, cases, report));
  if (!options.json.empty()) {
    GR_RETURN_IF_ERROR(fileError(writeText(options.json, dump(report.json()))));
  }
  return report.finish();
}

}  // namespace

int testCommand(int argc, char** argv) {
  CLI::App app(
      "Runs ONNX test cases: folders with model.onnx and test_data_set_N, or folders of "
      "such. Each runs in a child process.",
      "graphrun test");
  TestOptions options;
  app.add_option("DIR", options.folders, "Cases, or folders of cases")->required();
  options.cases.place.add(app);
  CaseOptions& cases = options.cases;
  addTolerances(app, cases.rtol, cases.atol, cases.l2, cases.step, "data.json's, else ");
  addCount(app, "--jobs", options.jobs, "Cases at a time; 0: in this process, for debuggers (1)", 0,
           kMostThreads);
  addTime(app, "--time-limit", options.limit, "Time that a case may take (1min)",
          {.least = std::chrono::milliseconds(1)});
  app.add_option(
      "--expected", options.expected,
      "File of the cases that must fail, a line each: name, reason; all others must pass");
  app.add_option("--ways", options.ways,
                 "How to run each case, with commas between: whole, symbolic (dims of inputs left "
                 "open), split (over two devices, drawn by the seed)");
  addSeed(app, "--seed", options.cases.seed, "Seed of the split (1)");
  addOutputFile(app, "--json", options.json, "Writes all results to this file");
  return parseAndRun(app, argc, argv, [&]() -> int {
    absl::StatusOr<int> code = test(options);
    return code.ok() ? *code : report(code.status());
  });
}

}  // namespace graphrun::cli
