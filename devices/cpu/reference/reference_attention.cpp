// Attention and its relatives.
#include <algorithm>
#include <array>

#include "devices/cpu/reference/reference_support.h"
#include "devices/executable/attention_instruction.h"

namespace graphrun::devices::cpu {
namespace {

/// Dims of gr.linear_attention, and the strides of the operands that broadcast.
struct RecurrencePlan {
  int64_t batch, heads, groups, steps, width, valueWidth;
  Dims gate, rate;  ///< strides over N, G, T (and K)
};

absl::StatusOr<RecurrencePlan> planRecurrence(const Instruction& instruction) {
  auto dims = [&](size_t i) { return instruction.inputs[i].desc.dims; };
  if (dims(0).size() != 4 || dims(1).size() != 4 || dims(2).size() != 4) {
    return invalidInstruction(instruction, "query, key and value must be of rank 4");
  }
  RecurrencePlan p;
  p.batch = dims(0)[0];
  p.groups = dims(1)[1];
  p.steps = dims(0)[2];
  p.width = dims(0)[3];
  p.valueWidth = dims(2)[3];
  p.heads = p.groups > 0 ? dims(0)[1] / p.groups : 0;  // of the query, for each of the key
  Dims key = {p.batch, p.groups, p.steps, p.width};
  Dims value = {p.batch, p.groups, p.steps, p.valueWidth};
  Dims state = {p.batch, p.groups, p.width, p.valueWidth};
  Dims output = {p.batch, p.groups * p.heads, p.steps, p.valueWidth};
  if (p.heads < 1 || dims(0)[1] != p.groups * p.heads || dims(1) != key || dims(2) != value ||
      dims(3) != state || instruction.outputs[0].desc.dims != output ||
      instruction.outputs[1].desc.dims != state) {
    return invalidInstruction(instruction, "the shapes of the operands and the results do not fit");
  }
  GR_ASSIGN_OR_RETURN(p.gate, broadcastStrides(instruction, dims(4), key));
  GR_ASSIGN_OR_RETURN(p.rate,
                      broadcastStrides(instruction, dims(5), {p.batch, p.groups, p.steps, 1}));
  return p;
}

/// The operands and results of one head of the keys.
template <typename T>
struct Head {
  const T *query, *key, *value, *gate, *rate;
  T *output, *state;
};

/// One step of a head: the state is updated, then read for each head of the query. What is written
/// into the state stands in the first head's output until that is read.
template <typename T>
void recur(const RecurrencePlan& p, const Head<T>& h, int64_t t, bool delta) {
  using C = Compute<T>;
  const T* key = h.key + t * p.width;
  T* written = h.output + t * p.valueWidth;
  for (int64_t k = 0; k < p.width; ++k) {
    C gate = load(h.gate[t * p.gate[2] + k * p.gate[3]]);
    for (int64_t v = 0; v < p.valueWidth; ++v) {
      T& state = h.state[k * p.valueWidth + v];
      state = store<T>(gate * load(state));
    }
  }
  C rate = load(h.rate[t * p.rate[2]]);
  for (int64_t v = 0; v < p.valueWidth; ++v) {
    C known = 0;
    for (int64_t k = 0; delta && k < p.width; ++k) {
      known += load(h.state[k * p.valueWidth + v]) * load(key[k]);
    }
    written[v] = store<T>(rate * (load(h.value[t * p.valueWidth + v]) - known));
  }
  for (int64_t k = 0; k < p.width; ++k) {
    for (int64_t v = 0; v < p.valueWidth; ++v) {
      T& state = h.state[k * p.valueWidth + v];
      state = store<T>(load(state) + load(key[k]) * load(written[v]));
    }
  }
  for (int64_t head = 0; head < p.heads; ++head) {
    const T* query = h.query + (head * p.steps + t) * p.width;
    T* output = h.output + (head * p.steps + t) * p.valueWidth;
    for (int64_t v = 0; v < p.valueWidth; ++v) {
      C sum = 0;
      for (int64_t k = 0; k < p.width; ++k) {
        sum += load(h.state[k * p.valueWidth + v]) * load(query[k]);
      }
      output[v] = store<T>(sum);
    }
  }
}

template <typename T>
Head<T> headAt(const RecurrencePlan& p, const std::array<const void*, 6>& in, void* output,
               void* state, int64_t index) {
  int64_t n = index / p.groups;
  int64_t g = index % p.groups;
  auto at = [&](size_t i, int64_t offset) { return static_cast<const T*>(in[i]) + offset; };
  int64_t stateSize = p.width * p.valueWidth;
  Head<T> head{at(0, index * p.heads * p.steps * p.width),
               at(1, index * p.steps * p.width),
               at(2, index * p.steps * p.valueWidth),
               at(4, n * p.gate[0] + g * p.gate[1]),
               at(5, n * p.rate[0] + g * p.rate[1]),
               static_cast<T*>(output) + index * p.heads * p.steps * p.valueWidth,
               static_cast<T*>(state) + index * stateSize};
  std::copy_n(at(3, index * stateSize), stateSize, head.state);
  return head;
}

KernelOr createLinearAttention(const Instruction& instruction) {
  GR_ASSIGN_OR_RETURN(RecurrencePlan plan, planRecurrence(instruction));
  GR_ASSIGN_OR_RETURN(bool delta, attributeOr(instruction, "delta", false));
  std::array<uint32_t, 6> in;
  for (size_t i = 0; i < in.size(); ++i) {
    in[i] = instruction.inputs[i].buffer;
  }
  uint32_t out = instruction.outputs[0].buffer;
  uint32_t state = instruction.outputs[1].buffer;
  return dispatchFloat(instruction.outputs[0].desc.type, [&]<typename T>() -> KernelOr {
    return makeKernel([=, plan = std::move(plan)](void* const* buffers) {
      std::array<const void*, 6> operands;
      for (size_t i = 0; i < in.size(); ++i) {
        operands[i] = buffers[in[i]];
      }
      int64_t work = plan.steps * plan.width * plan.valueWidth * (plan.heads + 3);
      parallelFor(plan.batch * plan.groups, work, [&](int64_t index) {
        Head<T> head = headAt<T>(plan, operands, buffers[out], buffers[state], index);
        for (int64_t t = 0; t < plan.steps; ++t) {
          recur(plan, head, t, delta);
        }
      });
      return 0;
    });
  });
}

/// The operands and the result of one row of the query; the mask is null or its row.
template <typename T>
struct QueryRow {
  const T *query, *key, *value, *mask;
  T* output;
};

/// Weights of the keys that the row sees: exponentials of scores less the largest one, and their
/// sum.
template <typename T, typename C>
C weigh(const Attention& p, const QueryRow<T>& r, std::vector<C>& weights) {
  C most = -std::numeric_limits<C>::infinity();
  for (size_t t = 0; t < weights.size(); ++t) {
    const T* key = r.key + static_cast<int64_t>(t) * p.width;
    C score = 0;
    for (int64_t k = 0; k < p.width; ++k) {
      score += load(r.query[k]) * load(key[k]);
    }
    score *= static_cast<C>(p.scale);
    if (r.mask != nullptr) {
      score += load(r.mask[static_cast<int64_t>(t) * p.mask[3]]);
    }
    weights[t] = score;
    most = score > most || std::isnan(score) ? score : most;
  }
  C sum = 0;
  for (C& weight : weights) {
    weight = std::exp(weight - most);
    sum += weight;
  }
  return sum;
}

template <typename T>
void attendRow(const Attention& p, const QueryRow<T>& r, int64_t seen) {
  using C = decltype(load(T{}));
  std::vector<C> weights(static_cast<size_t>(seen));
  C sum = weigh(p, r, weights);
  for (int64_t v = 0; v < p.valueWidth; ++v) {
    C mean = 0;
    for (int64_t t = 0; t < seen; ++t) {
      mean += weights[static_cast<size_t>(t)] * load(r.value[t * p.valueWidth + v]);
    }
    r.output[v] = store<T>(mean / sum);
  }
}

KernelOr createAttentionReference(const Instruction& instruction) {
  if (instruction.attributes.contains("views")) {
    return absl::UnimplementedError("gr.attention: the reference reads no views");
  }
  GR_ASSIGN_OR_RETURN(Attention p, attentionOf(instruction));
  std::array<uint32_t, 4> in = {};
  for (size_t i = 0; i < instruction.inputs.size(); ++i) {
    in[i] = instruction.inputs[i].buffer;
  }
  uint32_t out = instruction.outputs[0].buffer;
  return dispatchFloat(instruction.outputs[0].desc.type, [&]<typename T>() -> KernelOr {
    return makeKernel([=](void* const* buffers) {
      auto at = [&](size_t i, int64_t offset) {
        return static_cast<const T*>(buffers[in[i]]) + offset;
      };
      parallelFor(p.batch * p.heads * p.rows, p.keys * (p.width + p.valueWidth), [&](int64_t i) {
        int64_t row = i % p.rows;
        int64_t head = i / p.rows % p.heads;
        int64_t n = i / p.rows / p.heads;
        int64_t group = p.keyHead(head);
        const T* mask =
            p.hasMask ? at(3, n * p.mask[0] + head * p.mask[1] + row * p.mask[2]) : nullptr;
        attendRow<T>(
            p,
            {at(0, i * p.width), at(1, p.key.at(n, group, 0)), at(2, p.value.at(n, group, 0)), mask,
             static_cast<T*>(buffers[out]) + i * p.valueWidth},
            p.causal ? std::min(p.keys, row + 1) : p.keys);
      });
      return 0;
    });
  });
}

constexpr ReferenceEntry kEntries[] = {
    {"gr.attention", TypeRule::kFloat, createAttentionReference, 3, 4},
    {"gr.linear_attention", TypeRule::kFloat, createLinearAttention, 6, 6, 2},
};

}  // namespace

absl::Span<const ReferenceEntry> referenceAttention() { return kEntries; }

}  // namespace graphrun::devices::cpu
