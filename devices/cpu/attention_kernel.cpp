#include "devices/cpu/attention_kernel.h"

#include <omp.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <oneapi/dnnl/dnnl.hpp>
#include <utility>

#include "devices/cpu/bfloat16_rows.h"
#include "devices/cpu/reference_support.h"
#include "devices/cpu/softmax_rows.h"

namespace graphrun::devices::cpu {
namespace {

/// Where the element (n, head, row, column) of an operand or result lies.
struct View {
  int64_t offset = 0;
  std::array<int64_t, 4> strides = {};
  ElementType type = ElementType::kF32;

  int64_t at(int64_t n, int64_t head, int64_t row) const {
    return offset + n * strides[0] + head * strides[1] + row * strides[2];
  }
  /// Elements of scratch memory for `count` of them, which are computed in f32.
  int64_t widened(int64_t count) const { return type == ElementType::kF32 ? 0 : count; }
};

/// gr.attention of one step: sizes as in the operation's description.
struct Plan {
  int64_t batch = 0, heads = 0, keyHeads = 0, rows = 0, keys = 0, width = 0, valueWidth = 0;
  View query, key, value, output;
  bool keyByColumns = false;  ///< the key's rows are neighbours
  std::array<int64_t, 4> mask = {};
  bool hasMask = false, causal = false;
  float scale = 1;
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
  /// The head of keys and values that head `head` of the queries has.
  int64_t keyHead(int64_t head) const { return head / (heads / keyHeads); }
  /// First row of block `i`: all have about as many.
  int64_t firstRow(int64_t i) const { return rows * i / blocks(); }
  /// Floats from one row of scores to the next: rows begin where vectors do.
  int64_t scoreStride() const { return (keys + 15) / 16 * 16; }
  int64_t scoresOfBlock() const { return blockRows() * scoreStride(); }
  /// Elements of a thread's scratch memory: scores, and what is not of f32.
  int64_t scratch() const {
    int64_t floats = scoresOfBlock() + query.widened(blockRows() * width) +
                     key.widened(keys * width) + value.widened(keys * valueWidth) +
                     output.widened(blockRows() * valueWidth);
    return (floats + 15) / 16 * 16;
  }
};

absl::Status declined(absl::string_view what) {
  return absl::UnimplementedError(absl::StrCat("gr.attention: blocks of rows need ", what));
}

View denseView(const Dims& dims) {
  Dims strides = denseStrides(dims);
  return {0, {strides[0], strides[1], strides[2], strides[3]}, ElementType::kF32};
}

/// Sizes and views from the operands' own dims.
absl::Status planFromDims(const Step& step, Plan& p) {
  const Dims &query = step.inputs[0].desc.dims, &key = step.inputs[1].desc.dims,
             &value = step.inputs[2].desc.dims, &output = step.outputs[0].desc.dims;
  if (query.size() != 4 || key.size() != 4 || value.size() != 4 || output.size() != 4) {
    return invalidStep(step, "query, key and value must be of rank 4");
  }
  p.batch = query[0], p.heads = query[1], p.rows = query[2], p.width = query[3];
  p.keyHeads = key[1], p.keys = key[2], p.valueWidth = value[3];
  if (key != Dims{p.batch, p.keyHeads, p.keys, p.width} ||
      value != Dims{p.batch, p.keyHeads, p.keys, p.valueWidth} ||
      output != Dims{p.batch, p.heads, p.rows, p.valueWidth}) {
    return invalidStep(step, "the shapes of the operands and the result do not fit");
  }
  p.query = denseView(query), p.key = denseView(key), p.value = denseView(value);
  p.output = denseView(output);
  return absl::OkStatus();
}

/// The view lies within a tensor of `desc` for all of its elements.
bool isInside(const View& view, const std::array<int64_t, 4>& dims, const TensorDesc& desc) {
  constexpr int64_t kFar = int64_t{1} << 40;
  int64_t last = view.offset;
  for (size_t d = 0; d < dims.size(); ++d) {
    if (dims[d] < 1 || dims[d] > kFar || view.strides[d] < 0 || view.strides[d] > kFar ||
        __builtin_add_overflow(last, (dims[d] - 1) * view.strides[d], &last)) {
      return false;
    }
  }
  return view.offset >= 0 && last < countOf(desc.dims);
}

/// Sizes and views from the attributes.
absl::Status planFromViews(const Step& step, Plan& p) {
  GR_ASSIGN_OR_RETURN(auto sizes, attribute<std::vector<int64_t>>(step, "sizes"));
  GR_ASSIGN_OR_RETURN(auto views, attribute<std::vector<int64_t>>(step, "views"));
  if (sizes.size() != 7 || views.size() != 20) {
    return invalidStep(step, "sizes or views are of another number");
  }
  p.batch = sizes[0], p.heads = sizes[1], p.keyHeads = sizes[2], p.rows = sizes[3];
  p.keys = sizes[4], p.width = sizes[5], p.valueWidth = sizes[6];
  size_t next = 0;
  for (View* view : {&p.query, &p.key, &p.value, &p.output}) {
    view->offset = views[next++];
    for (int64_t& stride : view->strides) {
      stride = views[next++];
    }
  }
  bool inside =
      isInside(p.query, {p.batch, p.heads, p.rows, p.width}, step.inputs[0].desc) &&
      isInside(p.key, {p.batch, p.keyHeads, p.keys, p.width}, step.inputs[1].desc) &&
      isInside(p.value, {p.batch, p.keyHeads, p.keys, p.valueWidth}, step.inputs[2].desc) &&
      isInside(p.output, {p.batch, p.heads, p.rows, p.valueWidth}, step.outputs[0].desc);
  return inside ? absl::OkStatus() : invalidStep(step, "a view leaves its tensor");
}

absl::Status planMask(const Step& step, Plan& p) {
  p.hasMask = step.inputs.size() == 4;
  if (!p.hasMask) {
    return absl::OkStatus();
  }
  const Dims& dims = step.inputs[3].desc.dims;
  GR_ASSIGN_OR_RETURN(Dims strides,
                      broadcastStrides(step, dims, {p.batch, p.heads, p.rows, p.keys}));
  std::copy(strides.begin(), strides.end(), p.mask.begin());
  return p.mask[3] == 1 || p.keys == 1 ? absl::OkStatus() : declined("a mask along the keys");
}

absl::Status requireStep(const Step& step) {
  bool arity = (step.inputs.size() == 3 || step.inputs.size() == 4) && step.outputs.size() == 1;
  auto fits = [](const Argument& argument) {
    ElementType type = argument.desc.type;
    return (type == ElementType::kF32 || type == ElementType::kBF16) && isDense(argument.desc);
  };
  bool good = arity && std::all_of(step.inputs.begin(), step.inputs.end(), fits) &&
              fits(step.outputs[0]) && step.postOps.empty() &&
              (step.inputs.size() == 3 || step.inputs[3].desc.type == ElementType::kF32);
  return good ? absl::OkStatus() : declined("dense operands of f32 or bf16, and a mask of f32");
}

/// One row, or neighbouring columns.
bool hasColumns(const View& view, int64_t width) { return view.strides[3] == 1 || width == 1; }

absl::StatusOr<Plan> planOf(const Step& step) {
  GR_RETURN_IF_ERROR(requireStep(step));
  Plan p;
  GR_RETURN_IF_ERROR(step.attributes.contains("views") ? planFromViews(step, p)
                                                       : planFromDims(step, p));
  p.query.type = step.inputs[0].desc.type, p.key.type = step.inputs[1].desc.type;
  p.value.type = step.inputs[2].desc.type, p.output.type = step.outputs[0].desc.type;
  GR_RETURN_IF_ERROR(planMask(step, p));
  GR_ASSIGN_OR_RETURN(double scale, attributeOr(step, "scale", 1.0));
  GR_ASSIGN_OR_RETURN(p.causal, attributeOr(step, "causal", false));
  p.scale = static_cast<float>(scale);
  p.threads = omp_get_max_threads();
  if (p.keyHeads < 1 || p.heads % p.keyHeads != 0) {
    return invalidStep(step, "the query's heads are no multiple of the key's");
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

/// One step's operands in memory.
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
    key = query + p.query.widened(p.blockRows() * p.width);
    value = key + p.key.widened(p.keys * p.width);
    output = value + p.value.widened(p.keys * p.valueWidth);
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
  ask(data.query, p.query.type, p.query.at(next.n, next.head, next.first), p.query.strides[2],
      next.last - next.first, p.width);
  p.keyByColumns ? ask(data.key, p.key.type, key, p.key.strides[3], p.width, p.keys)
                 : ask(data.key, p.key.type, key, p.key.strides[2], p.keys, p.width);
  ask(data.value, p.value.type, p.value.at(next.n, group, 0), p.value.strides[2], p.keys,
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
  Lines query = linesOf(data.query, p.query.type, p.query.at(n, head, first), p.query.strides[2],
                        count, p.width, mine.query, false);
  Lines key = linesOf(data.key, p.key.type, p.key.at(n, group, 0),
                      p.key.strides[p.keyByColumns ? 3 : 2], p.keyByColumns ? p.width : p.keys,
                      p.keyByColumns ? p.keys : p.width, mine.key, isThere);
  Lines value = linesOf(data.value, p.value.type, p.value.at(n, group, 0), p.value.strides[2],
                        p.keys, p.valueWidth, mine.value, isThere);
  bool direct = p.output.type == ElementType::kF32;
  int64_t at = p.output.at(n, head, first);
  float* output = direct ? static_cast<float*>(data.output) + at : mine.output;
  int64_t outputLeading = direct ? leading(p.output.strides[2], p.valueWidth) : p.valueWidth;
  dnnl_status_t status =
      dnnl_sgemm('N', p.keyByColumns ? 'N' : 'T', count, keys, p.width, p.scale, query.data,
                 query.leading, key.data, key.leading, 0.0F, mine.scores, p.scoreStride());
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

class AttentionKernel : public Kernel {
 public:
  AttentionKernel(const Step& step, const Plan& plan, uint32_t scratch)
      : plan_(plan), threads_(threadsOf(plan)), output_(step.outputs[0].buffer), scratch_(scratch) {
    for (const Argument& input : step.inputs) {
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

  absl::Status errorMessage(int code) const override {
    return absl::InternalError(absl::StrCat("oneDNN gave status ", code, " (dnnl_status_t)"));
  }

 private:
  Plan plan_;
  int64_t threads_;
  std::vector<uint32_t> inputs_;
  uint32_t output_;
  uint32_t scratch_;
};

}  // namespace

absl::StatusOr<LayoutChoice> chooseAttention(const Step& step) {
  GR_ASSIGN_OR_RETURN(Plan plan, planOf(step));
  LayoutChoice choice;
  for (const Argument& input : step.inputs) {
    choice.inputs.push_back({input.desc.type, input.desc.dims});
    choice.sources.push_back({input.desc.type, input.desc.dims});
  }
  choice.outputs.push_back({step.outputs[0].desc.type, step.outputs[0].desc.dims});
  choice.scratchBytes = scratchBytes(plan);
  choice.implementation = "blocks of rows";
  return choice;
}

absl::StatusOr<std::unique_ptr<Kernel>> createAttention(const Step& step, KernelContext&) {
  GR_ASSIGN_OR_RETURN(Plan plan, planOf(step));
  uint64_t needed = scratchBytes(plan);
  if (!step.scratch || step.scratch->desc.spec().byteSize() < needed) {
    return absl::InvalidArgumentError(
        absl::StrCat("gr.attention: needs ", needed, " bytes of scratch memory"));
  }
  return std::make_unique<AttentionKernel>(step, plan, step.scratch->buffer);
}

}  // namespace graphrun::devices::cpu
