#include "devices/cpu/kernels/attention_kernel.h"

#include <omp.h>

#include <algorithm>
#include <atomic>
#include <oneapi/dnnl/dnnl.hpp>
#include <utility>

#include "devices/cpu/kernels/softmax_rows.h"
#include "devices/cpu/reference/reference_support.h"
#include "devices/cpu/vectors/bfloat16_rows.h"
#include "devices/executable/attention_instruction.h"

namespace graphrun::devices::cpu {
namespace {

/// Elements of scratch memory for `count` of `type`, which are computed in f32.
int64_t widened(ElementType type, int64_t count) { return type == ElementType::kF32 ? 0 : count; }

/// gr.attention of one instruction.
struct Plan : Attention {
  ElementType queryType = ElementType::kF32, keyType = ElementType::kF32;
  ElementType valueType = ElementType::kF32, outputType = ElementType::kF32;
  bool keyByColumns = false;  ///< the key's rows are neighbours
  int64_t threads = 1;

  /// Rows whose scores fill no more than half of a common second-level cache (1 MiB), few enough
  /// that all threads have some. Many rows make the library pack keys and values seldom, but
  /// compute more of what a causal attention hides.
  int64_t blockRows() const {
    constexpr int64_t kScores = int64_t{128} * 1024;
    int64_t share = (batch * heads * rows + threads - 1) / threads;
    return std::clamp<int64_t>(std::min(kScores / keys, share), 4, causal ? 64 : 256);
  }
  int64_t blocks() const { return (rows + blockRows() - 1) / blockRows(); }
  /// First row of block `i`: all have about as many.
  int64_t firstRow(int64_t i) const { return rows * i / blocks(); }
  /// Floats from one row of scores to the next: rows begin where vectors do.
  int64_t scoreStride() const { return (keys + 15) / 16 * 16; }
  int64_t scoresOfBlock() const { return blockRows() * scoreStride(); }
  /// Elements of a thread's scratch memory: scores, and what is not of f32.
  int64_t scratch() const {
    int64_t floats = scoresOfBlock() + widened(queryType, blockRows() * width) +
                     widened(keyType, keys * width) + widened(valueType, keys * valueWidth) +
                     widened(outputType, blockRows() * valueWidth);
    return (floats + 15) / 16 * 16;
  }
};

absl::Status declined(absl::string_view what) {
  return absl::UnimplementedError(absl::StrCat("gr.attention: blocks of rows need ", what));
}

absl::Status requireInstruction(const Instruction& instruction) {
  bool arity = (instruction.inputs.size() == 3 || instruction.inputs.size() == 4) &&
               instruction.outputs.size() == 1;
  auto fits = [](const Argument& argument) {
    ElementType type = argument.desc.type;
    return (type == ElementType::kF32 || type == ElementType::kBF16) && isDense(argument.desc);
  };
  bool good =
      arity && std::all_of(instruction.inputs.begin(), instruction.inputs.end(), fits) &&
      fits(instruction.outputs[0]) && instruction.postOps.empty() &&
      (instruction.inputs.size() == 3 || instruction.inputs[3].desc.type == ElementType::kF32);
  return good ? absl::OkStatus() : declined("dense operands of f32 or bf16, and a mask of f32");
}

/// One row, or neighbouring columns.
bool hasColumns(const AttentionView& view, int64_t width) {
  return view.strides[3] == 1 || width == 1;
}

absl::StatusOr<Plan> planOf(const Instruction& instruction) {
  GR_RETURN_IF_ERROR(requireInstruction(instruction));
  GR_ASSIGN_OR_RETURN(Attention attention, attentionOf(instruction));
  Plan p{attention};
  p.queryType = instruction.inputs[0].desc.type, p.keyType = instruction.inputs[1].desc.type;
  p.valueType = instruction.inputs[2].desc.type, p.outputType = instruction.outputs[0].desc.type;
  p.threads = omp_get_max_threads();
  if (p.hasMask && p.mask[3] != 1 && p.keys != 1) {
    return declined("a mask along the keys");
  }
  if (std::min({p.batch, p.heads, p.rows, p.keys, p.width, p.valueWidth}) < 1) {
    return declined("operands that are not empty");
  }
  p.keyByColumns = !hasColumns(p.key, p.width);
  if (!hasColumns(p.query, p.width) || !hasColumns(p.value, p.valueWidth) ||
      !hasColumns(p.output, p.valueWidth) || (p.keyByColumns && p.key.strides[2] != 1)) {
    return declined("columns that are neighbours");
  }
  return p;
}

/// Threads that have blocks to do, and scores of their own.
int64_t threadsOf(const Plan& p) { return std::min(p.threads, p.batch * p.heads * p.blocks()); }

uint64_t scratchBytes(const Plan& p) {
  return static_cast<uint64_t>(threadsOf(p) * p.scratch()) * sizeof(float);
}

/// One instruction's operands in memory.
struct Data {
  const void *query, *key, *value;
  const float* mask;
  void* output;
};

/// Lines of f32 that lie `leading` elements apart.
struct Lines {
  const float* data;
  int64_t leading;
};

/// A thread's scratch memory, and the head whose keys and values are in it.
struct Workspace {
  float *scores, *query, *key, *value, *output;
  int64_t head = -1;

  Workspace(const Plan& p, float* memory) : scores(memory) {
    query = scores + p.scoresOfBlock();
    key = query + widened(p.queryType, p.blockRows() * p.width);
    value = key + widened(p.keyType, p.keys * p.width);
    output = value + widened(p.valueType, p.keys * p.valueWidth);
  }
};

/// The least distance between lines that the library takes.
int64_t leading(int64_t stride, int64_t columns) { return std::max(stride, columns); }

/// `count` lines of `columns` neighbours, which lie `stride` apart from element `at` on: where they
/// are, or widened into `to` (where `isThere`, they are already).
Lines linesOf(const void* data, ElementType type, int64_t at, int64_t stride, int64_t count,
              int64_t columns, float* to, bool isThere) {
  if (type == ElementType::kF32) {
    return {static_cast<const float*>(data) + at, leading(stride, columns)};
  }
  const auto* from = static_cast<const BFloat16*>(data) + at;
  for (int64_t i = 0; !isThere && i < count; ++i) {
    widenRow(from + i * stride, to + i * columns, columns);
  }
  return {to, columns};
}

/// Rows [first, last) of one head.
struct Block {
  int64_t n, head, first, last;
};

/// Block `i` of all: those of one head follow each other.
Block blockAt(const Plan& p, int64_t i) {
  int64_t blocks = p.blocks();
  int64_t line = i / blocks;
  return {line / p.heads, line % p.heads, p.firstRow(i % blocks), p.firstRow(i % blocks + 1)};
}

/// Asks for part `share` of `shares` of what a block will read. Its lines are short and far apart:
/// the machine does not foresee them, and waits for each when they are no more in its caches.
void expect(const Plan& p, const Data& data, const Block& next, int64_t share, int64_t shares) {
  constexpr int64_t kCacheLine = 64;
  auto ask = [&](const void* from, ElementType type, int64_t at, int64_t stride, int64_t lines,
                 int64_t columns) {
    int64_t size = type == ElementType::kF32 ? 4 : 2;
    for (int64_t i = lines * share / shares; i < lines * (share + 1) / shares; ++i) {
      const char* line = static_cast<const char*>(from) + (at + i * stride) * size;
      for (int64_t byte = 0; byte < columns * size; byte += kCacheLine) {
        __builtin_prefetch(line + byte, 0, 2);
      }
    }
  };
  int64_t group = p.keyHead(next.head);
  int64_t key = p.key.at(next.n, group, 0);
  ask(data.query, p.queryType, p.query.at(next.n, next.head, next.first), p.query.strides[2],
      next.last - next.first, p.width);
  p.keyByColumns ? ask(data.key, p.keyType, key, p.key.strides[3], p.width, p.keys)
                 : ask(data.key, p.keyType, key, p.key.strides[2], p.keys, p.width);
  ask(data.value, p.valueType, p.value.at(next.n, group, 0), p.value.strides[2], p.keys,
      p.valueWidth);
}

/// softmax(scale * Q K' + mask) V for one block. Meanwhile asks for `next`, which is likely to be
/// the thread's next one.
int attend(const Plan& p, const Data& data, Workspace& mine, const Block& block,
           const std::optional<Block>& next) {
  auto [n, head, first, last] = block;
  int64_t group = p.keyHead(head);
  int64_t count = last - first;
  int64_t keys = p.causal ? std::min(p.keys, last) : p.keys;
  bool isThere = std::exchange(mine.head, n * p.keyHeads + group) == mine.head;
  Lines query = linesOf(data.query, p.queryType, p.query.at(n, head, first), p.query.strides[2],
                        count, p.width, mine.query, false);
  Lines key = linesOf(data.key, p.keyType, p.key.at(n, group, 0),
                      p.key.strides[p.keyByColumns ? 3 : 2], p.keyByColumns ? p.width : p.keys,
                      p.keyByColumns ? p.keys : p.width, mine.key, isThere);
  Lines value = linesOf(data.value, p.valueType, p.value.at(n, group, 0), p.value.strides[2],
                        p.keys, p.valueWidth, mine.value, isThere);
  bool direct = p.outputType == ElementType::kF32;
  int64_t at = p.output.at(n, head, first);
  float* output = direct ? static_cast<float*>(data.output) + at : mine.output;
  int64_t outputLeading = direct ? leading(p.output.strides[2], p.valueWidth) : p.valueWidth;
  dnnl_status_t status = dnnl_sgemm('N', p.keyByColumns ? 'N' : 'T', count, keys, p.width,
                                    static_cast<float>(p.scale), query.data, query.leading,
                                    key.data, key.leading, 0.0F, mine.scores, p.scoreStride());
  for (int64_t row = 0; row < count; ++row) {
    const float* mask = data.mask;
    if (mask != nullptr) {
      mask += n * p.mask[0] + head * p.mask[1] + (first + row) * p.mask[2];
    }
    int64_t seen = p.causal ? std::min(keys, first + row + 1) : keys;
    float* weights = mine.scores + row * p.scoreStride();
    if (next) {
      expect(p, data, *next, row, count);
    }
    softmaxRow(weights, mask, seen);
    std::fill(weights + seen, weights + keys, 0.0F);
  }
  if (status == dnnl_success) {
    status = dnnl_sgemm('N', 'N', count, p.valueWidth, keys, 1.0F, mine.scores, p.scoreStride(),
                        value.data, value.leading, 0.0F, output, outputLeading);
  }
  for (int64_t row = 0; !direct && row < count; ++row) {
    narrowRow(output + row * p.valueWidth,
              static_cast<BFloat16*>(data.output) + at + row * p.output.strides[2], p.valueWidth);
  }
  return status;
}

class AttentionKernel : public OneDnnKernel {
 public:
  AttentionKernel(const Instruction& instruction, const Plan& plan, uint32_t scratch)
      : plan_(plan),
        threads_(threadsOf(plan)),
        output_(instruction.outputs[0].buffer),
        scratch_(scratch) {
    for (const Argument& input : instruction.inputs) {
      inputs_.push_back(input.buffer);
    }
  }

  int run(void* const* buffers) override {
    auto input = [&](size_t i) -> const void* { return buffers[inputs_[i]]; };
    Data data{input(0), input(1), input(2),
              plan_.hasMask ? static_cast<const float*>(input(3)) : nullptr, buffers[output_]};
    auto* scratch = static_cast<float*>(buffers[scratch_]);
    int64_t count = plan_.batch * plan_.heads * plan_.blocks();
    int failure = dnnl_success;
    std::atomic<int64_t> taken{0};
#pragma omp parallel num_threads(static_cast<int>(threads_)) reduction(max : failure)
    {
      Workspace mine(plan_, scratch + omp_get_thread_num() * plan_.scratch());
      // Blocks of a causal attention differ in work: whoever is done takes the next one.
      for (int64_t i = taken++; i < count; i = taken++) {
        std::optional<Block> next;
        if (i + threads_ < count) {
          next = blockAt(plan_, i + threads_);
        }
        int status = attend(plan_, data, mine, blockAt(plan_, i), next);
        failure = std::max(failure, status);
      }
    }
    return failure;
  }

 private:
  Plan plan_;
  int64_t threads_;
  std::vector<uint32_t> inputs_;
  uint32_t output_;
  uint32_t scratch_;
};

}  // namespace

absl::StatusOr<LayoutChoice> chooseAttention(const Instruction& instruction) {
  GR_ASSIGN_OR_RETURN(Plan plan, planOf(instruction));
  LayoutChoice choice;
  for (const Argument& input : instruction.inputs) {
    choice.inputs.push_back({input.desc.type, input.desc.dims});
    choice.sources.push_back({input.desc.type, input.desc.dims});
  }
  choice.outputs.push_back({instruction.outputs[0].desc.type, instruction.outputs[0].desc.dims});
  choice.scratchBytes = scratchBytes(plan);
  choice.implementation = "blocks of rows";
  return choice;
}

absl::StatusOr<std::unique_ptr<Kernel>> createAttention(const Instruction& instruction,
                                                        KernelContext&) {
  GR_ASSIGN_OR_RETURN(Plan plan, planOf(instruction));
  GR_ASSIGN_OR_RETURN(uint32_t scratch, scratchBuffer(instruction, scratchBytes(plan)));
  return std::make_unique<AttentionKernel>(instruction, plan, scratch);
}

}  // namespace graphrun::devices::cpu
