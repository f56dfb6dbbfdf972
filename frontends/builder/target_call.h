// A TargetCall compares a model's output with a target: a loss or a metric. Internal.
#ifndef GRAPHRUN_FRONTENDS_BUILDER_TARGET_CALL_H_
#define GRAPHRUN_FRONTENDS_BUILDER_TARGET_CALL_H_

#include "absl/strings/str_cat.h"
#include "frontends/builder/composite.h"
#include "frontends/builder/ops.h"
#include "runtime/base/element_type.h"

namespace graphrun::builder {

class TargetCall : public Composite {
 public:
  TargetCall(const char* kind, const Tensor& output, const Tensor& target, const At& at)
      : Composite(kind, output, at), target_(target) {
    if (ready() && !runtime::isFloat(output.elementType())) {
      problem(absl::StrCat("output is ", output.toString(), ", expected a floating-point type"));
    }
    if (ready() && (!output.ranked() || (target.valid() && !target.ranked()))) {
      problem(absl::StrCat("output is ", output.toString(), " and target ", target.toString(),
                           ", expected known ranks"));
    }
  }

  /// Reports a target whose dims are not the first `rank` ones of the output.
  void requireDims(size_t rank) {
    if (!ready() || !target_.valid()) {
      return;  // the first operation on the target tells
    }
    std::vector<Dim> expected = input().dims();
    expected.resize(rank, Dim(0));
    const std::vector<Dim> dims = target_.dims();
    bool fits = dims.size() == rank;
    for (size_t i = 0; fits && i < rank; ++i) {
      fits = !dims[i].isStatic() || !expected[i].isStatic() || dims[i] == expected[i];
    }
    if (!fits) {
      problem(absl::StrCat("target is ", target_.toString(), ", expected ", rank,
                           rank == 1 ? " dim" : " dims", ": ",
                           rank == input().dims().size() ? "those of the output, "
                                                         : "those of the output but its last, ",
                           input().toString()));
    }
  }
  /// Reports targets that are no integers of one dim less than the output, which has classes.
  void requireClasses() {
    requireMinimumRank(1);
    if (ready()) {
      requireDims(input().dims().size() - 1);
    }
    const runtime::NumberKind kind = runtime::elementTypeInfo(target_.elementType()).kind;
    if (ready() && target_.valid() && kind != runtime::NumberKind::kSigned &&
        kind != runtime::NumberKind::kUnsigned) {
      problem(absl::StrCat("target is ", target_.toString(), ", expected integers: classes"));
    }
  }
  void requireSameDims() {
    if (ready()) {
      requireDims(input().dims().size());
    }
  }

  /// The target as numbers of the output's type.
  Tensor numbers() const {
    return target_.valid() && target_.elementType() == input().elementType()
               ? target_
               : cast(target_, input().elementType(), at("target"));
  }

 private:
  Tensor target_;
};

}  // namespace graphrun::builder

#endif  // GRAPHRUN_FRONTENDS_BUILDER_TARGET_CALL_H_
