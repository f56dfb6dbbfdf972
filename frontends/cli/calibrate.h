// Measuring a cluster, so that placements are chosen by times and not by guesses.
#ifndef GRAPHRUN_FRONTENDS_CLI_CALIBRATE_H_
#define GRAPHRUN_FRONTENDS_CLI_CALIBRATE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "frontends/cli/command_line.h"

namespace graphrun::cli {

struct CalibrationOptions {
  std::string model;  ///< a .fb or .onnx file; "": networks made to be measured
  PlaceOptions place;
  FeedOptions feed;  ///< of a model; inputs that are not given are random
};

/// The notes say what calibrate did, a line each.
using CalibrationNotes = std::vector<std::string>;

/// Runs a model on each device on which any of its operations has not been measured, then dealt out
/// to all devices, for the links. Without a model, networks with operations of all kinds and sizes
/// take its place, and tensors of all sizes cross the links between any two devices. What is known
/// is not measured again. Takes some seconds for a model, less than a minute without, for each kind
/// of device and for the links. Fails as Session does.
absl::StatusOr<CalibrationNotes> calibrate(const CalibrationOptions& options);

}  // namespace graphrun::cli

#endif  // GRAPHRUN_FRONTENDS_CLI_CALIBRATE_H_
