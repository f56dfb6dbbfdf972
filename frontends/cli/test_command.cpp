// graphrun test: ONNX test cases, one line each.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "frontends/cli/command_line.h"
#include "frontends/cli/commands.h"
#include "frontends/cli/compare.h"
#include "frontends/cli/feeds.h"
#include "runtime/base/clock.h"
#include "runtime/base/status.h"

namespace graphrun::cli {
namespace {

namespace fs = std::filesystem;
using runtime::NamedTensor;
using runtime::Session;

struct TestOptions {
  std::vector<std::string> folders;
  PlaceOptions place;
  double rtol = -1;
  double atol = -1;
};

/// Folders with a model.onnx: `folder` itself, or those right below it.
std::vector<fs::path> casesIn(const fs::path& folder) {
  std::error_code error;
  if (fs::exists(folder / "model.onnx", error)) {
    return {folder};
  }
  std::vector<fs::path> cases;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (fs::exists(it->path() / "model.onnx", error)) {
      cases.push_back(it->path());
    }
  }
  std::sort(cases.begin(), cases.end());
  return cases;
}

/// The tolerance of data.json beside the model, unless the options give one.
Tolerance toleranceOf(const fs::path& folder, const TestOptions& options) {
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

/// Runs one data set. OK, Unimplemented for data that cannot be read here, DataLoss where a result
/// differs.
absl::Status runDataSet(Session& session, const fs::path& folder, const Tolerance& tolerance) {
  GR_ASSIGN_OR_RETURN(DataSet data,
                      readDataSet(folder.string(), session.inputs(), session.outputs()));
  std::vector<NamedTensor> outputs;
  GR_RETURN_IF_ERROR(session.run(data.inputs, outputs));
  for (const NamedTensor& expected : data.outputs) {
    auto got = std::find_if(outputs.begin(), outputs.end(), [&](const NamedTensor& output) {
      return output.name == expected.name;
    });
    std::string problem = got == outputs.end()
                              ? "there is no such output"
                              : difference(got->tensor, expected.tensor, tolerance);
    if (!problem.empty()) {
      return absl::DataLossError(
          absl::StrCat(folder.filename().string(), ": output '", expected.name, "': ", problem));
    }
  }
  return absl::OkStatus();
}

absl::Status runCase(const fs::path& folder, const TestOptions& options, size_t& sets) {
  GR_ASSIGN_OR_RETURN(runtime::SessionOptions sessionOptions, options.place.toSession());
  GR_ASSIGN_OR_RETURN(std::unique_ptr<Session> session,
                      Session::create((folder / "model.onnx").string(), sessionOptions));
  Tolerance tolerance = toleranceOf(folder, options);
  for (sets = 0;; ++sets) {
    fs::path set = folder / absl::StrCat("test_data_set_", sets);
    std::error_code error;
    if (!fs::is_directory(set, error)) {
      return absl::OkStatus();
    }
    GR_RETURN_IF_ERROR(runDataSet(*session, set, tolerance));
  }
}

struct Summary {
  size_t passed = 0;
  size_t failed = 0;
  size_t skipped = 0;
  int code = kOk;

  void fail(int why) {
    ++failed;
    code = std::max(code, why);
  }
};

void runAndPrint(const fs::path& folder, const TestOptions& options, Summary& summary) {
  const int64_t begin = runtime::nowNanos();
  size_t sets = 0;
  absl::Status status = runCase(folder, options, sets);
  double ms = millis(static_cast<uint64_t>(runtime::nowNanos() - begin));
  std::string name = folder.filename().string();
  std::string why = absl::StrReplaceAll(status.message(), {{"\n", "; "}});
  if (absl::IsUnimplemented(status) && runtime::stageOf(status) == runtime::SessionStage::kModel &&
      absl::StrContains(why, ".pb")) {
    ++summary.skipped;
    std::printf("SKIP %s: %s\n", name.c_str(), why.c_str());
  } else if (!status.ok()) {
    summary.fail(absl::IsDataLoss(status) ? kDiffers : exitCodeOf(status));
    std::printf("FAIL %s: %s\n", name.c_str(), why.c_str());
  } else if (sets == 0) {
    ++summary.skipped;
    std::printf("SKIP %s: it has no test_data_set_0\n", name.c_str());
  } else {
    ++summary.passed;
    std::printf("PASS %s (%.0f ms)\n", name.c_str(), ms);
  }
  std::fflush(stdout);
}

int test(const TestOptions& options) {
  Summary summary;
  for (const std::string& folder : options.folders) {
    std::vector<fs::path> cases = casesIn(fs::path(folder).lexically_normal());
    if (cases.empty()) {
      std::printf("FAIL %s: there is no model.onnx in it or right below\n", folder.c_str());
      summary.fail(kBadFile);
    }
    for (const fs::path& one : cases) {
      runAndPrint(one, options, summary);
    }
  }
  std::printf("%zu passed, %zu failed, %zu skipped\n", summary.passed, summary.failed,
              summary.skipped);
  return summary.code;
}

}  // namespace

int testCommand(int argc, char** argv) {
  CLI::App app(
      "Runs ONNX test cases: folders with model.onnx and test_data_set_N, or folders of "
      "such.",
      "graphrun test");
  TestOptions options;
  app.add_option("DIR", options.folders, "Cases, or folders of cases")->required();
  options.place.add(app);
  app.add_option("--rtol", options.rtol, "In place of data.json's, else 1e-3");
  app.add_option("--atol", options.atol, "In place of data.json's, else 1e-7");
  return parseAndRun(app, argc, argv, [&] { return test(options); });
}

}  // namespace graphrun::cli
