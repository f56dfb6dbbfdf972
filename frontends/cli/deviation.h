// The deviation says how far outputs of a lower precision are from those of f32.
#ifndef GRAPHRUN_FRONTENDS_CLI_DEVIATION_H_
#define GRAPHRUN_FRONTENDS_CLI_DEVIATION_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "frontends/cli/run_report.h"
#include "runtime/session/session.h"

namespace graphrun::cli {

/// For each output of floating-point type its name, the largest difference from what a session of
/// f32 gives for the same inputs, and that difference as a part of the largest value: an array of
/// objects "output", "absolute" and "relative". NaN and infinity where the two disagree in them. A
/// session of its own is made and dropped.
absl::StatusOr<Json> deviationFromF32(const std::string& model, runtime::SessionOptions options,
                                      const std::vector<runtime::NamedTensor>& inputs,
                                      const std::vector<runtime::NamedTensor>& outputs);

/// The same for people, a line for each output.
std::string deviationText(const Json& deviation);

}  // namespace graphrun::cli

#endif  // GRAPHRUN_FRONTENDS_CLI_DEVIATION_H_
