#include "frontends/cli/option_values.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "frontends/cli/command_line.h"
#include "runtime/base/names.h"
#include "runtime/base/status.h"
#include "runtime/base/units.h"

namespace graphrun::cli {
namespace {

std::string timeText(std::chrono::nanoseconds time) {
  return runtime::formatDuration(time.count());
}

CLI::Validator oneOf(const std::vector<std::string>& words) {
  auto check = [words](const std::string& text) -> std::string {
    const bool isKnown = std::find(words.begin(), words.end(), text) != words.end();
    return isKnown ? ""
                   : absl::StrCat("'", text, "' is none of ", absl::StrJoin(words, ", "),
                                  runtime::didYouMean(text, words));
  };
  return {check, ""};
}

}  // namespace

CLI::Option* addTime(CLI::App& app, const std::string& name, std::chrono::nanoseconds& time,
                     const std::string& what, TimeRange range) {
  auto set = [&time, name, range](const std::string& text) {
    absl::StatusOr<int64_t> ns = runtime::parseSeconds(text);
    if (!ns.ok()) {
      throw CLI::ValidationError(name, std::string(ns.status().message()));
    }
    if (*ns < range.least.count() || *ns > range.most.count()) {
      throw CLI::ValidationError(
          name, absl::StrCat("'", text, "' is not from ", timeText(range.least), " to ",
                             timeText(range.most)));
    }
    time = std::chrono::nanoseconds(*ns);
  };
  return app.add_option_function<std::string>(name, set, what)->type_name("TIME");
}

void addTolerances(CLI::App& app, double& rtol, double& atol, double& l2, double& step,
                   const std::string& elsewhere) {
  // A NaN would make every comparison pass.
  auto check = [](const std::string& text) -> std::string {
    double number = 0;
    bool good = absl::SimpleAtod(text, &number) && std::isfinite(number) && number >= 0;
    return good ? "" : absl::StrCat("'", text, "' is no number from 0 on");
  };
  auto add = [&](const char* name, double& value, const std::string& what) {
    app.add_option(name, value, what)->check(CLI::Validator(check, ""));
  };
  add("--rtol", rtol, absl::StrCat("Relative tolerance of comparisons (", elsewhere, "1e-3)"));
  add("--atol", atol, absl::StrCat("Absolute tolerance of comparisons (", elsewhere, "1e-7)"));
  add("--l2", l2,
      "Tolerance for floats in place of both: the 2-norm of the errors, relative to that of the "
      "expected values");
  add("--step", step, "Step of a quantised result; 1 % of the elements may be off by one");
}

CLI::Option* addCount(CLI::App& app, const std::string& name, uint32_t& value,
                      const std::string& what, uint32_t least, uint32_t most) {
  auto check = [least, most](const std::string& text) -> std::string {
    uint64_t number = 0;
    bool good = absl::SimpleAtoi(text, &number) && number >= least && number <= most;
    return good ? "" : absl::StrCat("'", text, "' is no whole number from ", least, " to ", most);
  };
  return app.add_option(name, value, what)->check(CLI::Validator(check, ""));
}

CLI::Option* addChoice(CLI::App& app, const std::string& name, std::string& value,
                       const std::string& what, const std::vector<std::string>& words) {
  return app.add_option(name, value, what)->check(oneOf(words));
}

CLI::Option* addChoices(CLI::App& app, const std::string& name, std::vector<std::string>& values,
                        const std::string& what, const std::vector<std::string>& words) {
  return app.add_option(name, values, what)->check(oneOf(words));
}

CLI::Option* addSeed(CLI::App& app, const std::string& name, uint64_t& value,
                     const std::string& what) {
  // CLI11 takes "-1" and "0x10" too.
  auto check = [](const std::string& text) -> std::string {
    uint64_t number = 0;
    return absl::SimpleAtoi(text, &number)
               ? ""
               : absl::StrCat("'", text, "' is no whole number from 0 to ", UINT64_MAX);
  };
  return app.add_option(name, value, what)->check(CLI::Validator(check, ""));
}

CLI::Option* addOutputFile(CLI::App& app, const std::string& name, std::string& path,
                           const std::string& what) {
  auto set = [&path](const std::string& text) { path = outputPath(text); };
  return app.add_option_function<std::string>(name, set, what)->type_name("FILE");
}

std::string outputPath(const std::string& path) { return path == "-" ? "/dev/stdout" : path; }

absl::StatusOr<uint64_t> parseBytes(const std::string& text) {
  bool isPlain = !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
  absl::StatusOr<int64_t> bytes = runtime::parseBytes(isPlain ? text + "B" : text);
  return bytes.ok() ? absl::StatusOr<uint64_t>(static_cast<uint64_t>(*bytes))
                    : usageError(absl::StrCat("this is no size: ", bytes.status().message()));
}

}  // namespace graphrun::cli
