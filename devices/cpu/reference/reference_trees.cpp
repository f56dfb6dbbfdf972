// Decision trees, distances between rows, and probabilities of classes from those of pairs.
#include <algorithm>
#include <atomic>
#include <cmath>

#include "devices/cpu/reference/reference_support.h"

namespace graphrun::devices::cpu {
namespace {

enum TreeError { kBadTree = 1, kEndlessTree };
constexpr const char* kTreeMessages[] = {
    "a tree refers to a feature, node, member, weight or output that there is not",
    "a tree has a cycle"};

/// A NodeMode says how a node compares; the numbers are those of gr.tree_ensemble.
enum NodeMode : int64_t { kLeq, kLess, kGeq, kGreater, kEqual, kNotEqual, kMember, kLeaf };
constexpr int64_t kColumns = 7;

template <typename T>
struct Forest {
  const T* splits;
  const int64_t* nodes;
  const T* members;
  const T* weights;
  const int64_t* targets;
  int64_t nodeCount, memberCount, weightCount, features, outputs;

  bool isRange(int64_t begin, int64_t end, int64_t count) const {
    return begin >= 0 && begin <= end && end <= count;
  }

  bool holds(const int64_t* node, int64_t index, Compute<T> x) const {
    if (node[4] != 0 && std::isnan(x)) {
      return true;
    }
    Compute<T> split = load(splits[index]);
    switch (node[0]) {
      case kLeq:
        return x <= split;
      case kLess:
        return x < split;
      case kGeq:
        return x >= split;
      case kGreater:
        return x > split;
      case kEqual:
        return x == split;
      case kNotEqual:
        return x != split;
      default:
        return std::any_of(members + node[5], members + node[6],
                           [&](T member) { return load(member) == x; });
    }
  }

  /// The leaf that `row` comes to from `root`; null, with the reason in `error`, for a wrong tree.
  const int64_t* leafOf(const T* row, int64_t root, int& error) const {
    int64_t index = root;
    for (int64_t steps = 0; steps <= nodeCount; ++steps) {
      if (index < 0 || index >= nodeCount) {
        error = kBadTree;
        return nullptr;
      }
      const int64_t* node = nodes + index * kColumns;
      if (node[0] == kLeaf) {
        bool good = isRange(node[2], node[3], weightCount);
        error = good ? 0 : kBadTree;
        return good ? node : nullptr;
      }
      bool good = node[0] >= kLeq && node[0] < kLeaf && node[1] >= 0 && node[1] < features &&
                  (node[0] != kMember || isRange(node[5], node[6], memberCount));
      if (!good) {
        error = kBadTree;
        return nullptr;
      }
      index = node[holds(node, index, load(row[node[1]])) ? 2 : 3];
    }
    error = kEndlessTree;
    return nullptr;
  }
};

enum class Aggregate { kSum, kAverage, kMin, kMax };

/// Joins a weight to what an output has so far.
double joined(Aggregate how, double sum, double weight) {
  return how == Aggregate::kMin   ? std::min(sum, weight)
         : how == Aggregate::kMax ? std::max(sum, weight)
                                  : sum + weight;
}

/// Walks all trees for a row. `sums` and `seen` are scratch, one for each output.
template <typename T>
int runRow(const Forest<T>& forest, const int64_t* roots, int64_t trees, Aggregate how,
           const T* row, double* sums, T* result) {
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  std::fill(sums, sums + forest.outputs, kNone);
  for (int64_t t = 0; t < trees; ++t) {
    int error = 0;
    const int64_t* leaf = forest.leafOf(row, roots[t], error);
    if (leaf == nullptr) {
      return error;
    }
    for (int64_t w = leaf[2]; w < leaf[3]; ++w) {
      int64_t output = forest.targets[w];
      if (output < 0 || output >= forest.outputs) {
        return kBadTree;
      }
      double weight = static_cast<double>(load(forest.weights[w]));
      sums[output] = std::isnan(sums[output]) ? weight : joined(how, sums[output], weight);
    }
  }
  for (int64_t o = 0; o < forest.outputs; ++o) {
    double sum = std::isnan(sums[o]) ? 0 : sums[o];
    sum /= how == Aggregate::kAverage ? static_cast<double>(std::max<int64_t>(trees, 1)) : 1;
    result[o] = store<T>(static_cast<Compute<T>>(sum));
  }
  return 0;
}

template <typename T>
KernelOr makeTrees(const Instruction& instruction, Aggregate how) {
  uint32_t in[7];
  for (size_t i = 0; i < 7; ++i) {
    in[i] = instruction.inputs[i].buffer;
  }
  Forest<T> shape = {};
  shape.nodeCount = instruction.inputs[2].desc.dims[0];
  shape.memberCount = instruction.inputs[3].desc.dims[0];
  shape.weightCount = instruction.inputs[4].desc.dims[0];
  shape.features = instruction.inputs[0].desc.dims[1];
  shape.outputs = instruction.outputs[0].desc.dims[1];
  int64_t trees = instruction.inputs[6].desc.dims[0];
  int64_t rows = instruction.inputs[0].desc.dims[0];
  uint32_t out = instruction.outputs[0].buffer;
  auto scratch = static_cast<size_t>(rows * shape.outputs);
  return makeKernel(
      [=, sums = std::vector<double>(scratch)](void* const* buffers) mutable {
        Forest<T> forest = shape;
        forest.splits = static_cast<const T*>(buffers[in[1]]);
        forest.nodes = static_cast<const int64_t*>(buffers[in[2]]);
        forest.members = static_cast<const T*>(buffers[in[3]]);
        forest.weights = static_cast<const T*>(buffers[in[4]]);
        forest.targets = static_cast<const int64_t*>(buffers[in[5]]);
        const auto* roots = static_cast<const int64_t*>(buffers[in[6]]);
        const T* x = static_cast<const T*>(buffers[in[0]]);
        T* y = static_cast<T*>(buffers[out]);
        double* scratchRows = sums.data();
        std::atomic<int> error{0};
        parallelFor(rows, trees * 32, [&](int64_t row) {
          int64_t at = row * forest.outputs;
          int code = runRow(forest, roots, trees, how, x + row * forest.features, scratchRows + at,
                            y + at);
          if (code != 0) {
            error.store(code, std::memory_order_relaxed);
          }
        });
        return error.load(std::memory_order_relaxed);
      },
      kTreeMessages);
}

KernelOr createTrees(const Instruction& instruction) {
  GR_ASSIGN_OR_RETURN(std::string name, attribute<std::string>(instruction, "aggregate"));
  Aggregate how = name == "average" ? Aggregate::kAverage
                  : name == "min"   ? Aggregate::kMin
                  : name == "max"   ? Aggregate::kMax
                                    : Aggregate::kSum;
  ElementType type = instruction.inputs[0].desc.type;
  constexpr size_t kRanks[] = {2, 1, 2, 1, 1, 1, 1};
  bool fits = runtime::isFloat(type) && instruction.outputs[0].desc.type == type &&
              instruction.outputs[0].desc.dims.size() == 2 &&
              instruction.outputs[0].desc.dims[0] == instruction.inputs[0].desc.dims[0];
  for (size_t i = 0; i < 7; ++i) {
    bool index = i == 2 || i > 4;
    fits = fits && instruction.inputs[i].desc.type == (index ? ElementType::kI64 : type) &&
           instruction.inputs[i].desc.dims.size() == kRanks[i];
  }
  if (!fits || instruction.inputs[2].desc.dims[1] != kColumns ||
      instruction.inputs[1].desc.dims[0] != instruction.inputs[2].desc.dims[0] ||
      instruction.inputs[4].desc.dims != instruction.inputs[5].desc.dims) {
    return invalidInstruction(instruction, "has operands that do not fit each other");
  }
  return dispatchFloat(type,
                       [&]<typename T>() -> KernelOr { return makeTrees<T>(instruction, how); });
}

KernelOr createSquaredDistance(const Instruction& instruction) {
  const Dims& lhs = instruction.inputs[0].desc.dims;
  const Dims& rhs = instruction.inputs[1].desc.dims;
  if (lhs.size() != 2 || rhs.size() != 2 || lhs[1] != rhs[1] ||
      instruction.outputs[0].desc.dims != Dims{lhs[0], rhs[0]}) {
    return invalidInstruction(instruction, "has operands that do not fit each other");
  }
  uint32_t a = instruction.inputs[0].buffer;
  uint32_t b = instruction.inputs[1].buffer;
  uint32_t out = instruction.outputs[0].buffer;
  int64_t rows = lhs[0];
  int64_t columns = rhs[0];
  int64_t features = lhs[1];
  return dispatchFloat(instruction.inputs[0].desc.type, [&]<typename T>() -> KernelOr {
    return makeKernel([=](void* const* buffers) {
      const T* x = static_cast<const T*>(buffers[a]);
      const T* y = static_cast<const T*>(buffers[b]);
      T* z = static_cast<T*>(buffers[out]);
      parallelFor(rows, columns * features * 3, [&](int64_t i) {
        for (int64_t j = 0; j < columns; ++j) {
          Compute<T> sum = 0;
          for (int64_t f = 0; f < features; ++f) {
            Compute<T> difference = load(x[i * features + f]) - load(y[j * features + f]);
            sum += difference * difference;
          }
          z[i * columns + j] = store<T>(sum);
        }
      });
      return 0;
    });
  });
}

/// Scratch of one row: the matrix Q of the paper, and Q times p.
struct Coupling {
  explicit Coupling(int64_t classes)
      : k(classes),
        q(static_cast<size_t>(k * k)),
        qp(static_cast<size_t>(k)),
        p(static_cast<size_t>(k)) {}

  /// Q from the probabilities `r` of pairs.
  template <typename T>
  void start(const T* r) {
    for (int64_t t = 0; t < k; ++t) {
      p[t] = 1.0 / static_cast<double>(k);
      double own = 0;
      for (int64_t j = 0; j < k; ++j) {
        auto other = static_cast<double>(load(r[j * k + t]));
        own += j == t ? 0 : other * other;
        q[t * k + j] = -other * static_cast<double>(load(r[t * k + j]));
      }
      q[t * k + t] = own;
    }
  }

  /// One step for class `t`; `pqp` is p times Q times p, before and after.
  void step(int64_t t, double& pqp) {
    double change = (pqp - qp[t]) / q[t * k + t];
    double scale = 1 + change;
    p[t] += change;
    pqp = (pqp + change * (change * q[t * k + t] + 2 * qp[t])) / (scale * scale);
    for (int64_t j = 0; j < k; ++j) {
      qp[j] = (qp[j] + change * q[t * k + j]) / scale;
      p[j] /= scale;
    }
  }

  void solve() {
    const double tolerance = 0.005 / static_cast<double>(k);
    for (int64_t i = 0; i < std::max<int64_t>(100, k); ++i) {
      double pqp = 0;
      for (int64_t t = 0; t < k; ++t) {
        qp[t] = 0;
        for (int64_t j = 0; j < k; ++j) {
          qp[t] += q[t * k + j] * p[j];
        }
        pqp += p[t] * qp[t];
      }
      double worst = 0;
      for (int64_t t = 0; t < k; ++t) {
        worst = std::max(worst, std::fabs(qp[t] - pqp));
      }
      if (worst < tolerance) {
        return;
      }
      for (int64_t t = 0; t < k; ++t) {
        step(t, pqp);
      }
    }
  }

  int64_t k;
  std::vector<double> q, qp, p;
};

KernelOr createCoupleProbabilities(const Instruction& instruction) {
  const Dims& dims = instruction.inputs[0].desc.dims;
  if (dims.size() != 3 || dims[1] != dims[2] ||
      instruction.outputs[0].desc.dims != Dims{dims[0], dims[1]}) {
    return invalidInstruction(instruction, "has operands that do not fit each other");
  }
  int64_t rows = dims[0];
  int64_t classes = dims[1];
  uint32_t in = instruction.inputs[0].buffer;
  uint32_t out = instruction.outputs[0].buffer;
  return dispatchFloat(instruction.inputs[0].desc.type, [&]<typename T>() -> KernelOr {
    return makeKernel([=, coupling = Coupling(classes)](void* const* buffers) mutable {
      for (int64_t row = 0; row < rows; ++row) {
        coupling.start(static_cast<const T*>(buffers[in]) + row * classes * classes);
        coupling.solve();
        for (int64_t c = 0; c < classes; ++c) {
          static_cast<T*>(buffers[out])[row * classes + c] =
              store<T>(static_cast<Compute<T>>(coupling.p[c]));
        }
      }
      return 0;
    });
  });
}

constexpr ReferenceEntry kEntries[] = {
    {"gr.tree_ensemble", TypeRule::kConvert, createTrees, 7},
    {"gr.squared_distance", TypeRule::kFloat, createSquaredDistance, 2},
    {"gr.couple_probabilities", TypeRule::kFloat, createCoupleProbabilities},
};

}  // namespace

absl::Span<const ReferenceEntry> referenceTrees() { return kEntries; }

}  // namespace graphrun::devices::cpu
