// Model files from and to modules.
#include "passes/serialization/model_io.h"

#include "absl/strings/str_cat.h"
#include "ir/dialect.h"
#include "llvm/ADT/StringMap.h"
#include "passes/passes.h"
#include "passes/serialization/type_codec.h"
#include "runtime/base/status.h"
#include "runtime/format/model_file.h"
#include "runtime/format/model_writer.h"

namespace graphrun::passes {
namespace {

constexpr char kProducer[] = "graphrun 0.1";

absl::StatusOr<WeightSourceView::Weight> weightOf(const format::ModelFile& file, uint32_t index) {
  GR_ASSIGN_OR_RETURN(absl::Span<const uint8_t> data, file.weight(index));
  const format::WeightEntry& entry = *file.model().weights()->Get(index);
  return WeightSourceView::Weight{entry.name()->str(), file.weightSpec(index), entry.splat(), data};
}

/// The first values of the states of several graphs.
class FirstValues {
 public:
  /// InvalidArgument for a state of another type, or that begins with another value, than one of
  /// its name before it.
  absl::Status add(mlir::func::FuncOp function) {
    for (auto state : function.getOps<ir::StateOp>()) {
      auto [found, isNew] = values_.try_emplace(state.getName(), state.getInit());
      if (!isNew && !areEqual(found->second, state.getInit())) {
        return absl::InvalidArgumentError(absl::StrCat(
            "state '", state.getName().str(), "' has another type or first value in graph '",
            function.getName().str(), "' than before, expected the same: it is one tensor"));
      }
    }
    return absl::OkStatus();
  }

 private:
  static bool areEqual(mlir::ElementsAttr a, mlir::ElementsAttr b) {
    auto typeOf = [](mlir::ElementsAttr value) {
      mlir::ShapedType type = value.getShapedType();
      return runtime::TensorSpec{elementTypeOf(type.getElementType()), type.getShape().vec()};
    };
    if (a == b || typeOf(a) != typeOf(b)) {
      return a == b;
    }
    std::optional<ElementBytes> first = bytesOf(a);
    std::optional<ElementBytes> second = bytesOf(b);
    return first && second && first->splat == second->splat && first->bytes == second->bytes;
  }

  llvm::StringMap<mlir::ElementsAttr> values_;
};

/// `target` is where it goes, `name` what messages call that.
template <typename Target>
absl::Status save(llvm::ArrayRef<mlir::ModuleOp> modules, Target& target, const std::string& name) {
  const std::string context = absl::StrCat("model '", name, "' cannot be written");
  std::vector<mlir::func::FuncOp> functions;
  // Once to learn the weights and whether it can be stored at all, once into the file's buffer.
  WeightTable weights;
  FirstValues states;
  for (mlir::ModuleOp module : modules) {
    mlir::FailureOr<mlir::func::FuncOp> func = graphOf(module);
    if (mlir::failed(func)) {
      return absl::InvalidArgumentError(absl::StrCat(context, ": the module is not one graph"));
    }
    flatbuffers::FlatBufferBuilder trial;
    GR_RETURN_IF_ERROR(runtime::annotate(exportGraph(*func, trial, weights).status(), context));
    GR_RETURN_IF_ERROR(runtime::annotate(states.add(*func), context));
    functions.push_back(*func);
  }
  std::vector<format::WeightSource> sources;
  for (const WeightTable::Entry& entry : weights.entries()) {
    sources.push_back({entry.name, entry.spec, entry.splat, entry.data});
  }
  auto exporter = [&](mlir::func::FuncOp function) {
    return [&, function](flatbuffers::FlatBufferBuilder& builder) {
      return *exportGraph(function, builder, weights);
    };
  };
  std::vector<std::function<flatbuffers::Offset<format::Graph>(flatbuffers::FlatBufferBuilder&)>>
      exporters;
  for (mlir::func::FuncOp function : functions) {
    exporters.emplace_back(exporter(function));
  }
  const std::vector<format::BuildGraph> graphs(exporters.begin(), exporters.end());
  return format::writeModelFile(target, kProducer, sources, weights.strings(), graphs.front(),
                                absl::MakeConstSpan(graphs).subspan(1));
}

}  // namespace

absl::Status saveModel(llvm::ArrayRef<mlir::ModuleOp> modules, const std::string& path) {
  return save(modules, path, path);
}

absl::Status saveModel(llvm::ArrayRef<mlir::ModuleOp> modules, runtime::MemoryFile& file) {
  return save(modules, file, file.name());
}

absl::StatusOr<mlir::OwningOpRef<mlir::ModuleOp>> loadModel(const std::string& path,
                                                            mlir::MLIRContext& context) {
  GR_ASSIGN_OR_RETURN(std::shared_ptr<const format::ModelFile> file, format::ModelFile::open(path));
  WeightSourceView weights{file->weightCount(),
                           [&](uint32_t index) { return weightOf(*file, index); },
                           file->model().strings(), file};
  absl::StatusOr<mlir::OwningOpRef<mlir::ModuleOp>> module =
      importGraph(file->graph(), weights, context);
  if (!module.ok()) {
    return runtime::annotate(module.status(), absl::StrCat("model '", path, "'"));
  }
  return module;
}

}  // namespace graphrun::passes
