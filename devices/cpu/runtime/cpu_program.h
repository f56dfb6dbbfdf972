// A partition on a CPU, ready to run.
#ifndef GRAPHRUN_DEVICES_CPU_RUNTIME_CPU_PROGRAM_H_
#define GRAPHRUN_DEVICES_CPU_RUNTIME_CPU_PROGRAM_H_

#include <memory>
#include <string>
#include <vector>

#include "devices/cpu/base/code_image.h"
#include "devices/cpu/base/cpu_memory.h"
#include "devices/cpu/base/kernel.h"
#include "devices/cpu/onednn/onednn_primitive.h"
#include "devices/cpu/runtime/packed_weights.h"
#include "devices/device.h"
#include "devices/executable/executable.h"

namespace graphrun::devices::cpu {

class CpuProgram : public Program {
 public:
  /// Builds the program of `bytes`, made for a device of `fingerprint`. What `packed` holds is
  /// shared with the device's other programs. `memoryLimit` 0: none.
  static absl::StatusOr<std::unique_ptr<CpuProgram>> load(absl::Span<const uint8_t> bytes,
                                                          WeightSource& weights,
                                                          PackedWeights& packed,
                                                          const std::string& fingerprint,
                                                          uint64_t memoryLimit);

  absl::Span<const OpRecord> records() const override { return records_; }
  absl::Span<void*> buffers() override { return absl::MakeSpan(buffers_); }
  const ProgramBindings& bindings() const override { return bindings_; }
  absl::Span<const std::string> labels() const override { return labels_; }
  ProgramMemory memory() const override {
    return {memoryBytes_, sharedBytes_, recordMemory_, arenaPages_};
  }
  absl::Status errorMessage(const OpRecord& record, int code) const override;

 private:
  CpuProgram() = default;

  absl::Status checkMemory(const Executable& executable, uint64_t limit);
  void countMemory(const Executable& executable);
  absl::Status placeArena(const Executable& executable);
  absl::Status createInstructions(const Executable& executable);
  absl::Status createInstruction(const Instruction& instruction);
  struct Stored {
    const uint8_t* bytes;
    std::shared_ptr<const void> owner;
  };
  absl::Status pack(const Executable& executable, WeightSource& weights, PackedWeights& packed);
  absl::StatusOr<Stored> store(const Buffer& buffer, WeightSource& weights, PackedWeights& packed);

  OneDnn onednn_;
  std::unique_ptr<CodeImage> code_;
  Memory arena_;
  absl::Span<uint8_t> arenaPages_;
  std::vector<std::shared_ptr<const void>> stored_;  ///< weights and constants
  std::vector<std::unique_ptr<Kernel>> kernels_;
  std::vector<OpRecord> records_;
  std::vector<void*> buffers_;
  ProgramBindings bindings_;
  std::vector<std::string> labels_;
  std::vector<RecordMemory> recordMemory_;
  uint64_t memoryBytes_ = 0;
  uint64_t sharedBytes_ = 0;
};

}  // namespace graphrun::devices::cpu

#endif  // GRAPHRUN_DEVICES_CPU_RUNTIME_CPU_PROGRAM_H_
