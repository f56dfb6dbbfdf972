#include "frontends/cli/test_case.h"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "frontends/cli/compare.h"
#include "frontends/cli/feeds.h"
#include "runtime/base/clock.h"
#include "runtime/base/status.h"

namespace graphrun::cli {
namespace {

namespace fs = std::filesystem;
using runtime::NamedTensor;
using runtime::Session;

/// The tolerance of data.json beside the model, unless the options give one.
Tolerance toleranceOf(const fs::path& folder, const CaseOptions& options) {
  Tolerance tolerance;
  std::ifstream file(folder / "data.json");
  auto json = nlohmann::json::parse(file, nullptr, /*allow_exceptions=*/false);
  auto read = [&](const char* key, double given, double& value) {
    if (given >= 0) {
      value = given;
    } else if (json.is_object() && json.contains(key) && json[key].is_number()) {
      value = json[key];
    }
  };
  read("rtol", options.rtol, tolerance.rtol);
  read("atol", options.atol, tolerance.atol);
  return tolerance;
}

absl::StatusOr<std::unique_ptr<Session>> openSession(const TestCase& test, Way way,
                                                     const CaseOptions& options) {
  GR_ASSIGN_OR_RETURN(runtime::SessionOptions session, options.place.toSession());
  std::string model = (test.folder / "model.onnx").string();
  if (way != Way::kWhole) {
    GR_ASSIGN_OR_RETURN(model, options.files->prepare(way, model, options.seed,
                                                      test.folder.filename().string(), session));
  }
  return Session::create(model, session);
}

/// Compares with what was expected; DataLoss where a result differs.
absl::Status compare(const std::vector<NamedTensor>& outputs,
                     const std::vector<NamedTensor>& expected, const Tolerance& tolerance) {
  for (const NamedTensor& wanted : expected) {
    auto got = std::find_if(outputs.begin(), outputs.end(),
                            [&](const NamedTensor& output) { return output.name == wanted.name; });
    std::string problem = got == outputs.end() ? "there is no such output"
                                               : difference(got->tensor, wanted.tensor, tolerance);
    if (!problem.empty()) {
      return absl::DataLossError(absl::StrCat("output '", wanted.name, "': ", problem));
    }
  }
  return absl::OkStatus();
}

/// DataLoss where not every bit is equal.
absl::Status compareBits(const std::vector<NamedTensor>& outputs,
                         const std::vector<NamedTensor>& whole) {
  if (outputs.size() != whole.size()) {
    return absl::DataLossError(absl::StrCat("there are ", outputs.size(), " outputs, and ",
                                            whole.size(), " when the model runs whole"));
  }
  for (size_t i = 0; i < whole.size(); ++i) {
    const runtime::HostTensor& a = outputs[i].tensor;
    const runtime::HostTensor& b = whole[i].tensor;
    bool equal = a.spec() == b.spec() &&
                 (a.byteSize() == 0 || std::memcmp(a.data(), b.data(), a.byteSize()) == 0) &&
                 a.strings() == b.strings();
    if (!equal) {
      return absl::DataLossError(absl::StrCat("output '", whole[i].name,
                                              "' has other bits than when the model runs whole"));
    }
  }
  return absl::OkStatus();
}

/// One data set, on `session` and, where there is one, on `whole`.
absl::Status runDataSet(Session& session, Session* whole, const fs::path& folder,
                        const Tolerance& tolerance) {
  GR_ASSIGN_OR_RETURN(DataSet data,
                      readDataSet(folder.string(), session.inputs(), session.outputs()));
  std::vector<NamedTensor> outputs;
  GR_RETURN_IF_ERROR(session.run(data.inputs, outputs));
  GR_RETURN_IF_ERROR(compare(outputs, data.outputs, tolerance));
  if (whole == nullptr) {
    return absl::OkStatus();
  }
  std::vector<NamedTensor> wanted;
  GR_RETURN_IF_ERROR(whole->run(data.inputs, wanted));
  return compareBits(outputs, wanted);
}

absl::Status runDataSets(const TestCase& test, const CaseOptions& options, size_t& sets) {
  GR_ASSIGN_OR_RETURN(std::unique_ptr<Session> session, openSession(test, test.way, options));
  std::unique_ptr<Session> whole;
  if (test.way == Way::kSplit) {
    GR_ASSIGN_OR_RETURN(whole, openSession(test, Way::kWhole, options));
  }
  Tolerance tolerance = toleranceOf(test.folder, options);
  for (sets = 0;; ++sets) {
    fs::path set = test.folder / absl::StrCat("test_data_set_", sets);
    std::error_code error;
    if (!fs::is_directory(set, error)) {
      return absl::OkStatus();
    }
    absl::Status status = runDataSet(*session, whole.get(), set, tolerance);
    if (!status.ok()) {
      return absl::IsDataLoss(status) ? runtime::annotate(status, set.filename().string()) : status;
    }
  }
}

bool isHeading(absl::string_view line) {
  return absl::EndsWith(line, ":") || absl::EndsWith(line, " problem") ||
         absl::EndsWith(line, " problems");
}

}  // namespace

TestResult TestResult::failed(std::string why, int code) {
  TestResult result;
  result.why = result.message = std::move(why);
  result.code = code;
  return result;
}

std::vector<fs::path> findCases(const fs::path& folder) {
  std::error_code error;
  if (fs::exists(folder / "model.onnx", error)) {
    return {folder};
  }
  std::vector<fs::path> cases;
  for (fs::recursive_directory_iterator it(folder, error), end; !error && it != end;
       it.increment(error)) {
    if (fs::exists(it->path() / "model.onnx", error)) {
      cases.push_back(it->path());
      it.disable_recursion_pending();
    }
  }
  std::sort(cases.begin(), cases.end());
  return cases;
}

std::string TestCase::name() const {
  std::string name = folder.filename().string();
  return way == Way::kWhole ? name : absl::StrCat(name, "/", wayName(way));
}

TestResult runCase(const TestCase& test, const CaseOptions& options) {
  const int64_t begin = runtime::nowNanos();
  size_t sets = 0;
  TestResult result;
  absl::Status status = runDataSets(test, options, sets);
  if (!status.ok()) {
    result.message = std::string(status.message());
    result.why = firstDiagnostic(result.message, test.folder.string());
    result.code = absl::IsDataLoss(status) ? kDiffers : exitCodeOf(status);
  } else if (sets == 0) {
    result.outcome = TestResult::Outcome::kSkipped;
    result.why = result.message = "it has no test_data_set_0";
  } else {
    result.outcome = TestResult::Outcome::kPassed;
  }
  result.ms = millis(static_cast<uint64_t>(runtime::nowNanos() - begin));
  return result;
}

std::string firstDiagnostic(const std::string& message, const std::string& folder) {
  std::string text = absl::StrReplaceAll(
      message, {{absl::StrCat(folder, "/model.onnx: "), ""}, {absl::StrCat(folder, "/"), ""}});
  std::vector<absl::string_view> lines = absl::StrSplit(text, '\n', absl::SkipWhitespace());
  size_t first = 0;
  while (first + 1 < lines.size() && isHeading(lines[first])) {
    ++first;
  }
  if (lines.empty()) {
    return "it fails without a message";
  }
  std::string why(absl::StripAsciiWhitespace(lines[first]));
  if (first + 1 < lines.size()) {
    absl::StrAppend(&why, " (and ", lines.size() - first - 1, " more)");
  }
  return why;
}

}  // namespace graphrun::cli
