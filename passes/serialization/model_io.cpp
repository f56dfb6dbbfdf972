// Model files from and to modules.
#include "passes/serialization/model_io.h"

#include "absl/strings/str_cat.h"
#include "passes/passes.h"
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

/// `target` is where it goes, `name` what messages call that.
template <typename Target>
absl::Status save(mlir::ModuleOp module, Target& target, const std::string& name) {
  mlir::FailureOr<mlir::func::FuncOp> func = graphOf(module);
  if (mlir::failed(func)) {
    return absl::InvalidArgumentError(
        absl::StrCat("model '", name, "' cannot be written: the module is not one graph"));
  }
  // Once to learn the weights and whether it can be stored at all, once into the file's buffer.
  WeightTable weights;
  flatbuffers::FlatBufferBuilder trial;
  GR_RETURN_IF_ERROR(runtime::annotate(exportGraph(*func, trial, weights).status(),
                                       absl::StrCat("model '", name, "' cannot be written")));
  std::vector<format::WeightSource> sources;
  for (const WeightTable::Entry& entry : weights.entries()) {
    sources.push_back({entry.name, entry.spec, entry.splat, entry.data});
  }
  return format::writeModelFile(target, kProducer, sources, weights.strings(),
                                [&](flatbuffers::FlatBufferBuilder& builder) {
                                  return *exportGraph(*func, builder, weights);
                                });
}

}  // namespace

absl::Status saveModel(mlir::ModuleOp module, const std::string& path) {
  return save(module, path, path);
}

absl::Status saveModel(mlir::ModuleOp module, runtime::MemoryFile& file) {
  return save(module, file, file.name());
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
