// Gradient rules of collectives. Every result depends on the operands of all members, so what comes
// back is a collective, too.
#include "ir/gradients/builder.h"

namespace graphrun::ir {
namespace {

using Terms = llvm::SmallVector<Term>;

/// The gradients of all results, zeros written out.
Terms gradients(GradientBuilder& b, unsigned members) {
  Terms all;
  for (unsigned i = 0; i < members; ++i) {
    Term dy = b.gradient(i);
    all.push_back(dy.isZero() ? b.full(b.result(i), 0) : dy);
  }
  return all;
}

Terms allReduce(GradientBuilder& b, llvm::ArrayRef<Term> terms) {
  return b.emitMany("gr.all_reduce", terms, {b.text("kind", "sum")},
                    static_cast<unsigned>(terms.size()));
}

/// Gives the gradients of what is combined: each member has `dy`, the gradient of the whole
/// combination `y`.
void giveOfCombination(GradientBuilder& b, ReduceKind kind, llvm::ArrayRef<Term> dy,
                       llvm::ArrayRef<Term> y) {
  const auto members = static_cast<unsigned>(dy.size());
  if (kind == ReduceKind::kMax || kind == ReduceKind::kMin) {
    Terms best;  // equal elements share
    for (unsigned i = 0; i < members; ++i) {
      best.push_back(b.castTo(equal(b.operand(i), y[i]), y[i].element()));
    }
    Terms counts = allReduce(b, best);
    for (unsigned i = 0; i < members; ++i) {
      b.give(i, best[i] * dy[i] / counts[i]);
    }
    return;
  }
  for (unsigned i = 0; i < members; ++i) {
    Term dx = kind == ReduceKind::kMean ? dy[i] / static_cast<double>(members) : dy[i];
    for (unsigned other = 0; kind == ReduceKind::kProd && b.wants(i) && other < members; ++other) {
      dx = other == i ? dx : dx * b.operand(other);
    }
    b.give(i, dx);
  }
}

}  // namespace

mlir::LogicalResult AllReduceOp::buildGradient(GradientBuilder& b) {
  const auto members = static_cast<unsigned>(getInputs().size());
  Terms y;
  for (unsigned i = 0; i < members; ++i) {
    y.push_back(b.result(i));
  }
  giveOfCombination(b, getKind(), allReduce(b, gradients(b, members)), y);
  return mlir::success();
}

mlir::LogicalResult AllGatherOp::buildGradient(GradientBuilder& b) {
  const auto members = static_cast<unsigned>(getInputs().size());
  Terms parts = b.emitMany("gr.reduce_scatter", gradients(b, members),
                           {b.text("kind", "sum"), b.integer("axis", getAxis())}, members);
  for (unsigned i = 0; i < members; ++i) {
    b.give(i, parts[i]);
  }
  return mlir::success();
}

mlir::LogicalResult ReduceScatterOp::buildGradient(GradientBuilder& b) {
  const auto members = static_cast<unsigned>(getInputs().size());
  auto gather = [&](llvm::ArrayRef<Term> parts) {
    return b.emitMany("gr.all_gather", parts, {b.integer("axis", getAxis())}, members);
  };
  Terms y(members);
  if (getKind() == ReduceKind::kMax || getKind() == ReduceKind::kMin) {
    Terms parts;
    for (unsigned i = 0; i < members; ++i) {
      parts.push_back(b.result(i));
    }
    y = gather(parts);
  }
  giveOfCombination(b, getKind(), gather(gradients(b, members)), y);
  return mlir::success();
}

}  // namespace graphrun::ir
