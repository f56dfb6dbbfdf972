// The commands share these options, exit codes and error messages.
#ifndef GRAPHRUN_FRONTENDS_CLI_COMMAND_LINE_H_
#define GRAPHRUN_FRONTENDS_CLI_COMMAND_LINE_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/session/session.h"

namespace CLI {
class App;
}

namespace graphrun::cli {

enum ExitCode : int {
  kOk = 0,
  kDiffers = 1,        // a result differs
  kUsage = 2,          // wrong usage
  kBadFile = 3,        // bad model or file
  kNotPlaced = 4,      // cannot be placed
  kWorker = 5,         // a worker or link failed, or memory ran out
  kInternal = 6,       // internal error
  kInterrupted = 130,  // by the user; what was measured until then is printed
};

/// The exit code for a failed status of a session.
ExitCode exitCodeOf(const absl::Status& status);

/// Prints "graphrun: <message>" to stderr; returns exitCodeOf.
ExitCode report(const absl::Status& status);

/// A failed status that means wrong usage, or a file that cannot be used.
absl::Status usageError(absl::string_view message);
absl::Status fileError(const absl::Status& status);

/// Adds "--plan-budget".
void addPlanBudget(CLI::App& app, std::chrono::nanoseconds& budget);

/// PlaceOptions say where and how a model runs.
struct PlaceOptions {
  std::string cluster;
  std::string placement = "auto";
  std::string objective = "latency";
  std::string from;
  std::chrono::nanoseconds planBudget{0};
  std::vector<std::string> pins;
  std::vector<std::string> forbids;
  std::vector<std::string> memoryLimits;
  uint32_t threads = 0;
  std::string split = "auto";
  std::chrono::nanoseconds timeout{0};
  std::chrono::nanoseconds tuneBudget = std::chrono::seconds(5);
  bool exact = false;
  bool deterministic = false;
  std::string precision = "f32";
  bool noFusion = false;
  bool noLearn = false;

  void add(CLI::App& app);
  absl::StatusOr<runtime::SessionOptions> toSession() const;
};

/// FeedOptions say what a model is fed with.
struct FeedOptions {
  std::vector<std::string> inputs;
  std::vector<std::string> shapes;
  std::string data;

  void add(CLI::App& app);
};

/// The two sides of "name<separator>value"; InvalidArgument without the separator or a name.
absl::StatusOr<std::pair<std::string, std::string>> splitPair(const std::string& text,
                                                              char separator,
                                                              const std::string& option);

/// Parses, with the options that every command has (-v, -q), and, if that went well, runs `body`;
/// its result, kOk after --help, or kUsage.
int parseAndRun(CLI::App& app, int argc, char** argv, const std::function<int()>& body);

/// Milliseconds for people.
inline double millis(uint64_t nanos) { return static_cast<double>(nanos) / 1e6; }

}  // namespace graphrun::cli

#endif  // GRAPHRUN_FRONTENDS_CLI_COMMAND_LINE_H_
