// ONNX Runtime, in a process of its own, to compare with.
#ifndef GRAPHRUN_FRONTENDS_CLI_PEER_ONNXRUNTIME_PEER_H_
#define GRAPHRUN_FRONTENDS_CLI_PEER_ONNXRUNTIME_PEER_H_

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "frontends/cli/run_report.h"
#include "runtime/base/scratch_folder.h"
#include "runtime/session/session.h"

namespace graphrun::cli {

/// The program graphrun-onnxruntime beside this one, run by $GRAPHRUN_PYTHON or python3. What it
/// cannot do fails with wrong usage where a package is missing, as a bad file where ONNX Runtime
/// refuses the model, else with Internal. One thread at a time.
class OnnxRuntimePeer {
 public:
  /// Loads `model`, an ONNX file, for these inputs and so many threads.
  static absl::StatusOr<std::unique_ptr<OnnxRuntimePeer>> start(
      const std::string& model, absl::Span<const runtime::NamedTensor> inputs, uint32_t threads);
  /// Ends the process.
  ~OnnxRuntimePeer();
  OnnxRuntimePeer(const OnnxRuntimePeer&) = delete;
  OnnxRuntimePeer& operator=(const OnnxRuntimePeer&) = delete;

  /// Runs the model once; what that took, in milliseconds.
  absl::StatusOr<double> run();
  /// The outputs of the last run; `ports`, the model's, tell types that files do not.
  absl::StatusOr<std::vector<runtime::NamedTensor>> outputs(
      absl::Span<const runtime::ModelPort> ports);
  const std::string& version() const { return version_; }

 private:
  explicit OnnxRuntimePeer(runtime::ScratchFolder folder) : folder_(std::move(folder)) {}

  absl::Status writeInputs(absl::Span<const runtime::NamedTensor> inputs) const;
  absl::Status spawn(const std::string& model, uint32_t threads);
  absl::StatusOr<Json> ask(const std::string& command);
  absl::StatusOr<Json> answer();
  absl::StatusOr<std::string> line();

  runtime::ScratchFolder folder_;
  pid_t pid_ = -1;
  int fd_ = -1;
  std::string received_;  // behind the last line
  std::string version_;
};

}  // namespace graphrun::cli

#endif  // GRAPHRUN_FRONTENDS_CLI_PEER_ONNXRUNTIME_PEER_H_
