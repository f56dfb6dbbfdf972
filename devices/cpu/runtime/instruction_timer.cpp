#include "devices/cpu/runtime/instruction_timer.h"

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

#include <algorithm>
#include <atomic>
#include <cstring>
#include <limits>

#include "devices/cpu/base/cpu_memory.h"
#include "devices/cpu/base/onednn_layouts.h"
#include "devices/cpu/runtime/packing.h"
#include "runtime/base/clock.h"

namespace graphrun::devices::cpu {
namespace {

constexpr int kFewestRuns = 3;
constexpr int kMostRuns = 15;
/// No more runs once the best of them, so often, took so long: what other processes took away is
/// made up for by further runs...
constexpr int64_t kEnoughNanos = 3'000'000;
/// ... until all together took so long.
constexpr int64_t kMostNanos = 12'000'000;
/// A weight below is taken to stay in the caches from one inference to the next.
constexpr uint64_t kSmallWeight = 64 << 10;

/// Drops a line of the machine's caches, in all of them.
void dropLine(const void* address) {
#if defined(__x86_64__)
  _mm_clflush(address);
#elif defined(__powerpc64__)
  __asm__ volatile("dcbf 0, %0" : : "r"(address) : "memory");
#elif defined(__aarch64__)
  __asm__ volatile("dc civac, %0" : : "r"(address) : "memory");
#else
#error "instruction_timer.cpp: how this machine drops a line of its caches is not known here"
#endif
}

/// Elements in [-0.5, 0.5), the same for each call with one seed; other types than f32 get small
/// bytes.
std::vector<uint8_t> elements(const runtime::TensorSpec& spec, uint32_t seed) {
  std::vector<uint8_t> bytes(spec.byteSize(), 1);
  if (spec.type == runtime::ElementType::kF32) {
    uint32_t state = seed * 2654435761U + 1;
    for (size_t at = 0; at < bytes.size(); at += sizeof(float)) {
      state = state * 1664525U + 1013904223U;
      float value = static_cast<float>(state >> 8) / (1U << 24) - 0.5F;
      std::memcpy(&bytes[at], &value, sizeof(value));
    }
  }
  return bytes;
}

/// The tensors of one trial, and the instruction that names them.
class Tensors {
 public:
  explicit Tensors(OneDnn& onednn) : onednn_(onednn) {}

  /// A tensor with elements, read as `source` says where that has dims.
  absl::StatusOr<Argument> filled(const TensorDesc& desc, const TensorDesc& source) {
    GR_ASSIGN_OR_RETURN(Argument argument, empty(desc));
    Buffer buffer;
    buffer.desc = desc;
    buffer.bytes = bytes_.back();
    buffer.source = source.dims.empty() ? TensorDesc{desc.type, desc.dims} : source;
    runtime::TensorSpec spec = buffer.source->spec();
    GR_RETURN_IF_ERROR(packBuffer(buffer, elements(spec, argument.buffer), table_.back(), onednn_));
    return argument;
  }

  absl::StatusOr<Argument> empty(const TensorDesc& desc) {
    GR_ASSIGN_OR_RETURN(uint64_t bytes, layoutBytes(desc));
    GR_ASSIGN_OR_RETURN(Memory memory, allocateMemory(bytes));
    std::memset(memory.get(), 0, bytes);
    table_.push_back(memory.get());
    bytes_.push_back(bytes);
    owned_.push_back(std::move(memory));
    return Argument{static_cast<uint32_t>(table_.size() - 1), desc};
  }

  void* const* table() const { return table_.data(); }
  uint64_t bytes(const Argument& argument) const { return bytes_[argument.buffer]; }

  /// Brings a tensor into the caches.
  void warm(const Argument& argument) const {
    forLines(argument, [](const volatile uint8_t* line) { static_cast<void>(*line); });
  }
  /// Leaves it in none of them.
  void cool(const Argument& argument) const {
    forLines(argument,
             [](const volatile uint8_t* line) { dropLine(const_cast<const uint8_t*>(line)); });
    std::atomic_thread_fence(std::memory_order_seq_cst);
  }

 private:
  template <typename Visit>
  void forLines(const Argument& argument, const Visit& visit) const {
    constexpr uint64_t kLine = 64;  // or twice that, of which one half is enough
    const auto* data = static_cast<const volatile uint8_t*>(table_[argument.buffer]);
    for (uint64_t at = 0; at < bytes_[argument.buffer]; at += kLine) {
      visit(data + at);
    }
  }

  OneDnn& onednn_;
  std::vector<void*> table_;
  std::vector<uint64_t> bytes_;
  std::vector<Memory> owned_;
};

/// `instruction` with the layouts of `choice`, on tensors of its own.
absl::StatusOr<Instruction> placed(const Instruction& instruction, const LayoutChoice& choice,
                                   Tensors& tensors) {
  Instruction result = instruction;
  for (size_t i = 0; i < instruction.inputs.size(); ++i) {
    const TensorDesc source = i < choice.sources.size() ? choice.sources[i] : TensorDesc();
    GR_ASSIGN_OR_RETURN(result.inputs[i], tensors.filled(choice.inputs[i], source));
  }
  for (size_t i = 0; i < instruction.outputs.size(); ++i) {
    // Filled: a sum in place reads it.
    GR_ASSIGN_OR_RETURN(result.outputs[i], tensors.filled(choice.outputs[i], {}));
  }
  for (size_t i = 0; i < instruction.postOps.size(); ++i) {
    if (instruction.postOps[i].operand) {
      GR_ASSIGN_OR_RETURN(result.postOps[i].operand, tensors.filled(choice.postOps[i], {}));
    }
  }
  if (choice.scratchBytes > 0) {
    TensorDesc scratch{runtime::ElementType::kU8, {static_cast<int64_t>(choice.scratchBytes)}};
    GR_ASSIGN_OR_RETURN(result.scratch, tensors.empty(scratch));
  }
  return result;
}

absl::Status runOnce(Kernel& kernel, const Tensors& tensors) {
  int code = kernel.run(tensors.table());
  return code == 0 ? absl::OkStatus() : kernel.errorMessage(code);
}

}  // namespace

absl::StatusOr<double> InstructionTimer::run(const Instruction& instruction,
                                             const Candidate& candidate) {
  OneDnn onednn;
  KernelContext context{onednn};
  Tensors tensors(onednn);
  GR_ASSIGN_OR_RETURN(Instruction trial, placed(instruction, *candidate.choice, tensors));
  GR_ASSIGN_OR_RETURN(std::unique_ptr<Kernel> kernel,
                      createKernel(*candidate.kernel, trial, context));
  GR_RETURN_IF_ERROR(runOnce(*kernel, tensors));  // no measure: it faults pages in
  int64_t best = std::numeric_limits<int64_t>::max();
  int64_t total = 0;
  auto enough = [&](int runs) {
    return runs >= kFewestRuns &&
           (runs >= kMostRuns || runs * best >= kEnoughNanos || total >= kMostNanos);
  };
  for (int runs = 0; !enough(runs); ++runs) {
    for (size_t k = 0; k < instruction.inputs.size(); ++k) {
      bool isCold = instruction.inputs[k].desc.any && tensors.bytes(trial.inputs[k]) > kSmallWeight;
      isCold ? tensors.cool(trial.inputs[k]) : tensors.warm(trial.inputs[k]);
    }
    int64_t begin = runtime::nowNanos();
    GR_RETURN_IF_ERROR(runOnce(*kernel, tensors));
    int64_t nanos = runtime::nowNanos() - begin;
    best = std::min(best, nanos);
    total += nanos;
  }
  return static_cast<double>(best);
}

}  // namespace graphrun::devices::cpu
