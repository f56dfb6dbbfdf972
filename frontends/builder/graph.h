// A Graph is a graph under construction. Public.
#ifndef GRAPHRUN_FRONTENDS_BUILDER_GRAPH_H_
#define GRAPHRUN_FRONTENDS_BUILDER_GRAPH_H_

#include <concepts>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <ranges>
#include <source_location>
#include <string>
#include <type_traits>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "frontends/builder/initializer.h"
#include "frontends/builder/tensor.h"
#include "frontends/builder/weight_file.h"
#include "runtime/base/memory_file.h"

namespace graphrun::builder {

using runtime::elementTypeFor;

/// While it lives, names of new operations begin with its name: `auto scope = g.scope("encoder");`
/// gives "encoder/conv_0". Scopes nest; one that is entered again goes on counting.
class [[nodiscard]] Scope {
 public:
  Scope(Scope&&) = default;
  Scope& operator=(Scope&&) = delete;
  ~Scope();

 private:
  friend class GraphImpl;
  Scope(std::shared_ptr<GraphImpl> graph, size_t depth) : graph_(std::move(graph)), depth_(depth) {}

  std::shared_ptr<GraphImpl> graph_;
  size_t depth_;
};

/// A model file in a temporary folder, which goes when this does: keep it as long as a session that
/// runs it.
class TemporaryModel {
 public:
  TemporaryModel(std::string folder, std::string path)
      : folder_(std::move(folder)), path_(std::move(path)) {}
  TemporaryModel(TemporaryModel&& other) noexcept { swap(other); }
  TemporaryModel& operator=(TemporaryModel&& other) noexcept {
    swap(other);
    return *this;
  }
  ~TemporaryModel();

  const std::string& path() const { return path_; }

 private:
  void swap(TemporaryModel& other) noexcept {
    folder_.swap(other.folder_);
    path_.swap(other.path_);
  }

  std::string folder_;
  std::string path_;
};

/// A Mode says what a graph is for: what its weights are, and what layers do that train otherwise
/// than they infer.
enum class Mode {
  kInference,  ///< weights are constants
  /// Weights are parameters, which keep their values from step to step and may be updated. Layers
  /// normalise by the batch and drop out.
  kTraining,
  kEvaluation  ///< weights are the same parameters; layers infer
};

/// A graph under construction: inputs, constants, states and outputs. Operations are free functions
/// of tensors (ops.h, layers.h). For one thread at a time; different graphs are independent.
///
/// States are tensors that outlive a run: all graphs of a model that name one share it (saveModel).
/// Within a run a state is what it was when the run began, and a run that fails changes none.
class Graph {
 public:
  explicit Graph(std::string name = "graph", Mode mode = Mode::kInference);
  Graph(Graph&&) = default;
  Graph& operator=(Graph&&) = default;

  const std::string& name() const;
  Mode mode() const;

  /// An input, fed at each run. `dims` may be symbolic. Its name must be new among the inputs.
  Tensor input(const std::string& name, ElementType type, const std::vector<Dim>& dims,
               std::source_location here = std::source_location::current());
  /// Makes `value` an output of the model. Outputs keep the order of these calls.
  void output(const std::string& name, const Tensor& value,
              std::source_location here = std::source_location::current());

  /// A constant; the data is copied once, or taken over from an rvalue.
  Tensor constant(const HostTensor& value, const At& at = {});
  Tensor constant(HostTensor&& value, const At& at = {});
  /// A constant of `dims` from row-major values, which are copied once: a vector, array or span, or
  /// a list: `g.constant({1.0F, 2.0F}, {2})`. The element type is that of the values.
  template <std::ranges::contiguous_range Values>
  Tensor constant(const Values& values, const std::vector<int64_t>& dims, const At& at = {}) {
    using T = std::remove_cv_t<std::ranges::range_value_t<Values>>;
    static_assert(elementTypeFor<T>() != ElementType::kInvalid, "no element type of GraphRun");
    return constantOf(elementTypeFor<T>(), std::ranges::data(values), std::ranges::size(values),
                      dims, at);
  }
  template <typename T>
  Tensor constant(std::initializer_list<T> values, const std::vector<int64_t>& dims,
                  const At& at = {}) {
    if constexpr (std::same_as<T, bool>) {
      return constantOf(ElementType::kBool, std::data(values), values.size(), dims, at);
    } else {
      return constant(absl::Span<const T>(std::data(values), values.size()), dims, at);
    }
  }
  /// A constant of rank 0.
  Tensor scalar(Scalar value, ElementType type, const At& at = {});
  /// A floating-point weight of `dims`, filled by `initializer`: a constant, or, where the graph is
  /// no inference, a parameter.
  Tensor weight(const std::vector<int64_t>& dims, const Initializer& initializer,
                ElementType type = ElementType::kF32, const At& at = {});
  /// The tensor `name` of a file of weights, as a constant of its type; not copied while the graph
  /// lives. Without a name in `at` it is called `name`, the first time in a scope.
  Tensor weight(const WeightFile& file, const std::string& name, const At& at = {});

  /// A state called as `at` says, with its first value.
  Tensor state(const HostTensor& first, const At& at = {});
  Tensor state(const std::vector<int64_t>& dims, const Initializer& first,
               ElementType type = ElementType::kF32, const At& at = {});
  /// The same, for a gradient to change: it is one of parameters().
  Tensor parameter(const std::vector<int64_t>& dims, const Initializer& first,
                   ElementType type = ElementType::kF32, const At& at = {});
  /// All that were made so far, by calls of this graph or by layers, in their order; with a prefix
  /// those whose names begin so: `g.parameters("generator/")` are those of a scope.
  std::vector<Tensor> parameters(absl::string_view prefix = "") const;
  /// From the next run on `state`, which a call of this graph made, is `value`, of the same type. A
  /// state is updated once at most.
  void update(const Tensor& state, const Tensor& value,
              std::source_location here = std::source_location::current());

  /// From now on the states that were made so far and that `values` names begin with these values;
  /// other names are skipped. So Session::states gives a graph its trained weights. They are
  /// copied.
  void setFirstValues(const std::map<std::string, HostTensor, std::less<>>& values,
                      std::source_location here = std::source_location::current());

  /// Enters a scope of names; see Scope.
  Scope scope(const std::string& name);

  /// OK, or InvalidArgument with all problems so far, a line each: source line, operation, what was
  /// got and expected.
  absl::Status status() const;
  /// Writes model.fb, as built; simplification happens when the model is planned for a cluster.
  /// InvalidArgument with all problems when there are any; nothing is written then. The graph may
  /// be extended and saved again.
  absl::Status save(const std::string& path);
  /// The same into memory: what `Session::create(graph)` runs.
  absl::StatusOr<runtime::MemoryFile> saveToMemory();
  /// Saves into a temporary folder ($TMPDIR): a file for other programs, for a while.
  absl::StatusOr<TemporaryModel> saveTemporary();

 private:
  Tensor constantOf(ElementType type, const void* values, size_t count,
                    const std::vector<int64_t>& dims, const At& at);

  friend class GraphImpl;
  friend class ModelSaver;

  std::shared_ptr<GraphImpl> impl_;
};

/// Writes graphs of different names to one model.fb: a run of the model runs the first, unless it
/// names another (Session::run). States of one name are one, and must be of one type and begin with
/// equal values. InvalidArgument with all problems of a graph, or of these; nothing is written
/// then.
absl::Status saveModel(absl::Span<Graph* const> graphs, const std::string& path);
/// The same into memory, for Session::create.
absl::StatusOr<runtime::MemoryFile> saveModelToMemory(absl::Span<Graph* const> graphs);

}  // namespace graphrun::builder

#endif  // GRAPHRUN_FRONTENDS_BUILDER_GRAPH_H_
