// Branches and loops.
#include "absl/strings/str_cat.h"
#include "frontends/builder/composite.h"
#include "frontends/builder/control_flow.h"
#include "frontends/builder/index_ops.h"
#include "frontends/builder/op_call.h"
#include "frontends/builder/ops.h"

namespace graphrun::builder {
namespace {

/// Returns whether a value of type `next` is one of type `first` too: it may be known better.
bool keepsType(const Tensor& first, const Tensor& next) {
  if (first.elementType() != next.elementType()) {
    return false;
  }
  if (!first.ranked()) {
    return true;
  }
  const std::vector<Dim> expected = first.dims();
  const std::vector<Dim> dims = next.dims();
  if (!next.ranked() || dims.size() != expected.size()) {
    return false;
  }
  for (size_t i = 0; i < dims.size(); ++i) {
    if (!expected[i].isUnknown() && dims[i] != expected[i]) {
      return false;
    }
  }
  return true;
}

/// Reports what a body leaves that the next iteration cannot begin with.
void checkCarried(OpCall& call, const std::vector<Tensor>& before, const std::vector<Tensor>& after,
                  bool shapesChange) {
  if (before.size() != after.size()) {
    call.problem(absl::StrCat("its body leaves ", after.size(), " carried tensors, expected ",
                              before.size(), ", as many as it gets"));
    return;
  }
  for (size_t i = 0; i < before.size(); ++i) {
    if (after[i].valid() && !shapesChange && !keepsType(before[i], after[i])) {
      call.problem(absl::StrCat("carried tensor ", i, " is ", before[i].toString(), " before and ",
                                after[i].toString(), " after an iteration, expected one type; ",
                                "set Loop::shapesChange where dims differ"));
    }
  }
}

/// A scalar constant of the graph of `like`, named after the call.
Tensor scalarLike(const Tensor& like, Scalar value, ElementType type, const At& at) {
  return GraphImpl::graphOf(like) == nullptr
             ? Tensor()
             : ConstantMaker(*GraphImpl::graphOf(like), At(at.location)).scalar(value, type);
}

/// The first tensor among the arguments: it tells the graph.
const Tensor& anyOf(const std::vector<Tensor>& carried, const Loop& options) {
  static const Tensor kNone;
  for (const Tensor& tensor : carried) {
    if (GraphImpl::graphOf(tensor) != nullptr) {
      return tensor;
    }
  }
  if (GraphImpl::graphOf(options.condition) != nullptr) {
    return options.condition;
  }
  return options.limit ? options.limit->tensor() : kNone;
}

}  // namespace

std::vector<Tensor> ifElse(const Tensor& condition, const Branch& then, const Branch& otherwise,
                           const At& at) {
  OpCall call("if", at, {condition});
  auto bodyOf = [](const char* name, const Branch& branch) {
    return OpCall::Body{name, {}, false, [&](const std::vector<Tensor>&) { return branch(); }};
  };
  return call.createWith({bodyOf("then", then), bodyOf("else", otherwise)});
}

LoopResult loop(const std::vector<Tensor>& carried,
                const std::function<Iteration(const Tensor&, const std::vector<Tensor>&)>& body,
                const Loop& options, const At& at) {
  const Tensor& any = anyOf(carried, options);
  const Tensor condition =
      options.condition.valid() ? options.condition : scalarLike(any, 1, ElementType::kBool, at);
  const Tensor zero = scalarLike(any, 0, ElementType::kI64, at);
  const Tensor limit = !options.limit ? Tensor()
                       : options.limit->isScalar()
                           ? scalarLike(any, options.limit->scalar(), ElementType::kI64, at)
                           : options.limit->tensor();
  const Tensor below = options.limit ? less(zero, limit, At(at.location)) : Tensor();
  std::vector<Argument> arguments = {condition, zero, Argument::optional(below),
                                     Argument::optional(limit)};
  arguments.insert(arguments.end(), carried.begin(), carried.end());
  OpCall call("loop", at, arguments);
  const auto count = static_cast<int32_t>(carried.size());
  call.segments({1, 1, below.valid() ? 1 : 0, limit.valid() ? 1 : 0, count, 0, 0});

  std::vector<Tensor> like = {zero, condition};
  like.insert(like.end(), carried.begin(), carried.end());
  auto build = [&](const std::vector<Tensor>& given) {
    const std::vector<Tensor> mine(given.begin() + 2, given.end());
    Iteration left = body(given[0], mine);
    checkCarried(call, carried, left.carried, options.shapesChange);
    if (!options.limit && GraphImpl::graphOf(left.goOn) == nullptr) {
      call.problem("never ends: it has no limit, and its body does not say when to go on");
    }
    std::vector<Tensor> results = {GraphImpl::graphOf(left.goOn) == nullptr ? given[1] : left.goOn};
    results.insert(results.end(), left.carried.begin(), left.carried.end());
    results.insert(results.end(), left.collected.begin(), left.collected.end());
    return results;
  };
  std::vector<Tensor> results =
      call.createWith({OpCall::Body{"body", like, options.shapesChange, build}}, /*hidden=*/1);
  results.resize(std::max(results.size(), carried.size()), call.failed());
  const auto end = results.begin() + count;
  return {std::vector<Tensor>(results.begin(), end), std::vector<Tensor>(end, results.end())};
}

LoopResult scan(
    const std::vector<Tensor>& scanned, const std::vector<Tensor>& carried,
    const std::function<Iteration(const std::vector<Tensor>&, const std::vector<Tensor>&)>& body,
    const Scan& options, const At& at) {
  Composite call("scan", scanned.empty() ? Tensor() : scanned[0], at);
  call.requireMinimumRank(1);
  auto axisOf = [&](const Tensor& x) {
    return options.axis < 0 ? options.axis + static_cast<int64_t>(x.dims().size()) : options.axis;
  };
  for (const Tensor& x : scanned) {
    const auto rank = static_cast<int64_t>(x.dims().size());
    if (x.valid() && (axisOf(x) < 0 || axisOf(x) >= rank)) {
      call.problem(absl::StrCat("axis ", options.axis, " is out of range for ", x.toString()));
    } else if (x.valid() && x.dims()[axisOf(x)] != scanned[0].dims()[axisOf(scanned[0])]) {
      call.problem(absl::StrCat("scans ", scanned[0].toString(), " and ", x.toString(),
                                " along axis ", options.axis, ", expected equal sizes"));
    }
  }
  if (!call.ready()) {
    return {std::vector<Tensor>(carried.size(), call.failed()), {}};
  }
  const int64_t first = axisOf(scanned[0]);
  const Tensor length =
      squeeze(shape(scanned[0], first, first + 1, call.at("shape")), {0}, call.at("length"));
  auto iterate = [&](const Tensor& number, const std::vector<Tensor>& given) {
    const Tensor index =
        options.reverse ? sub(sub(length, number, call.at("left")), 1, call.at("place")) : number;
    std::vector<Tensor> slices;
    slices.reserve(scanned.size());
    for (size_t i = 0; i < scanned.size(); ++i) {
      slices.push_back(gather(scanned[i], index, axisOf(scanned[i]),
                              call.at(absl::StrCat("slice_", i).c_str())));
    }
    return body(slices, given);
  };
  return loop(carried, iterate, {.limit = length}, call.at("loop"));
}

}  // namespace graphrun::builder
