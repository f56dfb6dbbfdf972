// The modes in which `graphrun test` runs a case, and the files that they need.
#ifndef GRAPHRUN_FRONTENDS_CLI_TEST_MODES_H_
#define GRAPHRUN_FRONTENDS_CLI_TEST_MODES_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/base/scratch_folder.h"
#include "runtime/session/session.h"

namespace graphrun::cli {

enum class TestMode {
  kWhole,     ///< as it is, where the options say
  kSymbolic,  ///< with open dims: symbolic_model.h
  /// Over two CPU devices of this process, each operation on one drawn by a seed; inputs and
  /// outputs reach them over edges, so that there is a cut wherever an operation runs at all.
  kSplit,
};

/// Threads of a kernel on each device of a split: it has one core.
inline constexpr uint32_t kSplitThreads = 1;

/// "whole", "symbolic", "split".
const char* testModeName(TestMode mode);
/// The modes of "whole,symbolic"; InvalidArgument for another word.
absl::StatusOr<std::vector<TestMode>> parseTestModes(const std::string& text);

/// Files in a scratch folder. Made before processes are forked; safe to use in all of them.
class TestModeFiles {
 public:
  static absl::StatusOr<TestModeFiles> create();
  /// The model to run in place of `model`, and what to change in `options`. `seed` and `name`
  /// decide the split.
  absl::StatusOr<std::string> prepare(TestMode mode, const std::string& model, uint64_t seed,
                                      const std::string& name,
                                      runtime::SessionOptions& options) const;

 private:
  explicit TestModeFiles(runtime::ScratchFolder folder) : folder_(std::move(folder)) {}

  runtime::ScratchFolder folder_;
};

}  // namespace graphrun::cli

#endif  // GRAPHRUN_FRONTENDS_CLI_TEST_MODES_H_
