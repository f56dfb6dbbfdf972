// Inputs and expected outputs of a run, from options and files.
#ifndef GRAPHRUN_FRONTENDS_CLI_FEEDS_H_
#define GRAPHRUN_FRONTENDS_CLI_FEEDS_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "frontends/cli/command_line.h"
#include "runtime/session/session.h"

namespace graphrun::cli {

/// Tensors of a folder input_N.pb and output_N.pb, in the order of their numbers. Those without a
/// name of the model get the one of the port with their number.
struct DataSet {
  std::vector<runtime::NamedTensor> inputs;
  std::vector<runtime::NamedTensor> outputs;
};
absl::StatusOr<DataSet> readDataSet(const std::string& folder,
                                    absl::Span<const runtime::ModelPort> inputs,
                                    absl::Span<const runtime::ModelPort> outputs);

/// "NAME=VALUE" of `option` in two parts. Names may hold "=": the longest beginning of `text` that
/// is the name of a port, or of a tensor in its list, counts; where none is, the one up to the
/// first "=", of which the caller says that it is no port's.
absl::StatusOr<std::pair<std::string, std::string>> splitByPort(
    const std::string& text, absl::Span<const runtime::ModelPort> ports, const std::string& option);

/// Fills a tensor with seeded random numbers: floats uniform in [-1, 1), integers in [0, 10).
void fillRandom(runtime::HostTensor& tensor, uint64_t seed);

/// "1x3x224x224" -> {1, 3, 224, 224}; "" is a scalar.
absl::StatusOr<std::vector<int64_t>> parseDims(const std::string& text);

/// The shapes that the options give to the model's inputs: of --shape, --input, --data, and of
/// inputs whose shape is fixed. Inputs that stay without a shape are an error that names them.
absl::StatusOr<std::vector<runtime::NamedSpec>> feedShapes(
    const FeedOptions& options, absl::Span<const runtime::ModelPort> ports);

/// The inputs that the options give. `fillRest`: inputs that none is given for are random; else
/// they are an error that names them and their shape.
absl::StatusOr<std::vector<runtime::NamedTensor>> feeds(const FeedOptions& options,
                                                        absl::Span<const runtime::ModelPort> ports,
                                                        bool fillRest);

}  // namespace graphrun::cli

#endif  // GRAPHRUN_FRONTENDS_CLI_FEEDS_H_
