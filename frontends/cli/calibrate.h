// Measuring a cluster with a model, so that its placement is chosen by times and not by guesses.
#ifndef GRAPHRUN_FRONTENDS_CLI_CALIBRATE_H_
#define GRAPHRUN_FRONTENDS_CLI_CALIBRATE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "frontends/cli/command_line.h"

namespace graphrun::cli {

struct CalibrationOptions {
  std::string model;  ///< a .fb or .onnx file
  PlaceOptions place;
  FeedOptions feed;  ///< inputs that are not given are random
};

/// What calibrate did, a line each.
using CalibrationNotes = std::vector<std::string>;

/// Runs the whole model on each device on which any of it has not been measured, then with its
/// operations dealt out to all devices, for the links. What is known is not measured again. Takes
/// some seconds for each kind of device. Fails as Session does.
absl::StatusOr<CalibrationNotes> calibrate(const CalibrationOptions& options);

}  // namespace graphrun::cli

#endif  // GRAPHRUN_FRONTENDS_CLI_CALIBRATE_H_
