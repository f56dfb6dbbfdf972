// `--compare-to onnxruntime`: the results and times of another runtime beside those of a session.
#ifndef GRAPHRUN_FRONTENDS_CLI_PEER_PEER_COMPARISON_H_
#define GRAPHRUN_FRONTENDS_CLI_PEER_PEER_COMPARISON_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "frontends/cli/command_line.h"
#include "frontends/cli/compare.h"
#include "frontends/cli/run_report.h"
#include "runtime/session/session.h"

namespace CLI {
class App;
}

namespace graphrun::cli {

struct PeerOptions {
  std::string name;  ///< "onnxruntime"; "": no comparison
  Tolerance tolerance;
  bool byType = false;  ///< no tolerance was given: it follows the types of outputs

  void add(CLI::App& app);
  /// Takes the tolerance that the options of `app` (addTolerances) tell; where they tell none, the
  /// relative 2-norm of the errors may be 1e-3, of what is computed in 16 bits 2e-2.
  void take(const CLI::App& app, const Tolerance& given, const std::string& precision);
  /// Before anything runs: wrong usage where the other runtime cannot read `model`.
  absl::Status check(const std::string& model) const;
};

/// Runs the model here and there, in turns, `pairs` times after one run of each that does not
/// count; Ctrl-C ends it (interrupt.h) after a pair.
/// {"runtime", "version", "threads", "pairs", "outputs": [{"output", "max_abs", "max_rel", "l2",
/// "problem" ("": within the tolerance)}], "latency_ms": {"graphrun", "onnxruntime"}: as
/// latencyJson, "ratio" (the median of GraphRun's time over the other's, pair by pair)}.
absl::StatusOr<Json> compareToPeer(const PeerOptions& options, const std::string& model,
                                   runtime::Session& session,
                                   const std::vector<runtime::NamedTensor>& inputs,
                                   uint32_t threads, uint32_t pairs);

/// The same for people.
std::string peerText(const Json& comparison);

/// kDiffers where an output is beyond the tolerance.
ExitCode peerCode(const Json& comparison);

}  // namespace graphrun::cli

#endif  // GRAPHRUN_FRONTENDS_CLI_PEER_PEER_COMPARISON_H_
