// These rules, which every device can honour, say which operations may join a group.
#ifndef GRAPHRUN_PASSES_GROUP_RULES_H_
#define GRAPHRUN_PASSES_GROUP_RULES_H_

#include "mlir/IR/Operation.h"

namespace graphrun::passes {

/// Most operations after an anchor in one group.
inline constexpr size_t kMaxPostOps = 24;
/// Most members and most inputs of a map group: bounds the size of a generated kernel.
inline constexpr size_t kMaxMapMembers = 64;
inline constexpr size_t kMaxMapInputs = 16;

/// True when `op` can follow an anchor in the anchor's group, reading the anchor's (transformed)
/// result `chain`: an activation, or add, sub, mul, div, min, max or prelu with `chain` on the left
/// (on either side where they commute) whose other operand is a constant of one value or of one
/// value a channel (dim `channelAxis`), or a tensor of the same shape. Types and shape must stay
/// the same.
bool canFollowAnchor(mlir::Operation* op, mlir::Value chain, int64_t channelAxis);

/// The same behind sums of products of bytes: also a per-channel operand that is no constant, sums
/// and differences of i32, the cast of the sums to f32, the cast to bytes of whole numbers that a
/// clip keeps in their range, and the cast of these to f32.
bool canFollowSums(mlir::Operation* op, mlir::Value chain, int64_t channelAxis);

/// True when `op` only shows its operand's elements in another order or shape, or a part of them:
/// transpose, reshape, squeeze, unsqueeze, split, a slice with constant ranges, a gather of one
/// constant index, or a cast between f32 and bf16. Such an operation joins the attention that it is
/// for, whose kernel reads and writes through strides.
bool canBeSeenThrough(mlir::Operation* op);

/// True when `op` can be a member of a map group at all: element-wise, expand, squeeze, unsqueeze,
/// transpose, a reshape that only adds or drops dims of 1, or a slice with constant ranges; all
/// shapes static. One loop nest over the result reads the operands of such an operation through a
/// broadcast, permuted or strided index. (A concat or a general reshape is not of this form.)
bool canJoinMap(mlir::Operation* op);

/// True when joining `op` to a group with result type `result` repeats no expensive work: the
/// result has no more elements than `op`'s own, or each costs at most two operations.
bool isCheapIn(mlir::Operation* op, mlir::Type result);

}  // namespace graphrun::passes

#endif  // GRAPHRUN_PASSES_GROUP_RULES_H_
