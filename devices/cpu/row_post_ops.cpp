#include "devices/cpu/row_post_ops.h"

#include <algorithm>
#include <cmath>

#include "devices/cpu/exponential.h"
#include "devices/cpu/onednn_layouts.h"
#include "devices/cpu/reference_support.h"
#include "devices/cpu/wide.h"

namespace graphrun::devices::cpu {
namespace {

template <typename F>
[[gnu::always_inline]] inline void forRow(float* row, int64_t count, const F& f) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) {
    row[i] = f(row[i]);
  }
}

// NaN passes through each of them.
[[gnu::always_inline]] inline float clip(float x, float low, float high) {
  float raised = x < low ? low : x;
  return raised > high ? high : raised;
}

struct Named {
  absl::string_view name;
  void (*function)(float* row, int64_t count, float alpha, float beta);
};

/// A function of an element and two parameters as one of rows, for the machine's vectors.
template <typename F>
constexpr auto rows() {
  return [](float* row, int64_t count, float alpha, float beta) {
    runWide([&] { forRow(row, count, [&](float x) { return F()(x, alpha, beta); }); });
  };
}

struct Relu {
  float operator()(float x, float, float) const { return x < 0 ? 0 : x; }
};
struct LeakyRelu {
  float operator()(float x, float alpha, float) const { return x < 0 ? alpha * x : x; }
};
struct Clip {
  float operator()(float x, float low, float high) const { return clip(x, low, high); }
};
struct HardSigmoid {
  float operator()(float x, float alpha, float beta) const { return clip(alpha * x + beta, 0, 1); }
};
struct HardSwish {
  float operator()(float x, float, float) const { return x * clip(x / 6 + 0.5F, 0, 1); }
};
struct Sigmoid {
  float operator()(float x, float, float) const { return logistic(x); }
};
struct Swish {
  float operator()(float x, float alpha, float) const { return x * logistic(alpha * x); }
};
struct Tanh {
  float operator()(float x, float, float) const { return hyperbolicTangent(x); }
};
struct Linear {
  float operator()(float x, float alpha, float beta) const { return alpha * x + beta; }
};

constexpr Named kFunctions[] = {
    {"gr.relu", rows<Relu>()},
    {"gr.leaky_relu", rows<LeakyRelu>()},
    {"gr.clip", rows<Clip>()},
    {"gr.hard_sigmoid", rows<HardSigmoid>()},
    {"gr.hard_swish", rows<HardSwish>()},
    {"gr.sigmoid", rows<Sigmoid>()},
    {"gr.swish", rows<Swish>()},
    {"gr.tanh", rows<Tanh>()},
    {"linear", rows<Linear>()},
};

/// row[i] = F(row[i], other[i]), or other[0] for all.
template <typename F>
void combine(float* row, int64_t count, const float* other, bool one) {
  runWide([&] {
    if (one) {
      forRow(row, count, [b = *other](float a) { return F()(a, b); });
      return;
    }
#pragma omp simd
    for (int64_t i = 0; i < count; ++i) {
      row[i] = F()(row[i], other[i]);
    }
  });
}

struct Larger {
  float operator()(float a, float b) const { return a < b || std::isnan(b) ? b : a; }
};
struct Smaller {
  float operator()(float a, float b) const { return a > b || std::isnan(b) ? b : a; }
};

auto combinationOf(PostOpKind kind) -> void (*)(float*, int64_t, const float*, bool) {
  switch (kind) {
    case PostOpKind::kBinaryMul:
      return combine<std::multiplies<>>;
    case PostOpKind::kBinarySub:
      return combine<std::minus<>>;
    case PostOpKind::kBinaryDiv:
      return combine<std::divides<>>;
    case PostOpKind::kBinaryMax:
      return combine<Larger>;
    case PostOpKind::kBinaryMin:
      return combine<Smaller>;
    default:
      return combine<std::plus<>>;
  }
}

absl::Status declined(absl::string_view what) {
  return absl::UnimplementedError(absl::StrCat("rows of results know no post-op ", what));
}

}  // namespace

absl::StatusOr<RowPostOps::Op> RowPostOps::opOf(const Step& step, const PostOp& post) {
  Op op{nullptr, post.alpha, post.beta, nullptr, std::nullopt, Reach::kElement};
  if (post.kind == PostOpKind::kEltwise) {
    for (const Named& named : kFunctions) {
      op.function = named.name == post.algorithm ? named.function : op.function;
    }
    return op.function == nullptr ? absl::StatusOr<Op>(declined(post.algorithm)) : op;
  }
  op.combination = combinationOf(post.kind);
  if (post.kind == PostOpKind::kSum) {
    return op;
  }
  const Dims& result = step.outputs[0].desc.dims;
  if (!post.operand || post.operand->desc.type != ElementType::kF32 ||
      (!post.operand->desc.any && !isDense(post.operand->desc))) {
    return declined("with an operand that is not dense, of f32");
  }
  Dims channels(result.size(), 1);
  channels[1] = result[1];
  const Dims& dims = post.operand->desc.dims;
  op.operand = post.operand->buffer;
  if (dims != result) {
    op.reach = countOf(dims) == 1 ? Reach::kOne : Reach::kChannel;
  }
  return op.reach == Reach::kChannel && dims != channels
             ? absl::StatusOr<Op>(declined("with such an operand"))
             : op;
}

absl::StatusOr<RowPostOps> RowPostOps::make(const Step& step) {
  RowPostOps made;
  for (const PostOp& post : step.postOps) {
    GR_ASSIGN_OR_RETURN(Op op, opOf(step, post));
    made.ops_.push_back(op);
  }
  return made;
}

std::vector<TensorDesc> RowPostOps::layouts(const Step& step) {
  std::vector<TensorDesc> descs;
  descs.reserve(step.postOps.size());
  for (const PostOp& post : step.postOps) {
    descs.push_back(post.operand ? TensorDesc{post.operand->desc.type, post.operand->desc.dims}
                                 : TensorDesc());
  }
  return descs;
}

bool RowPostOps::readsResult() const {
  return std::any_of(ops_.begin(), ops_.end(),
                     [](const Op& op) { return op.combination != nullptr && !op.operand; });
}

void RowPostOps::apply(void* const* buffers, const float* result, int64_t channel, int64_t place,
                       int64_t count, float* row) const {
  for (const Op& op : ops_) {
    if (op.function != nullptr) {
      op.function(row, count, op.alpha, op.beta);
      continue;
    }
    const float* other = op.operand ? static_cast<const float*>(buffers[*op.operand]) : result;
    other += op.reach == Reach::kOne ? 0 : op.reach == Reach::kChannel ? channel : place;
    op.combination(row, count, other, op.reach != Reach::kElement);
  }
}

}  // namespace graphrun::devices::cpu
