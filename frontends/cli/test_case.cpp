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
#include "runtime/session/model_source.h"

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
  read("l2", options.l2, tolerance.l2);
  read("step", options.step, tolerance.step);
  return tolerance;
}

absl::StatusOr<std::unique_ptr<Session>> openSession(const TestCase& test, TestMode mode,
                                                     const CaseOptions& options) {
  GR_ASSIGN_OR_RETURN(runtime::SessionOptions session, options.place.toSession());
  std::string model = (test.folder / "model.onnx").string();
  if (mode != TestMode::kWhole) {
    GR_ASSIGN_OR_RETURN(model, options.files->prepare(mode, model, options.seed,
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

/// DataLoss where the data set says nothing of an output of the model: nothing would be compared.
absl::Status checkComplete(const std::vector<NamedTensor>& expected,
                           absl::Span<const runtime::ModelPort> ports) {
  for (size_t i = 0; i < ports.size(); ++i) {
    bool told = std::any_of(expected.begin(), expected.end(), [&](const NamedTensor& tensor) {
      return tensor.name == ports[i].name || runtime::isInList(ports[i], tensor.name);
    });
    if (!told) {
      return absl::DataLossError(absl::StrCat("output '", ports[i].name, "': there is no output_",
                                              i, ".pb to compare it with"));
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
  GR_RETURN_IF_ERROR(checkComplete(data.outputs, session.outputs()));
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

/// The folders of data sets, whatever their numbers, in order.
std::vector<fs::path> dataSetsOf(const fs::path& folder) {
  std::vector<fs::path> sets;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (absl::StartsWith(it->path().filename().string(), "test_data_set_") &&
        it->is_directory(error)) {
      sets.push_back(it->path());
    }
  }
  std::sort(sets.begin(), sets.end(), [](const fs::path& a, const fs::path& b) {
    return std::pair(a.native().size(), a.native()) < std::pair(b.native().size(), b.native());
  });
  return sets;
}

/// Ran counts what has run.
struct Ran {
  size_t sets = 0;
  uint64_t transfers = 0;
  bool onDevices = false;  ///< not only where inputs and outputs are
};

absl::Status runDataSets(const TestCase& test, const CaseOptions& options, Ran& ran) {
  GR_ASSIGN_OR_RETURN(std::unique_ptr<Session> session, openSession(test, test.mode, options));
  std::unique_ptr<Session> whole;
  if (test.mode == TestMode::kSplit) {
    CaseOptions alike = options;
    alike.place.threads = kSplitThreads;  // some sums are dealt out to threads, and round by that
    GR_ASSIGN_OR_RETURN(whole, openSession(test, TestMode::kWhole, alike));
  }
  Tolerance tolerance = toleranceOf(test.folder, options);
  std::vector<fs::path> folders = dataSetsOf(test.folder);
  ran.sets = folders.size();
  for (const fs::path& set : folders) {
    absl::Status status = runDataSet(*session, whole.get(), set, tolerance);
    if (!status.ok()) {
      return absl::IsDataLoss(status) ? runtime::annotate(status, set.filename().string()) : status;
    }
  }
  runtime::SessionStats stats = session->stats();
  ran.transfers = stats.transfers;
  ran.onDevices = test.mode != TestMode::kSplit || ran.transfers > 0 || stats.devices.size() > 1;
  return absl::OkStatus();
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
  return mode == TestMode::kWhole ? name : absl::StrCat(name, "/", testModeName(mode));
}

TestResult runCase(const TestCase& test, const CaseOptions& options) {
  const int64_t begin = runtime::nowNanos();
  Ran ran;
  TestResult result;
  absl::Status status = runDataSets(test, options, ran);
  result.transfers = ran.transfers;
  if (!status.ok()) {
    result.message = std::string(status.message());
    result.why = firstDiagnostic(result.message, test.folder.string());
    result.code = absl::IsDataLoss(status) ? kDiffers : exitCodeOf(status);
  } else if (ran.sets == 0 || !ran.onDevices) {
    result.outcome = TestResult::Outcome::kSkipped;
    result.why = result.message =
        ran.sets == 0 ? "it has no test_data_set_N" : "nothing of it runs on a device";
  } else if (test.mode == TestMode::kSplit && ran.transfers == 0) {
    // It would say no more than the whole.
    result = TestResult::failed("no tensor goes from one device to another", kDiffers);
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
