// A compile world and a device in a few lines, so that sessions and workers are tested end to end
// without MLIR: models are chains of "toy.add" (input plus a one-element weight) with now and then
// a "toy.ten" (adds 10, a weight that planning makes), "toy.slow" (sleeps 100 ms) or "toy.fail"
// (returns an error).
#ifndef GRAPHRUN_TESTS_RUNTIME_SESSION_TOY_WORLD_H_
#define GRAPHRUN_TESTS_RUNTIME_SESSION_TOY_WORLD_H_

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "devices/device.h"
#include "runtime/compiler_loader/compiler_loader.h"

namespace graphrun::testing {

/// Writes a model: y = x + 1 + 2 + … through `ops`, names of operations; "toy.add" number k adds k
/// (from 1), the others add nothing. x has the shape ?xf32 with the symbol n.
void writeToyModel(const std::string& path, const std::vector<std::string>& ops);

/// Plans and "compiles" toy models. Strategy "single" puts all on client/cpu:0; "auto" with a
/// cluster deals the operations out, one after the other, to the devices (workers named in the
/// cluster's YAML, one device toy:0 each, two for a worker whose name begins with "two"). Strategy
/// "big" answers ResourceExhausted. For throughput edges have buffers for all steps in flight.
/// "Imports" ONNX files by writing a toy model of three additions.
class ToyCompiler : public runtime::Compiler {
 public:
  std::string identity() override { return "toy 1"; }
  absl::StatusOr<std::string> importOnnx(const std::string& path,
                                         const std::string& outPath) override;
  absl::StatusOr<std::vector<uint8_t>> plan(absl::Span<const uint8_t> model,
                                            const std::string& modelName,
                                            absl::Span<const uint8_t> request) override;
  absl::StatusOr<runtime::CompiledPartition> compilePartition(
      const runtime::PartitionTask& task, runtime::ReadWeight readWeight) override;
  absl::StatusOr<std::string> inspect(absl::Span<const uint8_t>, const std::string&,
                                      absl::Span<const uint8_t>) override {
    return std::string("{\"flops\": null, \"bytes\": null, \"ops\": {}}");
  }
  absl::StatusOr<std::string> annotateOnnx(const std::string&, const std::string&,
                                           const std::string&) override {
    return absl::UnimplementedError("the toy compiler writes no ONNX files");
  }
  absl::StatusOr<std::string> placeCosts(const GrCosts&) override {
    return absl::UnimplementedError("the toy compiler places no cost graphs");
  }
  absl::StatusOr<std::string> costs(absl::Span<const uint8_t>, const std::string&,
                                    absl::Span<const uint8_t>) override {
    return absl::UnimplementedError("the toy compiler writes no cost graphs");
  }
  absl::StatusOr<std::string> calibrationModel(uint32_t, const std::string&) override {
    return absl::NotFoundError("the toy compiler makes no networks");
  }

  std::atomic<int> imports{0};
  std::atomic<int> plans{0};
  std::atomic<int> compiles{0};
  /// Plans have nodes, whose times were guessed.
  std::atomic<bool> guesses{false};
  std::atomic<bool> refuses{false};  ///< no model can be placed any more
  /// Plans promise a shorter step on parts of a device; what becomes of that when it is tried.
  enum class Parts : uint8_t { kNone, kRefused, kBroken, kGood };
  std::atomic<Parts> parts{Parts::kNone};
  std::atomic<bool> brokenPlans{false};  ///< they use devices that no worker has
  /// Executables count as tuned from the start, or else once they had a budget for it; the timings
  /// are the number of compilations.
  std::atomic<bool> tunesItself{true};
  /// That the last compilation was given: a worker compiles its devices' partitions side by side.
  std::string lastTimings() const {
    std::lock_guard lock(mutex_);
    return lastTimings_;
  }

 private:
  mutable std::mutex mutex_;
  std::string lastTimings_;
};

/// A device that interprets toy partitions, whatever its kind. Counts loads that use a bad format.
absl::StatusOr<std::unique_ptr<devices::Device>> makeToyDevice(
    const devices::DeviceDescription& description);

}  // namespace graphrun::testing

#endif  // GRAPHRUN_TESTS_RUNTIME_SESSION_TOY_WORLD_H_
