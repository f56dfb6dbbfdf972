// The C interface of the compile world, which libgraphrun-compiler exports.
#include <algorithm>
#include <cstdlib>
#include <new>
#include <set>
#include <string>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "devices/device_compiler.h"
#include "flatbuffers/flatbuffers.h"
#include "frontends/onnx/importer.h"
#include "frontends/onnx/weights_writer.h"
#include "llvm/Support/ErrorHandling.h"
#include "passes/device_hints.h"
#include "passes/passes.h"
#include "passes/pipelines.h"
#include "passes/serialization/model_io.h"
#include "placement/planner/calibration_set.h"
#include "placement/planner/context.h"
#include "placement/planner/cost_planner.h"
#include "placement/planner/model_check.h"
#include "placement/planner/partition_reader.h"
#include "placement/planner/placement_json.h"
#include "placement/planner/planner.h"
#include "placement/planner/training_model.h"
#include "runtime/base/status.h"
#include "runtime/compiler_loader/compiler_api.h"
#include "runtime/format/budget_verifier.h"
#include "runtime/format/checksum.h"
#include "runtime/format/plan_file.h"

namespace graphrun::compiler {
namespace {

/// At most so many warnings about one file.
constexpr size_t kMaxWarnings = 100;

absl::Span<const uint8_t> spanOf(GrBytes bytes) { return {bytes.data, bytes.size}; }

std::string textOf(GrBytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data), bytes.size};
}

void fill(GrBuffer* out, absl::Span<const uint8_t> bytes) {
  size_t room = (bytes.size() + 63) / 64 * 64;
  out->data = room == 0 ? nullptr : static_cast<uint8_t*>(std::aligned_alloc(64, room));
  if (room != 0 && out->data == nullptr) {
    throw std::bad_alloc();
  }
  std::copy(bytes.begin(), bytes.end(), out->data);
  out->size = bytes.size();
}

void fill(GrBuffer* out, absl::string_view text) {
  fill(out, absl::MakeConstSpan(reinterpret_cast<const uint8_t*>(text.data()), text.size()));
}

/// Runs `function` and puts its result, or its message, into `out`; no text where memory ran out.
template <typename Function>
int32_t answer(GrBuffer* out, Function function) {
  try {
    auto result = function();
    if (result.ok()) {
      fill(out, *result);
      return 0;
    }
    fill(out, result.status().message());
    return static_cast<int32_t>(result.status().code());
  } catch (const std::bad_alloc&) {
    return static_cast<int32_t>(absl::StatusCode::kUnavailable);
  }
}

/// LLVM would end the process where memory runs out.
void throwOutOfMemory(void*, const char*, bool) { throw std::bad_alloc(); }

absl::StatusOr<const format::PlanRequest*> requestOf(GrBytes bytes) {
  format::BudgetVerifier verifier(spanOf(bytes));
  if (!format::VerifyPlanRequestBuffer(verifier)) {
    return absl::InvalidArgumentError(
        absl::StrCat("the plan request is not a valid FlatBuffer", verifier.reason()));
  }
  return format::GetPlanRequest(bytes.data);
}

std::vector<uint8_t> writeResponse(const Planned& planned) {
  flatbuffers::FlatBufferBuilder builder;
  auto needed = builder.CreateVectorOfStrings(planned.neededInputs);
  builder.ForceVectorAlignment(planned.plan.size(), 1, 16);
  auto plan = builder.CreateVector(planned.plan);
  auto explanation = builder.CreateString(planned.explanationJson);
  auto remainder = builder.CreateVector(planned.remainder);
  auto inputs = builder.CreateVectorOfStrings(planned.remainderInputs);
  auto notes = builder.CreateVectorOfStrings(planned.notes);
  builder.Finish(
      format::CreatePlanResponse(builder, needed, plan, explanation, remainder, inputs, notes));
  return {builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize()};
}

/// The caller's store of machine code.
class CallerCode final : public runtime::CodeStore {
 public:
  explicit CallerCode(const GrPartition& task) : task_(task) {}

  std::optional<absl::Span<const uint8_t>> find(const std::string& name) override {
    GrBytes bytes{};
    if (task_.findCode(task_.context, name.c_str(), &bytes) != 0) {
      return std::nullopt;
    }
    return spanOf(bytes);
  }
  void store(const std::string& name, absl::Span<const uint8_t> code) override {
    task_.storeCode(task_.context, name.c_str(), {code.data(), code.size()});
  }

 private:
  const GrPartition& task_;
};

/// Returns a line for each part of the file that is not followed: declarations, annotations with a
/// problem.
std::string warnings(Context& context, mlir::ModuleOp module) {
  std::set<std::string> lines;
  for (const std::string& warning : context.takeWarnings()) {
    lines.insert(absl::StrCat("warning: ", warning, "\n"));
  }
  module.walk([&](mlir::Operation* op) {
    for (const passes::DeviceHint& hint : passes::deviceHintsOf(op->getLoc())) {
      if (!hint.problem.empty() && lines.size() < kMaxWarnings) {
        lines.insert(absl::StrCat("warning: device annotation '",
                                  absl::Utf8SafeCEscape(hint.name.str()), "' of configuration '",
                                  absl::Utf8SafeCEscape(hint.configuration.str()), "' of node '",
                                  absl::Utf8SafeCEscape(passes::labelOf(op->getLoc())),
                                  "' is not used: ", hint.problem.str(), "\n"));
      }
    }
  });
  return absl::StrJoin(lines, "");
}

int32_t importOnnxFile(const char* path, const char* outPath, GrBuffer* out) {
  return answer(out, [&]() -> absl::StatusOr<std::string> {
    Context context;
    GR_ASSIGN_OR_RETURN(auto module, frontends::importOnnx(context.mlir(), path));
    if (mlir::failed(passes::simplify(*module))) {
      return context.takeError(absl::StatusCode::kInvalidArgument,
                               absl::StrCat("model '", path, "' cannot be simplified"));
    }
    GR_RETURN_IF_ERROR(passes::saveModel(*module, outPath));
    return warnings(context, *module);
  });
}

int32_t plan(const GrModel* model, GrBytes request, GrBuffer* out) {
  return answer(out, [&]() -> absl::StatusOr<std::vector<uint8_t>> {
    GR_ASSIGN_OR_RETURN(const format::PlanRequest* asked, requestOf(request));
    GR_ASSIGN_OR_RETURN(auto file,
                        format::ModelFile::fromCheckedBytes(spanOf(model->bytes), model->name));
    uint64_t parts[2] = {file->hash(), format::checksumOf(spanOf(request))};
    uint64_t hash = format::checksumOf({reinterpret_cast<const uint8_t*>(parts), sizeof(parts)});
    GR_ASSIGN_OR_RETURN(Planned planned, planModel(*file, *asked, hash == 0 ? 1 : hash));
    return writeResponse(planned);
  });
}

int32_t compilePartition(const GrPartition* task, GrTuning* tuning, GrBuffer* out) {
  return answer(out, [&]() -> absl::StatusOr<std::vector<uint8_t>> {
    GR_ASSIGN_OR_RETURN(auto file, format::PlanFile::parse(spanOf(task->plan)));
    Context context;
    GR_ASSIGN_OR_RETURN(PartitionModule partition, readPartition(context, *file, *task));
    CallerCode code(*task);
    GR_ASSIGN_OR_RETURN(auto compiler, devices::createDeviceCompiler(partition.device.kind, &code));
    devices::Tuning times{textOf(tuning->known), tuning->budgetNanos,
                          static_cast<runtime::Numerics>(file->plan().numerics()),
                          static_cast<runtime::Precision>(file->plan().precision())};
    times.refused = textOf(tuning->refused);
    absl::StatusOr<std::vector<uint8_t>> executable = compiler->compile(
        partition.function, partition.device, task->fingerprint, partition.weightIndex, times);
    fill(&tuning->measured, times.timings);
    tuning->complete = times.complete ? 1 : 0;
    return executable;
  });
}

int32_t inspect(const GrModel* model, GrBytes request, GrBuffer* out) {
  return answer(out, [&]() -> absl::StatusOr<std::string> {
    GR_ASSIGN_OR_RETURN(const format::PlanRequest* asked, requestOf(request));
    GR_ASSIGN_OR_RETURN(auto file,
                        format::ModelFile::fromCheckedBytes(spanOf(model->bytes), model->name));
    return inspectModel(*file, *asked);
  });
}

int32_t annotateOnnxFile(const char* path, GrBytes explanation, const char* outPath,
                         GrBuffer* out) {
  return answer(out, [&]() -> absl::StatusOr<std::string> {
    absl::string_view json(reinterpret_cast<const char*>(explanation.data), explanation.size);
    GR_ASSIGN_OR_RETURN(frontends::NodePlacement placement, placementFromJson(json));
    return frontends::writePlacement(path, placement, outPath);
  });
}

int32_t placeCostFile(const GrCosts* costs, GrBuffer* out) {
  return answer(out, [&] { return placeCosts(*costs); });
}

int32_t costsOfModel(const GrModel* model, GrBytes request, GrBuffer* out) {
  return answer(out, [&]() -> absl::StatusOr<std::string> {
    GR_ASSIGN_OR_RETURN(const format::PlanRequest* asked, requestOf(request));
    GR_ASSIGN_OR_RETURN(auto file,
                        format::ModelFile::fromCheckedBytes(spanOf(model->bytes), model->name));
    return costsOf(*file, *asked);
  });
}

int32_t calibrationModel(uint32_t number, const char* outPath, GrBuffer* out) {
  return answer(out, [&] { return writeCalibrationModel(number, outPath); });
}

int32_t checkModelFile(const char* path, const char* const* shapes, uint64_t shapeCount,
                       uint8_t training, GrBuffer* out) {
  return answer(out, [&] {
    return checkModel(path, absl::MakeConstSpan(shapes, shapeCount), training != 0);
  });
}

int32_t trainingModelOf(const GrTraining* training, const char* outPath, GrBuffer* out) {
  return answer(out, [&]() -> absl::StatusOr<std::string> {
    runtime::Recipe recipe;
    recipe.model = training->model;
    recipe.loss = {static_cast<runtime::LossKind>(training->loss), training->fromLogits != 0};
    recipe.optimizer = {static_cast<runtime::OptimizerKind>(training->optimizer),
                        training->learningRate,
                        training->momentum,
                        training->nesterov != 0,
                        training->beta1,
                        training->beta2,
                        training->epsilon,
                        training->weightDecay};
    for (uint8_t metric : absl::MakeConstSpan(training->metrics, training->metricCount)) {
      recipe.metrics.push_back(static_cast<runtime::MetricKind>(metric));
    }
    return writeTrainingModel(recipe, static_cast<runtime::ElementType>(training->target), outPath);
  });
}

int32_t writeOnnxWeights(const char* path, const GrTensor* tensors, uint64_t count,
                         const char* outPath, GrBuffer* out) {
  return answer(out, [&]() -> absl::StatusOr<std::string> {
    std::vector<frontends::WeightValue> values;
    for (const GrTensor& tensor : absl::MakeConstSpan(tensors, count)) {
      values.push_back({tensor.name,
                        {static_cast<runtime::ElementType>(tensor.element),
                         std::vector<int64_t>(tensor.dims, tensor.dims + tensor.rank)},
                        spanOf(tensor.bytes)});
    }
    GR_RETURN_IF_ERROR(frontends::writeWeights(path, values, outPath));
    return "";
  });
}

void release(GrBuffer* buffer) {
  std::free(buffer->data);
  buffer->data = nullptr;
  buffer->size = 0;
}

constexpr GrCompilerApi kApi = {
    GR_COMPILER_API_VERSION, importOnnxFile,   plan,         compilePartition, inspect,
    annotateOnnxFile,        placeCostFile,    costsOfModel, calibrationModel, checkModelFile,
    trainingModelOf,         writeOnnxWeights, release};

}  // namespace
}  // namespace graphrun::compiler

extern "C" const GrCompilerApi* grCompilerApi() {
  static const bool isInstalled = [] {
    llvm::install_bad_alloc_error_handler(graphrun::compiler::throwOutOfMemory);
    return true;
  }();
  return isInstalled ? &graphrun::compiler::kApi : nullptr;
}
