// These functions build branches and loops. Public.
//
// A body is a function that is called once, while the graph is written, and makes the operations
// that run once, never or again and again. It may use all tensors around it. What it makes is used
// outside only as one of the operation's results.
#ifndef GRAPHRUN_FRONTENDS_BUILDER_CONTROL_FLOW_H_
#define GRAPHRUN_FRONTENDS_BUILDER_CONTROL_FLOW_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "frontends/builder/tensor.h"

namespace graphrun::builder {

using Branch = std::function<std::vector<Tensor>()>;
/// Returns the tensors of `then` where the condition (one bool) holds, else those of `otherwise`:
/// as many tensors, of the same element types. A dim that differs is unknown in the result.
///     Tensor y = ifElse(flag, [&] { return std::vector{x * 2.0}; }, [&] { return std::vector{x};
///     })[0];
std::vector<Tensor> ifElse(const Tensor& condition, const Branch& then, const Branch& otherwise,
                           const At& at = {});

/// An Iteration holds the results of one iteration of a loop.
struct Iteration {
  std::vector<Tensor> carried;      ///< for the next one: as many as it got
  std::vector<Tensor> collected{};  ///< results of all iterations are joined along a new first dim
  Tensor goOn{};                    ///< one bool: whether there is a next one; default: there is
};
struct LoopResult {
  std::vector<Tensor> carried;  ///< after the last iteration
  std::vector<Tensor> collected;
};
struct Loop {
  std::optional<Operand> limit{};  ///< at most so many iterations (one i64); default: no limit
  Tensor condition{};              ///< one bool: whether there is a first one; default: there is
  /// True when dims of carried tensors differ from iteration to iteration. The body then gets them
  /// with unknown rank; else they keep the types that they begin with.
  bool shapesChange = false;
};
/// A body again and again: it gets the number of the iteration (i64, from 0) and the carried
/// tensors. There must be a limit, or the body says when to go on.
///     LoopResult powers = loop({x}, [&](const Tensor&, const std::vector<Tensor>& c) {
///       Tensor next = c[0] * x;
///       return Iteration{{next}, {next}};
///     }, {.limit = 10});
LoopResult loop(
    const std::vector<Tensor>& carried,
    const std::function<Iteration(const Tensor& number, const std::vector<Tensor>& carried)>& body,
    const Loop& options = {}, const At& at = {});

struct Scan {
  int64_t axis = 0;      ///< of the scanned tensors
  bool reverse = false;  ///< from the end
};
/// A loop over the slices of tensors along an axis, which is equally long in each: the body gets
/// the slices, without that axis, and the carried tensors.
LoopResult scan(const std::vector<Tensor>& scanned, const std::vector<Tensor>& carried,
                const std::function<Iteration(const std::vector<Tensor>& slices,
                                              const std::vector<Tensor>& carried)>& body,
                const Scan& options = {}, const At& at = {});

}  // namespace graphrun::builder

#endif  // GRAPHRUN_FRONTENDS_BUILDER_CONTROL_FLOW_H_
