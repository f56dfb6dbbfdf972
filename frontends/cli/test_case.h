// A test case has ONNX's form: model.onnx, test_data_set_N/{input,output}_M.pb, data.json.
#ifndef GRAPHRUN_FRONTENDS_CLI_TEST_CASE_H_
#define GRAPHRUN_FRONTENDS_CLI_TEST_CASE_H_

#include <filesystem>
#include <string>
#include <vector>

#include "frontends/cli/command_line.h"
#include "frontends/cli/test_modes.h"

namespace graphrun::cli {

/// A folder in that form, and how to run it.
struct TestCase {
  std::filesystem::path folder;
  TestMode mode = TestMode::kWhole;

  /// "test_add", "test_add/split": in reports and in the list of expected failures.
  std::string name() const;
};

struct TestResult {
  enum class Outcome { kPassed, kFailed, kSkipped };

  Outcome outcome = Outcome::kFailed;
  std::string why;      ///< one line: the first thing that went wrong; "" if it passed
  std::string message;  ///< the whole of it
  int code = kOk;       ///< the exit code that the failure alone would give
  double ms = 0;
  uint64_t transfers = 0;  ///< tensors that went from one device to another

  static TestResult failed(std::string why, int code);
};

/// CaseOptions say how cases are run.
struct CaseOptions {
  PlaceOptions place;
  double rtol = -1;  ///< in place of data.json's, which stands in place of 1e-3; < 0: not given
  double atol = -1;  ///< the same; 1e-7
  double l2 = -1;    ///< the same; none
  double step = -1;  ///< the same; none
  uint64_t seed = 1;
  const TestModeFiles* files = nullptr;  ///< for other modes than the whole
};

/// Folders with a model.onnx, sorted: `folder` itself, or those at any depth below it.
std::vector<std::filesystem::path> findCases(const std::filesystem::path& folder);

/// Runs all data sets of the case. A split model must give the very bits that it gives whole, and a
/// tensor must have gone from one device to another; where nothing is placed, the case is skipped.
TestResult runCase(const TestCase& test, const CaseOptions& options);

/// Returns `message` in one line: the first problem of a list, and how many more there are; paths
/// of `folder` are left out.
std::string firstDiagnostic(const std::string& message, const std::string& folder);

}  // namespace graphrun::cli

#endif  // GRAPHRUN_FRONTENDS_CLI_TEST_CASE_H_
