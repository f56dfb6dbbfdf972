// The compiler as the run world sees it: loaded at the first call, absent until then.
#ifndef GRAPHRUN_RUNTIME_COMPILER_LOADER_COMPILER_LOADER_H_
#define GRAPHRUN_RUNTIME_COMPILER_LOADER_COMPILER_LOADER_H_

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "runtime/base/code_store.h"
#include "runtime/base/device_description.h"
#include "runtime/base/element_type.h"
#include "runtime/compiler_loader/compiler_api.h"
#include "runtime/training/recipe.h"

namespace graphrun::runtime {

/// Bytes of a weight by its index in the plan's table; valid while the call that got it runs.
/// Must be thread-safe.
using ReadWeight = absl::FunctionRef<absl::StatusOr<absl::Span<const uint8_t>>(uint32_t index)>;

/// A partition to compile for a device of this process.
struct PartitionTask {
  absl::Span<const uint8_t> plan;  // a verified Plan, aligned to 8
  uint32_t index = 0;              // into Plan.partitions
  DeviceDescription device;   // its limit is for weights and arena; the plan names and kinds it
  std::string fingerprint;    // of the device
  absl::string_view timings;  // of devices of this fingerprint; "" at first
  std::string refused;        // by devices of this fingerprint: devices::RefusedKernels::text
  uint64_t tuneNanos = 0;     // to be spent on measuring kernels
  CodeStore* code = nullptr;  // null: nothing is kept
};

/// An executable, and what was learnt while it was made.
struct CompiledPartition {
  std::vector<uint8_t> executable;  // for Device::load
  std::string timings;              // for the next PartitionTask of a device of this fingerprint
  bool tuned = false;               // no choice of a kernel waits for a measurement
};

/// A Compiler is the compile world's service to the run world. Thread-safe. Tests put their own in
/// its place.
class Compiler {
 public:
  virtual ~Compiler() = default;

  /// Tells one build of the compiler from another, for the keys of caches. Known without loading
  /// it.
  virtual std::string identity() = 0;
  /// Writes model.fb to `outPath`; returns warnings, one a line.
  virtual absl::StatusOr<std::string> importOnnx(const std::string& path,
                                                 const std::string& outPath) = 0;
  /// `model`: a whole model file, aligned to 64, its weights checked; `request`: a PlanRequest.
  /// Returns a PlanResponse.
  virtual absl::StatusOr<std::vector<uint8_t>> plan(absl::Span<const uint8_t> model,
                                                    const std::string& modelName,
                                                    absl::Span<const uint8_t> request) = 0;
  virtual absl::StatusOr<CompiledPartition> compilePartition(const PartitionTask& task,
                                                             ReadWeight readWeight) = 0;
  /// JSON text; see GrCompilerApi::inspect.
  virtual absl::StatusOr<std::string> inspect(absl::Span<const uint8_t> model,
                                              const std::string& modelName,
                                              absl::Span<const uint8_t> request) = 0;
  /// Writes a placement into a copy of an ONNX file; see GrCompilerApi::annotateOnnx.
  virtual absl::StatusOr<std::string> annotateOnnx(const std::string& path,
                                                   const std::string& explanation,
                                                   const std::string& outPath) = 0;
  /// Places a bare cost graph; JSON text, see GrCompilerApi::placeCosts.
  virtual absl::StatusOr<std::string> placeCosts(const GrCosts& costs) = 0;
  /// The cost graph of a model as text, "" when there is no one; see GrCompilerApi::costs.
  virtual absl::StatusOr<std::string> costs(absl::Span<const uint8_t> model,
                                            const std::string& modelName,
                                            absl::Span<const uint8_t> request) = 0;
  /// Writes a network that is made to be measured; returns its name, NotFound behind the last. See
  /// GrCompilerApi::calibrationModel.
  virtual absl::StatusOr<std::string> calibrationModel(uint32_t number,
                                                       const std::string& outPath) = 0;
};

/// The compiler in libgraphrun-compiler.so: the file that $GRAPHRUN_COMPILER_LIBRARY names, else
/// the one beside the library that holds this code, else what the dynamic linker finds. It stays
/// loaded.
class CompilerLoader final : public Compiler {
 public:
  /// `library`: the file to load; "" for the search above.
  explicit CompilerLoader(std::string library = "");

  std::string identity() override;
  absl::StatusOr<std::string> importOnnx(const std::string& path,
                                         const std::string& outPath) override;
  absl::StatusOr<std::vector<uint8_t>> plan(absl::Span<const uint8_t> model,
                                            const std::string& modelName,
                                            absl::Span<const uint8_t> request) override;
  absl::StatusOr<CompiledPartition> compilePartition(const PartitionTask& task,
                                                     ReadWeight readWeight) override;
  absl::StatusOr<std::string> inspect(absl::Span<const uint8_t> model, const std::string& modelName,
                                      absl::Span<const uint8_t> request) override;
  absl::StatusOr<std::string> annotateOnnx(const std::string& path, const std::string& explanation,
                                           const std::string& outPath) override;
  absl::StatusOr<std::string> placeCosts(const GrCosts& costs) override;
  absl::StatusOr<std::string> costs(absl::Span<const uint8_t> model, const std::string& modelName,
                                    absl::Span<const uint8_t> request) override;

  absl::StatusOr<std::string> calibrationModel(uint32_t number,
                                               const std::string& outPath) override;

  /// JSON text; see GrCompilerApi::checkModel.
  absl::StatusOr<std::string> checkModel(const std::string& path,
                                         const std::vector<std::string>& shapes, bool training);
  /// Writes a model that trains; returns warnings, one a line. See GrCompilerApi::trainingModel.
  absl::StatusOr<std::string> trainingModel(const Recipe& recipe, ElementType target,
                                            const std::string& outPath);
  /// Writes weights into a copy of an ONNX file; see GrCompilerApi::writeOnnxWeights.
  absl::Status writeOnnxWeights(const std::string& path, absl::Span<const GrTensor> tensors,
                                const std::string& outPath);

  /// Loads the library; why it cannot be used, as NotFound or FailedPrecondition.
  absl::Status check() { return api().status(); }
  /// Returns whether any call has needed the compile world so far.
  bool loaded() const;

 private:
  /// NotFound when the library is missing, FailedPrecondition when it is of another version.
  absl::StatusOr<const GrCompilerApi*> api();

  const std::string library_;
  mutable std::mutex mutex_;
  const GrCompilerApi* api_ = nullptr;
};

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_COMPILER_LOADER_COMPILER_LOADER_H_
