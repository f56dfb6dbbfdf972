// One call that becomes several operations. Internal.
#ifndef GRAPHRUN_FRONTENDS_BUILDER_COMPOSITE_H_
#define GRAPHRUN_FRONTENDS_BUILDER_COMPOSITE_H_

#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "frontends/builder/constants.h"
#include "frontends/builder/graph_impl.h"

namespace graphrun::builder {

/// Checks the call's first tensor and opens a scope of the call's name for what it makes. After the
/// first problem nothing more happens, and the call gives `failed`.
class Composite {
 public:
  Composite(const char* kind, const Tensor& x, const At& at)
      : kind_(kind), x_(x), source_(at.location), graph_(GraphImpl::graphOf(x)) {
    if (graph_ == nullptr || !x.valid()) {
      if (graph_ != nullptr) {
        graph_->skip();
      }
      return;
    }
    label_ = graph_->label(kind, at);
    scope_.emplace(graph_->layerScope(label_));
    ready_ = true;
  }

  bool ready() const { return ready_; }
  /// Returns the call's result when it is not ready.
  Tensor failed() const { return graph_ == nullptr ? Tensor() : graph_->failed(); }

  void problem(const std::string& message) {
    if (ready_) {
      ready_ = false;
      graph_->report(source_, absl::StrCat(kind_, " '", label_, "'"), message);
    }
  }
  /// Reports a first tensor of another rank; `what` says what it should be.
  void requireRank(size_t rank, const char* what) {
    if (ready_ && (!x_.ranked() || x_.dims().size() != rank)) {
      problem(absl::StrCat("input is ", x_.toString(), ", expected ", what));
    }
  }
  void requireMinimumRank(size_t rank) {
    if (ready_ && (!x_.ranked() || x_.dims().size() < rank)) {
      problem(absl::StrCat("input is ", x_.toString(), ", expected a rank of at least ", rank));
    }
  }
  /// Reports `value` below 1.
  void requirePositive(const char* what, int64_t value) {
    if (ready_ && value < 1) {
      problem(absl::StrCat(what, " is ", value, ", expected at least 1"));
    }
  }

  /// For the operation `name` of the call.
  At at(const char* name) const { return {name, source_}; }
  /// Makes the constant `name` of the call, which must be ready.
  ConstantMaker constant(const char* name) { return {*graph_, at(name)}; }
  /// The same of a weight, which is a parameter where the graph trains.
  ConstantMaker weightMaker(const char* name) {
    return {*graph_, at(name), ConstantMaker::weightIn(graph_->mode())};
  }
  /// The same of what training keeps beside parameters.
  ConstantMaker stateMaker(const char* name) {
    bool isConstant = graph_->mode() == Mode::kInference;
    return {*graph_, at(name),
            isConstant ? ConstantMaker::Kind::kConstant : ConstantMaker::Kind::kState};
  }
  GraphImpl& graph() { return *graph_; }

 protected:
  const Tensor& input() const { return x_; }
  const std::source_location& source() const { return source_; }
  /// "encoder/dense_0".
  const std::string& label() const { return label_; }

 private:
  const char* kind_;
  Tensor x_;
  std::source_location source_;
  GraphImpl* graph_;
  std::string label_;
  std::optional<Scope> scope_;
  bool ready_ = false;
};

}  // namespace graphrun::builder

#endif  // GRAPHRUN_FRONTENDS_BUILDER_COMPOSITE_H_
