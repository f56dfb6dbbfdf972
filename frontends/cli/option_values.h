// Options whose values are written as people write them, and are checked before anything begins.
#ifndef GRAPHRUN_FRONTENDS_CLI_OPTION_VALUES_H_
#define GRAPHRUN_FRONTENDS_CLI_OPTION_VALUES_H_

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace graphrun::cli {

/// More threads than any machine that this runs on has; what is beyond is a mistake.
inline constexpr uint32_t kMostThreads = 1024;
/// The most runs, and the most iterations of a caller.
inline constexpr uint32_t kMostRuns = 1'000'000'000;

/// The times that an option may be given.
struct TimeRange {
  std::chrono::nanoseconds least{0};
  std::chrono::nanoseconds most = std::chrono::hours(24);
};

/// Adds an option for a time: "200ms", "2s", "1min"; a number without a unit is seconds.
CLI::Option* addTime(CLI::App& app, const std::string& name, std::chrono::nanoseconds& time,
                     const std::string& what, TimeRange range = {});

/// Adds "--rtol", "--atol", "--l2" and "--step" of comparisons (compare.h). `elsewhere`: what else
/// may say them, for the help text.
void addTolerances(CLI::App& app, double& rtol, double& atol, double& l2, double& step,
                   const std::string& elsewhere);

/// Adds an option for a whole number from `least` to `most`.
CLI::Option* addCount(CLI::App& app, const std::string& name, uint32_t& value,
                      const std::string& what, uint32_t least, uint32_t most);

/// Adds an option for one of some words; of a misspelt one it tells which was meant.
CLI::Option* addChoice(CLI::App& app, const std::string& name, std::string& value,
                       const std::string& what, const std::vector<std::string>& words);
/// The same for any number of them.
CLI::Option* addChoices(CLI::App& app, const std::string& name, std::vector<std::string>& values,
                        const std::string& what, const std::vector<std::string>& words);

/// Adds an option for what random numbers begin with.
CLI::Option* addSeed(CLI::App& app, const std::string& name, uint64_t& value,
                     const std::string& what);

/// Adds an option for a file to be written; "-" stands for standard output.
CLI::Option* addOutputFile(CLI::App& app, const std::string& name, std::string& path,
                           const std::string& what);
/// Returns the path that `path` stands for.
std::string outputPath(const std::string& path);

/// Bytes of "2GiB", "500MB", "123".
absl::StatusOr<uint64_t> parseBytes(const std::string& text);

}  // namespace graphrun::cli

#endif  // GRAPHRUN_FRONTENDS_CLI_OPTION_VALUES_H_
