#include "frontends/builder/graph.h"

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <ostream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "frontends/builder/constants.h"
#include "frontends/builder/graph_impl.h"
#include "passes/passes.h"
#include "passes/serialization/model_io.h"
#include "passes/serialization/type_codec.h"
#include "runtime/base/status.h"

namespace graphrun::builder {

std::string Dim::toString() const {
  return isStatic() ? absl::StrCat(size_) : isUnknown() ? "?" : name_;
}

// --- Tensor --------------------------------------------------------------------------------------

ElementType Tensor::elementType() const {
  return valid() ? passes::elementTypeOf(
                       llvm::cast<mlir::TensorType>(GraphImpl::valueOf(*this).getType())
                           .getElementType())
                 : ElementType::kInvalid;
}

bool Tensor::ranked() const {
  return valid() && llvm::isa<mlir::RankedTensorType>(GraphImpl::valueOf(*this).getType());
}

std::vector<Dim> Tensor::dims() const {
  return valid() ? graph_->dimsOf(GraphImpl::valueOf(*this)) : std::vector<Dim>();
}

std::string Tensor::toString() const {
  return valid() ? graph_->typeText(GraphImpl::valueOf(*this)) : "invalid";
}

std::string Tensor::name() const {
  return valid() ? passes::labelOf(GraphImpl::valueOf(*this).getLoc()) : "";
}

std::ostream& operator<<(std::ostream& stream, const Tensor& tensor) {
  return stream << (tensor.valid() ? tensor.name() + ": " : "") << tensor.toString();
}

// --- Scope and TemporaryModel --------------------------------------------------------------------

Scope::~Scope() {
  if (graph_ != nullptr) {
    graph_->endScope(depth_);
  }
}

TemporaryModel::~TemporaryModel() {
  if (!folder_.empty()) {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
}

// --- Graph ---------------------------------------------------------------------------------------

Graph::Graph(std::string name, Mode mode)
    : impl_(std::make_shared<GraphImpl>(std::move(name), mode)) {}

const std::string& Graph::name() const { return impl_->name(); }

Mode Graph::mode() const { return impl_->mode(); }

Tensor Graph::input(const std::string& name, ElementType type, const std::vector<Dim>& dims,
                    std::source_location here) {
  return impl_->input(name, type, dims, here);
}

void Graph::output(const std::string& name, const Tensor& value, std::source_location here) {
  impl_->output(name, value, here);
}

Tensor Graph::constant(const HostTensor& value, const At& at) {
  return ConstantMaker(*impl_, at).copy(value.spec(), value.data(), value.byteSize());
}

Tensor Graph::constant(HostTensor&& value, const At& at) {
  return ConstantMaker(*impl_, at).take(std::move(value));
}

Tensor Graph::constantOf(ElementType type, const void* values, size_t count,
                         const std::vector<int64_t>& dims, const At& at) {
  return ConstantMaker(*impl_, at).copy({type, dims}, values, count * runtime::elementSize(type));
}

Tensor Graph::scalar(Scalar value, ElementType type, const At& at) {
  return ConstantMaker(*impl_, at).scalar(value, type);
}

Tensor Graph::weight(const std::vector<int64_t>& dims, const Initializer& initializer,
                     ElementType type, const At& at) {
  return ConstantMaker(*impl_, at, ConstantMaker::weightIn(mode()))
      .weight({type, dims}, initializer);
}

Tensor Graph::weight(const WeightFile& file, const std::string& name, const At& at) {
  At named = at;
  named.name = at.name.empty() && !impl_->isTaken(name) ? name : at.name;
  ConstantMaker maker(*impl_, named, ConstantMaker::weightIn(mode()));
  auto entry = file.find(name);
  return entry.ok() ? maker.view(entry->spec, entry->bytes, file.content_)
                    : maker.problem(std::string(entry.status().message()));
}

Tensor Graph::state(const HostTensor& first, const At& at) {
  return ConstantMaker(*impl_, at, ConstantMaker::Kind::kState)
      .copy(first.spec(), first.data(), first.byteSize());
}

Tensor Graph::state(const std::vector<int64_t>& dims, const Initializer& first, ElementType type,
                    const At& at) {
  return ConstantMaker(*impl_, at, ConstantMaker::Kind::kState).weight({type, dims}, first);
}

Tensor Graph::parameter(const std::vector<int64_t>& dims, const Initializer& first,
                        ElementType type, const At& at) {
  return ConstantMaker(*impl_, at, ConstantMaker::Kind::kParameter).weight({type, dims}, first);
}

std::vector<Tensor> Graph::parameters(absl::string_view prefix) const {
  std::vector<Tensor> parameters;
  for (mlir::Value value : impl_->parameters()) {
    Tensor parameter = impl_->tensorOf(value);
    if (absl::StartsWith(parameter.name(), prefix)) {
      parameters.push_back(std::move(parameter));
    }
  }
  return parameters;
}

void Graph::update(const Tensor& state, const Tensor& value, std::source_location here) {
  impl_->update(state, value, here);
}

void Graph::setFirstValues(const std::map<std::string, HostTensor, std::less<>>& values,
                           std::source_location here) {
  impl_->setFirstValues(values, here);
}

Scope Graph::scope(const std::string& name) { return impl_->scope(name); }

absl::Status Graph::status() const { return impl_->status(); }

absl::Status Graph::save(const std::string& path) {
  return impl_->save([&](mlir::ModuleOp module) { return passes::saveModel(module, path); });
}

absl::StatusOr<runtime::MemoryFile> Graph::saveToMemory() {
  GR_ASSIGN_OR_RETURN(runtime::MemoryFile file,
                      runtime::MemoryFile::create(absl::StrCat("graph '", name(), "'")));
  GR_RETURN_IF_ERROR(
      impl_->save([&](mlir::ModuleOp module) { return passes::saveModel(module, file); }));
  return file;
}

/// Finishes one graph after the other, and writes them while all are.
class ModelSaver {
 public:
  using Write = std::function<absl::Status(llvm::ArrayRef<mlir::ModuleOp>)>;

  ModelSaver(absl::Span<Graph* const> graphs, Write write)
      : graphs_(graphs), write_(std::move(write)) {}

  absl::Status save() {
    llvm::StringSet<> names;
    for (const Graph* graph : graphs_) {
      if (!names.insert(graph->name()).second) {
        return absl::InvalidArgumentError(absl::StrCat("two graphs of the model are called '",
                                                       graph->name(),
                                                       "', expected a name of its own for each"));
      }
    }
    return graphs_.empty() ? absl::InvalidArgumentError("a model needs at least one graph")
                           : saveFrom(0);
  }

 private:
  absl::Status saveFrom(size_t index) {
    if (index == graphs_.size()) {
      return write_(modules_);
    }
    Graph& graph = *graphs_[index];
    return graph.impl_->save([&](mlir::ModuleOp module) {
      mlir::func::FuncOp function = *passes::graphOf(module);
      const std::string name = function.getSymName().str();
      function.setSymName(graph.name());
      modules_.push_back(module);
      absl::Status saved = saveFrom(index + 1);
      function.setSymName(name);
      return saved;
    });
  }

  absl::Span<Graph* const> graphs_;
  Write write_;
  std::vector<mlir::ModuleOp> modules_;
};

absl::Status saveModel(absl::Span<Graph* const> graphs, const std::string& path) {
  return ModelSaver(graphs,
                    [&](llvm::ArrayRef<mlir::ModuleOp> modules) {
                      return passes::saveModel(modules, path);
                    })
      .save();
}

absl::StatusOr<runtime::MemoryFile> saveModelToMemory(absl::Span<Graph* const> graphs) {
  GR_ASSIGN_OR_RETURN(runtime::MemoryFile file, runtime::MemoryFile::create("a model of graphs"));
  absl::Status saved = ModelSaver(graphs, [&](llvm::ArrayRef<mlir::ModuleOp> modules) {
                         return passes::saveModel(modules, file);
                       }).save();
  if (!saved.ok()) {
    return saved;
  }
  return file;
}

absl::StatusOr<TemporaryModel> Graph::saveTemporary() {
  std::error_code error;
  std::string folder = (std::filesystem::temp_directory_path(error) / "graphrun-XXXXXX").string();
  if (error || mkdtemp(folder.data()) == nullptr) {
    return absl::UnavailableError(
        absl::StrCat("no temporary folder '", folder, "' for graph '", name(),
                     "': ", error ? error.message() : std::strerror(errno)));
  }
  TemporaryModel model(folder, folder + "/model.fb");
  absl::Status saved = save(model.path());
  if (!saved.ok()) {
    return saved;
  }
  return model;
}

}  // namespace graphrun::builder
