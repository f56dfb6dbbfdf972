// A program loader makes a device's program of a partition of a plan: it takes it out of the disk
// cache, or compiles it.
#ifndef GRAPHRUN_RUNTIME_WORKER_PROGRAM_LOADER_H_
#define GRAPHRUN_RUNTIME_WORKER_PROGRAM_LOADER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "devices/device.h"
#include "devices/executable/kernel_refusals.h"
#include "runtime/compiler_loader/compiler_loader.h"
#include "runtime/format/plan_file.h"
#include "runtime/worker/disk_cache.h"
#include "runtime/worker/weight_store.h"

namespace graphrun::runtime {

/// A program with what it was made from, which must outlive it.
struct LoadedProgram {
  std::shared_ptr<const void> executable;
  std::shared_ptr<devices::Program> program;
  uint64_t prepareNanos = 0;
  bool fromCache = false;
  bool tuned = false;                 // no choice of a kernel waits for a measurement
  std::vector<std::string> refusals;  // kernels in whose place others had to be chosen, and why
};

/// Returns what the communicators with a device of a plan take there beside the plan's tensors.
uint64_t communicatorBytes(const format::PlanFile& plan, uint32_t index);

/// Returns the bytes that edges' slots take of the memory of `device`, which is `index` in the
/// plan.
uint64_t ownSlotBytes(const format::PlanFile& plan, uint32_t index, const devices::Device& device);

/// Loads partitions. Thread-safe.
class ProgramLoader {
 public:
  /// `timings` holds what was measured and what was refused, by device fingerprint and compiler;
  /// `code` that of generated kernels.
  ProgramLoader(Compiler* compiler, DiskCache* executables, DiskCache* timings, DiskCache* code)
      : compiler_(compiler), executables_(executables), timings_(timings), code_(code) {}

  /// The program of the plan's partition `index` on `device`. A cache entry that the device refuses
  /// is compiled again, with a warning; what was just compiled, without the kernels that its
  /// library refused (devices/executable/kernel_refusals.h). These are kept, so that later
  /// compilations for such devices choose others at once; where there are none, the first refusal
  /// is the error, as Unimplemented. With `tuneNanos` only a tuned entry will do, and a compiler
  /// may measure for so long; what it finds out is kept.
  absl::StatusOr<LoadedProgram> load(const format::PlanFile& plan, uint32_t index,
                                     devices::Device& device, PlanWeights& weights,
                                     uint64_t tuneNanos = 0);

 private:
  /// Nothing when there is no entry, or a bad one.
  absl::StatusOr<std::optional<LoadedProgram>> loadCached(const std::string& key,
                                                          devices::Device& device,
                                                          PlanWeights& weights);
  absl::StatusOr<LoadedProgram> compile(const format::PlanFile& plan, uint32_t index,
                                        const std::string& key, devices::Device& device,
                                        PlanWeights& weights, uint64_t tuneNanos);
  absl::StatusOr<LoadedProgram> compileWithout(const devices::RefusedKernels& refused,
                                               PartitionTask task, const std::string& key,
                                               devices::Device& device, PlanWeights& weights);
  /// By devices like this one, as far as it is known.
  devices::RefusedKernels refusedBy(const devices::Device& device) const;
  void keepRefused(const devices::Device& device, const devices::RefusedKernels& refused);
  absl::StatusOr<CompiledPartition> compileTimed(PartitionTask task, const devices::Device& device,
                                                 PlanWeights& weights);

  Compiler* compiler_;
  DiskCache* executables_;
  DiskCache* timings_;
  DiskCache* code_;
};

/// Names all that the executable of a partition depends on: its graph, weights and edges, the
/// device and the compiler. Partitions of different plans may share an executable.
std::string executableKey(const format::PlanFile& file, uint32_t index,
                          const devices::Device& device, const std::string& compilerIdentity);

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_WORKER_PROGRAM_LOADER_H_
