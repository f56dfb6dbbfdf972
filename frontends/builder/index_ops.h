// These functions compute positions, read and write by them, and order elements. Public.
//
// Axes may count from the end (-1 is the last), and so may indices.
#ifndef GRAPHRUN_FRONTENDS_BUILDER_INDEX_OPS_H_
#define GRAPHRUN_FRONTENDS_BUILDER_INDEX_OPS_H_

#include <cstdint>

#include "frontends/builder/tensor.h"

namespace graphrun::builder {

/// start, start + delta … up to limit, which is left out, as a vector. At least one of the three is
/// a tensor of one element; numbers take its type.
Tensor range(const Operand& start, const Operand& limit, const Operand& delta = 1,
             const At& at = {});

struct ArgReduce {
  bool keepdims = true;  ///< keep the axis as a dim of 1
  bool last = false;     ///< of equal elements the last one counts, not the first
};
/// Returns where the largest element along an axis is (i64). NaN wins.
Tensor argMax(const Tensor& x, int64_t axis, const ArgReduce& options = {}, const At& at = {});
/// Returns where the smallest element along an axis is (i64). NaN wins.
Tensor argMin(const Tensor& x, int64_t axis, const ArgReduce& options = {}, const At& at = {});

struct TopK {
  int64_t axis = -1;
  bool largest = true;  ///< false: the smallest
};
struct ValuesAndIndices {
  Tensor values;
  Tensor indices;  ///< i64
};
/// The k largest elements along an axis, best first, and where they are. Of equal elements the one
/// with the smaller index is better; NaN is larger than any number.
ValuesAndIndices topK(const Tensor& x, const Operand& k, const TopK& options = {},
                      const At& at = {});

struct Cumulative {
  bool exclusive = false;  ///< without the element itself
  bool reverse = false;    ///< from the end
};
/// Running sum along an axis.
Tensor cumSum(const Tensor& x, int64_t axis, const Cumulative& options = {}, const At& at = {});
/// Running product along an axis.
Tensor cumProd(const Tensor& x, int64_t axis, const Cumulative& options = {}, const At& at = {});

/// The upper triangles of the matrices in the last two dims: 0 below the diagonal `k` columns to
/// the right of the main one.
Tensor triu(const Tensor& x, int64_t k = 0, const At& at = {});
/// The lower triangles: 0 above that diagonal.
Tensor tril(const Tensor& x, int64_t k = 0, const At& at = {});

struct OneHot {
  int64_t axis = -1;  ///< of the result, where the new dim is
  Scalar on = 1;
  Scalar off = 0;
  ElementType type = ElementType::kF32;
};
/// A new dim of size `depth` with `on` where the index (an integer) points and `off`
/// elsewhere; `off` everywhere for an index out of range.
Tensor oneHot(const Tensor& indices, int64_t depth, const OneHot& options = {}, const At& at = {});

/// Picks one element for each index along an axis: the result has the shape of `indices`, and its
/// element at p is the one at p with the position on the axis replaced by the index.
Tensor gatherElements(const Tensor& x, const Tensor& indices, int64_t axis = 0, const At& at = {});
/// Picks slices by index vectors: the last dim of `indices` holds indices in as many dims of x,
/// behind `batchDims` leading dims that both share.
Tensor gatherNd(const Tensor& x, const Tensor& indices, int64_t batchDims = 0, const At& at = {});

/// Scatter says how an update joins what is there. Updates that meet are taken in row-major order.
enum class Scatter { kReplace, kAdd, kMul, kMin, kMax };
/// A copy of x with one element written for each index along an axis; `updates` has the shape of
/// `indices`.
Tensor scatterElements(const Tensor& x, const Tensor& indices, const Tensor& updates,
                       int64_t axis = 0, Scatter kind = Scatter::kReplace, const At& at = {});
/// A copy of x with slices written by index vectors: the last dim of `indices` holds indices in as
/// many leading dims of x; `updates` has the other dims of `indices`, then those of x that are not
/// indexed.
Tensor scatterNd(const Tensor& x, const Tensor& indices, const Tensor& updates,
                 Scatter kind = Scatter::kReplace, const At& at = {});

}  // namespace graphrun::builder

#endif  // GRAPHRUN_FRONTENDS_BUILDER_INDEX_OPS_H_
