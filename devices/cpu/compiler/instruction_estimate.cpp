#include "devices/cpu/compiler/instruction_estimate.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "devices/cpu/base/onednn_layouts.h"

namespace graphrun::devices::cpu {
namespace {

// Rates of one thread. Only their ratios matter: all candidates are for the same machine.
constexpr double kPeakFlops = 200e9;
constexpr double kBytesPerSecond = 16e9;
constexpr double kCachedBytesPerSecond = 40e9;
/// The rate at which a filter is read while others are multiplied.
constexpr double kFilterBytesPerSecond = 20e9;
constexpr double kStartNanos = 500;
/// Until all threads have begun and ended.
constexpr double kForkNanos = 1000;

/// Share of the peak that an implementation reaches.
struct Rate {
  absl::string_view implementation;  ///< found in the implementation's name
  double share;
};

/// The first that is found counts.
constexpr Rate kRates[] = {
    {"ref", 0.002},   {"jit_dw", 0.5},   {"dw", 0.4},   {"gemm:jit", 0.6},
    {"brgconv", 1.0}, {"jit_1x1", 0.97}, {"jit", 0.92}, {"gemm", 0.6},
};

double shareOf(const LayoutChoice& choice, absl::string_view implementation) {
  if (choice.share > 0) {
    return choice.share;
  }
  for (const Rate& rate : kRates) {
    if (absl::StrContains(implementation, rate.implementation)) {
      return rate.share;
    }
  }
  return 0.5;
}

/// A matrix product a group: short rows of few results leave it idle.
double groupShare(const Instruction& instruction, absl::string_view implementation) {
  if (!absl::StrContains(implementation, "gemm:jit")) {
    return 1;
  }
  auto groups = attributeOr<int64_t>(instruction, "groups", 1);
  double results = static_cast<double>(instruction.outputs[0].desc.dims[1]) /
                   static_cast<double>(std::max<int64_t>(1, groups.value_or(1)));
  return std::clamp(results / 64, 0.01, 1.0);
}

bool hasBlocks(const TensorDesc& desc) {
  absl::StatusOr<Blocking> blocking = blockingOf(desc);
  return blocking.ok() && !blocking->innerBlocks.empty();
}

/// Multiplications and additions of a product or convolution; 0 for other operations.
double flopsOf(const Instruction& instruction) {
  if (instruction.operation == "gr.conv_backward_filter") {
    const TensorDesc& gradient = instruction.inputs[1].desc;
    return 2.0 * static_cast<double>(gradient.spec().elementCount()) *
           static_cast<double>(instruction.outputs[0].desc.spec().elementCount()) /
           static_cast<double>(std::max<int64_t>(1, gradient.dims[1]));
  }
  if (instruction.operation != "gr.conv" && instruction.operation != "gr.conv_transpose") {
    return 0;  // there is but one algorithm for those, or bytes tell
  }
  bool transposed = instruction.operation == "gr.conv_transpose";
  const TensorDesc& positions =
      transposed ? instruction.inputs[0].desc : instruction.outputs[0].desc;
  return 2.0 * static_cast<double>(positions.spec().elementCount()) *
         static_cast<double>(instruction.inputs[1].desc.spec().elementCount()) /
         static_cast<double>(std::max<int64_t>(1, positions.dims[1]));
}

/// oneDNN 2.6 averages over large windows slowly when the channels lie last.
bool averagesSlowly(const Instruction& instruction) {
  constexpr int64_t kLargeWindow = 25;
  auto kernel = attributeOr(instruction, "kernel", std::vector<int64_t>());
  return instruction.operation == "gr.avg_pool" && kernel.ok() &&
         TensorDesc{{}, *kernel}.spec().elementCount() >= kLargeWindow &&
         !isDense(instruction.inputs[0].desc) && !hasBlocks(instruction.inputs[0].desc);
}

uint64_t sizeOf(const TensorDesc& desc) {
  absl::StatusOr<uint64_t> bytes = layoutBytes(desc);
  return bytes.ok() ? *bytes : 0;
}

/// Returns the time of the products of a Winograd convolution's tiles, or of its filter's way from
/// memory: it is several times as large as it was. Its transforms pass over the images besides.
double winogradNanos(const Instruction& instruction, const LayoutChoice& choice, int64_t tile) {
  const std::vector<int64_t>& out = instruction.outputs[0].desc.dims;
  auto filter = static_cast<double>(winogradBytes(choice.inputs[1]));
  int64_t tiles = out[0] * ((out[2] + tile - 1) / tile) * ((out[3] + tile - 1) / tile);
  double flops = 2 * static_cast<double>(tiles) * filter / sizeof(float);
  return 1e9 * std::max(flops / kPeakFlops, filter / kFilterBytesPerSecond);
}

/// Returns how many times as fast `threads` are as one: the last parts leave some of them idle.
double speedup(const LayoutChoice& choice, int threads) {
  if (choice.parts == 0) {
    return threads;
  }
  int64_t rounds = (choice.parts + threads - 1) / threads;
  return static_cast<double>(choice.parts) / static_cast<double>(rounds);
}

double startNanos(int threads) { return kStartNanos + (threads > 1 ? kForkNanos : 0); }

}  // namespace

double moveNanos(const TensorDesc& desc, int threads) {
  return startNanos(threads) +
         2e9 * static_cast<double>(sizeOf(desc)) / (kBytesPerSecond * threads);
}

double estimateNanos(const Instruction& instruction, const Candidate& candidate, int threads) {
  const LayoutChoice& choice = *candidate.choice;
  std::string name = candidate.kernel->name == "reference" ? "ref" : choice.implementation;
  uint64_t bytes = 0;
  for (size_t i = 0; i < choice.inputs.size(); ++i) {
    bytes += instruction.inputs[i].desc.any ? 0 : sizeOf(choice.inputs[i]);
  }
  for (const TensorDesc& output : choice.outputs) {
    bytes += sizeOf(output);
  }
  std::optional<int64_t> tile =
      instruction.operation == "gr.conv" ? winogradTile(choice.inputs[1]) : std::nullopt;
  double passes = tile ? 4 : 1;
  double slowdown = absl::StrContains(name, "ref") || averagesSlowly(instruction) ? 30 : 1;
  double flops = flopsOf(instruction);
  double share = flops == 0 ? 1 : shareOf(choice, name) * groupShare(instruction, name);
  double compute =
      tile ? winogradNanos(instruction, choice, *tile) : 1e9 * flops / (kPeakFlops * share);
  double move = 1e9 * passes * slowdown * static_cast<double>(bytes) / kCachedBytesPerSecond;
  return startNanos(threads) +
         (tile ? compute + move : std::max(compute, move)) / speedup(choice, threads);
}

}  // namespace graphrun::devices::cpu
