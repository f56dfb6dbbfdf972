#include "placement/planner/planner.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "devices/device_compiler.h"
#include "frontends/onnx/deferred.h"
#include "ir/builders.h"
#include "ir/dialect.h"
#include "llvm/Support/JSON.h"
#include "passes/collectives.h"
#include "passes/cut_stages.h"
#include "passes/intern_strings.h"
#include "passes/partition.h"
#include "passes/passes.h"
#include "passes/pins.h"
#include "passes/pipelines.h"
#include "passes/serialization/model_io.h"
#include "passes/serialization/type_codec.h"
#include "passes/shapes.h"
#include "passes/states.h"
#include "passes/weights.h"
#include "placement/explain/explain.h"
#include "placement/formats/cost_file.h"
#include "placement/from_ir/annotations.h"
#include "placement/planner/annotate_placement.h"
#include "placement/planner/context.h"
#include "placement/planner/device_compilers.h"
#include "placement/planner/dumps.h"
#include "placement/planner/explanation.h"
#include "placement/planner/known_costs.h"
#include "placement/planner/place_model.h"
#include "placement/planner/plan_writer.h"
#include "placement/planner/remainder.h"
#include "placement/planner/request_cluster.h"
#include "placement/problem/placement_result.h"
#include "runtime/base/numerics.h"
#include "runtime/base/status.h"
#include "runtime/base/units.h"
#include "runtime/format/weight_table.h"

namespace graphrun::compiler {
namespace {

/// Memory with the alignment that constants need.
struct alignas(16) Block {
  uint8_t bytes[16];
};

/// The elements that the request gives for an input.
absl::StatusOr<mlir::ElementsAttr> elementsOf(Context& context, const format::NamedShape& input) {
  mlir::Type element =
      passes::elementTypeOf(static_cast<runtime::ElementType>(input.element()), &context.mlir());
  llvm::ArrayRef<int64_t> dims;
  if (input.dims() != nullptr) {
    dims = {input.dims()->data(), input.dims()->size()};
  }
  auto fail = [&](size_t count, const char* what) {
    return absl::InvalidArgumentError(
        absl::StrCat("input '", input.name()->str(), "': ", count, what, " are not its elements"));
  };
  if (element && ir::isStrings(element)) {
    llvm::SmallVector<llvm::StringRef> strings;
    for (size_t i = 0; i < format::sizeOf(input.strings()); ++i) {
      const flatbuffers::String* string = input.strings()->Get(i);
      strings.emplace_back(string->c_str(), string->size());
      if (!llvm::json::isUTF8(strings.back())) {
        return absl::InvalidArgumentError(absl::StrCat("input '", input.name()->str(),
                                                       "': element ", i,
                                                       " is not valid UTF-8, as strings must be"));
      }
    }
    auto type = mlir::RankedTensorType::get(dims, element);
    if (type.getNumElements() != static_cast<int64_t>(strings.size())) {
      return fail(strings.size(), " strings");
    }
    return mlir::ElementsAttr(ir::makeStrings(type, strings));
  }
  llvm::ArrayRef<char> bytes;
  if (input.elements() != nullptr) {
    bytes = {reinterpret_cast<const char*>(input.elements()->data()), input.elements()->size()};
  }
  mlir::ElementsAttr elements =
      element ? passes::elementsFrom(mlir::RankedTensorType::get(dims, element), bytes) : nullptr;
  return elements ? absl::StatusOr<mlir::ElementsAttr>(elements) : fail(bytes.size(), " bytes");
}

absl::StatusOr<std::vector<passes::InputShape>> shapesOf(Context& context,
                                                         const format::PlanRequest& request) {
  std::vector<passes::InputShape> shapes;
  for (size_t i = 0; request.inputs() != nullptr && i < request.inputs()->size(); ++i) {
    const format::NamedShape* input = request.inputs()->Get(i);
    passes::InputShape shape{
        input->name()->str(),
        {},
        nullptr,
        passes::elementTypeOf(static_cast<runtime::ElementType>(input->element()),
                              &context.mlir())};
    if (input->dims() != nullptr) {
      shape.dims.assign(input->dims()->begin(), input->dims()->end());
    }
    if (input->has_elements()) {
      GR_ASSIGN_OR_RETURN(shape.elements, elementsOf(context, *input));
    }
    shapes.push_back(std::move(shape));
  }
  return shapes;
}

/// Returns whether products of bytes are worth making: whether all CPUs of the cluster do them
/// well, since groups are formed before nodes are placed. Workers that said nothing are this
/// machine's, or have not been reached: it is asked for them.
bool multipliesBytes(const format::PlanRequest& request, const placement::Cluster& cluster) {
  auto compiler = devices::createDeviceCompiler(runtime::kHostKind);
  const bool here = compiler.ok() && (*compiler)->multipliesBytes();
  auto isOn = [&](const placement::Device& device) {
    const std::string& worker = cluster.workers[static_cast<size_t>(device.worker)].name;
    for (uint32_t i = 0; i < format::sizeOf(request.found()); ++i) {
      const format::FoundDevice& found = *request.found()->Get(i);
      if (found.kind()->str() == runtime::kHostKind && found.worker()->str() == worker) {
        return found.multiplies_bytes();
      }
    }
    return here;
  };
  std::vector<placement::Device> cpus;
  std::copy_if(cluster.devices.begin(), cluster.devices.end(), std::back_inserter(cpus),
               [](const placement::Device& device) { return device.kind.onHostCores; });
  return cpus.empty() ? here : std::all_of(cpus.begin(), cpus.end(), isOn);
}

/// The graph that the request is about: the model's, or what is left of it.
absl::StatusOr<mlir::OwningOpRef<mlir::ModuleOp>> graphOf(Context& context,
                                                          const format::ModelFile& model,
                                                          const format::PlanRequest& request,
                                                          std::vector<Block>& storage) {
  if (request.remainder() == nullptr) {
    return context.load(model, format::textOf(request.graph()));
  }
  storage.resize(request.remainder()->size() / sizeof(Block) + 1);
  std::memcpy(storage.data(), request.remainder()->data(), request.remainder()->size());
  return readRemainder(context, model, {storage.front().bytes, request.remainder()->size()});
}

/// Pins states to the devices that have them.
void pinStates(mlir::func::FuncOp function, const format::PlanRequest& request,
               const placement::Cluster& cluster) {
  llvm::StringMap<std::string> homes;
  for (uint32_t i = 0; i < format::sizeOf(request.state_homes()); ++i) {
    const format::Pin& home = *request.state_homes()->Get(i);
    homes[home.nodes()->str()] = home.device()->str();
  }
  for (auto state : function.getOps<ir::StateOp>()) {
    auto home = homes.find(state.getName());
    if (home != homes.end() && cluster.findDevice(home->second)) {
      passes::setPin(state, {home->second, "the state is there"});
    }
  }
}

/// A graph that values of a run decide on is planned in parts, and a part that fails could not undo
/// the updates of another. InvalidArgument.
absl::Status checkNoUpdates(mlir::func::FuncOp function) {
  for (auto update : function.getOps<ir::UpdateOp>()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "state '", update.getState().getDefiningOp<ir::StateOp>().getName().str(),
        "' is updated by a graph in which values of a run decide shapes or branches, expected one "
        "that is known as a whole from the shapes of its inputs"));
  }
  return absl::OkStatus();
}

/// Returns what the user asked for in place of the model's annotations; "" if nothing.
std::string overruling(const format::PlanRequest& request) {
  std::string strategy(format::textOf(request.strategy()));
  return strategy.ends_with(".json") || strategy == "single"
             ? absl::StrCat("--placement ", strategy)
             : "";
}

/// Makes the shapes of `module` static, cutting it where that needs elements, then simplifies and
/// groups what is to run now, its strings numbered and what must run on one device pinned there;
/// a deterministic plan is simplified before that, as if nothing were pinned.
/// Fills what `planned` says of the rest, and `annotations`.
absl::StatusOr<mlir::func::FuncOp> prepare(Context& context, const format::ModelFile& model,
                                           mlir::ModuleOp module,
                                           const format::PlanRequest& request,
                                           const placement::Cluster& cluster, Planned& planned,
                                           passes::InternedStrings& strings,
                                           std::vector<placement::AnnotationReport>& annotations) {
  GR_ASSIGN_OR_RETURN(std::vector<passes::InputShape> shapes, shapesOf(context, request));
  auto failure = [&] {
    return context.takeError(absl::StatusCode::kInvalidArgument,
                             "the model cannot be prepared for these inputs");
  };
  auto function = passes::graphOf(module);
  if (mlir::failed(function)) {
    return failure();
  }
  if (mlir::failed(passes::checkStates(*function))) {
    return failure();
  }
  if (request.remainder() == nullptr) {
    GR_RETURN_IF_ERROR(placement::checkAnnotationRules(*function, cluster));
    std::vector<std::string> dumps;
    dumps.reserve(format::sizeOf(request.dumps()));
    for (size_t i = 0; i < format::sizeOf(request.dumps()); ++i) {
      dumps.push_back(request.dumps()->Get(static_cast<uint32_t>(i))->str());
    }
    GR_RETURN_IF_ERROR(exposeValues(*function, dumps));  // what is left has them among its results
  }
  if (mlir::failed(passes::specialize(*function, shapes, frontends::resolveDeferred)) ||
      mlir::failed(passes::differentiate(module))) {
    return failure();
  }
  const absl::Status whole = checkNoUpdates(*function);
  mlir::FailureOr<passes::Stages> stages = passes::cutAtData(*function);
  if (mlir::failed(stages)) {
    return failure();
  }
  planned.neededInputs = stages->neededInputs;
  if (!planned.neededInputs.empty()) {
    return *function;
  }
  if (stages->rest) {
    GR_RETURN_IF_ERROR(whole);
    GR_ASSIGN_OR_RETURN(planned.remainder, writeRemainder(model, *passes::graphOf(*stages->rest)));
    planned.remainderInputs = stages->restInputs;
  }
  // Forms and folded scales round otherwise than their parts do: no pin may keep one from being
  // made.
  if (isDeterministic(request) && mlir::failed(passes::simplify(module))) {
    return failure();
  }
  pinStates(*function, request, cluster);
  annotations = placement::pinByAnnotations(*function, cluster, overruling(request));
  strings = passes::internStrings(*function);
  passes::GroupOptions options{request.fusion(),
                               static_cast<runtime::Precision>(request.precision()),
                               multipliesBytes(request, cluster)};
  if (mlir::failed(passes::simplifyAndGroup(module, options))) {
    return failure();
  }
  return *function;
}

passes::PartitionOptions partitionOptions(const placement::Cluster& cluster) {
  passes::PartitionOptions options;
  options.home = kHomeDevice;
  for (const placement::Device& device : cluster.devices) {
    if (cluster.isInClient(device.worker) && !device.detached) {
      options.localDevices.push_back(device.name);
    }
  }
  return options;
}

/// A model before its nodes are placed. Not movable: its parts refer to each other.
struct Prepared {
  std::vector<Block> storage;  // outlives the context, which refers to it
  Context context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  placement::Cluster cluster;
  passes::InternedStrings strings;
  std::vector<placement::AnnotationReport> annotations;
  Planned planned;  // only this when there are needed inputs
  mlir::func::FuncOp function;
};

/// Marks the rules as checked: the remainder of a model has been checked against them with its
/// first stage.
void markRules(const format::PlanRequest& request, mlir::ModuleOp module,
               placement::Cluster& cluster) {
  if (auto function = passes::graphOf(module);
      request.remainder() == nullptr && mlir::succeeded(function)) {
    return placement::markKnownRules(*function, cluster);
  }
  for (std::vector<placement::PinRule>* rules : {&cluster.pins, &cluster.forbids}) {
    for (placement::PinRule& rule : *rules) {
      rule.known = true;
    }
  }
}

/// A line for each rule that decides nothing, as what it names was folded: while the model was
/// imported, or, where `graph` is all of it, by now.
void noteIdleRules(const placement::Cluster& cluster, const placement::CostGraph* graph,
                   std::vector<std::string>& notes) {
  for (const std::vector<placement::PinRule>* rules : {&cluster.pins, &cluster.forbids}) {
    for (const placement::PinRule& rule : *rules) {
      const bool isIdle = rule.folded || (graph != nullptr && graph->nodesOf(rule).empty());
      if (!rule.annotation && isIdle) {
        notes.push_back(absl::StrCat(rule.source, ": ", passes::foldedText(rule.nodes)));
      }
    }
  }
}

absl::Status prepareModel(const format::ModelFile& model, const format::PlanRequest& request,
                          Prepared& prepared) {
  GR_ASSIGN_OR_RETURN(prepared.module, graphOf(prepared.context, model, request, prepared.storage));
  GR_ASSIGN_OR_RETURN(prepared.cluster, clusterOf(request));
  markRules(request, *prepared.module, prepared.cluster);
  GR_ASSIGN_OR_RETURN(prepared.function,
                      prepare(prepared.context, model, *prepared.module, request, prepared.cluster,
                              prepared.planned, prepared.strings, prepared.annotations));
  return absl::OkStatus();
}

ExplanationOptions explanationOptions(const format::PlanRequest& request) {
  ExplanationOptions options{request.main_choices(), {}};
  for (size_t i = 0; i < format::sizeOf(request.explained()); ++i) {
    options.nodes.push_back(request.explained()->Get(i)->str());
  }
  return options;
}

std::string recomputedText(const placement::RecomputeReport& report) {
  return absl::StrCat("memory limits: ", report.nodes, " operations run again in each step, which ",
                      "takes ", runtime::formatDuration(report.extraNs),
                      " (predicted); without that the fullest device needs ",
                      runtime::formatBytes(report.peakBytesWithout));
}

/// NotFound for a node that is to be explained and was folded.
absl::Status checkExplained(mlir::func::FuncOp function, const placement::CostGraph& graph,
                            const std::vector<std::string>& nodes) {
  for (const std::string& name : nodes) {
    placement::PinRule rule;
    rule.nodes = name;
    if (graph.nodesOf(rule).empty() && passes::isFolded(function, name)) {
      return absl::NotFoundError(absl::StrCat("--op: ", passes::foldedText(name)));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Planned> planModel(const format::ModelFile& model,
                                  const format::PlanRequest& request, uint64_t hash) {
  Prepared prepared;
  GR_RETURN_IF_ERROR(prepareModel(model, request, prepared));
  Planned& planned = prepared.planned;
  if (!planned.neededInputs.empty()) {
    return std::move(planned);
  }
  GR_ASSIGN_OR_RETURN(std::unique_ptr<Placed> placed,
                      placeModel(prepared.function, request, prepared.cluster));
  const placement::Cluster& cluster = placed->cluster;
  const placement::PlacementResult& result = placed->result;
  annotateDevices(placed->graph, cluster, result.placement);
  mlir::FailureOr<passes::Partitioning> parts = mlir::failure();
  if (mlir::succeeded(passes::lowerCollectives(prepared.function, collectiveLibraries(cluster)))) {
    parts = passes::partition(prepared.function, partitionOptions(cluster));
  }
  if (mlir::failed(parts)) {
    return prepared.context.takeError(absl::StatusCode::kInternal,
                                      "the placed graph cannot be cut");
  }
  GR_ASSIGN_OR_RETURN(
      planned.plan,
      writePlan({model, hash, cluster, *parts, placed->graph, placed->problem->simulator, result,
                 placed->promisedNs, static_cast<uint8_t>(request.splits()), request.single(),
                 prepared.strings, request.numerics(), request.precision(),
                 placed->problem->objective == placement::Objective::kThroughput}));
  if (std::string note = placement::unusedAnnotations(prepared.annotations); !note.empty()) {
    planned.notes.push_back(std::move(note));
  }
  llvm::append_range(planned.notes, prepared.context.takeWarnings());
  if (request.remainder() == nullptr) {
    noteIdleRules(cluster, planned.remainder.empty() ? &placed->graph.graph : nullptr,
                  planned.notes);
  }
  if (placed->recomputed.nodes > 0) {
    planned.notes.push_back(recomputedText(placed->recomputed));
  }
  if (request.explains()) {
    ExplanationOptions options = explanationOptions(request);
    GR_RETURN_IF_ERROR(checkExplained(prepared.function, placed->graph.graph, options.nodes));
    options.candidates = std::move(placed->candidates);
    GR_ASSIGN_OR_RETURN(placement::Explanation explanation,
                        explainWith(*placed->problem, result, options));
    if (static_cast<runtime::Objective>(request.objective()) != explanation.goal) {
      explanation.goal = placement::Objective::kThroughput;  // of steps that wait for each other
      explanation.periodNs = explanation.latencyNs();
      explanation.clientPeriodNs = 0;
      for (placement::StrategyReport& report : explanation.strategies) {
        report.periodNs = report.stepNs;
      }
    }
    explanation.splits = std::move(placed->splits);
    explanation.recomputed = placed->recomputed;
    explanation.singleByRuns = request.single();
    explanation.annotations = std::move(prepared.annotations);
    explanation.complete = planned.remainder.empty();
    planned.explanationJson = explanationText(explanation, request.details());
  }
  return std::move(planned);
}

absl::StatusOr<std::string> costsOf(const format::ModelFile& model,
                                    const format::PlanRequest& request) {
  Prepared prepared;
  GR_RETURN_IF_ERROR(prepareModel(model, request, prepared));
  if (!prepared.planned.neededInputs.empty()) {
    return "";
  }
  Placed placed;
  GR_RETURN_IF_ERROR(addCosts(prepared.function, request, prepared.cluster, placed));
  return placement::writeCostFile(*placed.problem);
}

absl::StatusOr<std::string> inspectModel(const format::ModelFile& model,
                                         const format::PlanRequest& request) {
  Context context;
  GR_ASSIGN_OR_RETURN(auto module, context.load(model, format::textOf(request.graph())));
  auto function = passes::graphOf(*module);
  GR_ASSIGN_OR_RETURN(std::vector<passes::InputShape> shapes, shapesOf(context, request));
  if (mlir::failed(function) ||
      (!shapes.empty() &&
       mlir::failed(passes::specialize(*function, shapes, frontends::resolveDeferred)))) {
    return context.takeError(absl::StatusCode::kInvalidArgument, "the model cannot be inspected");
  }
  std::map<std::string, std::pair<int64_t, int64_t>> ops;  // name -> count, flops
  int64_t flops = 0;
  int64_t bytes = 0;
  bool known = true;
  function->walk([&](ir::GrOpInterface op) {
    ir::OpCost cost = op.cost();
    known &= ir::hasStaticShapes(op);
    flops += cost.flops;
    bytes += cost.bytesRead + cost.bytesWritten;
    auto& [count, opFlops] = ops[op->getName().getStringRef().str()];
    ++count;
    opFlops += cost.flops;
  });
  nlohmann::ordered_json json;
  json["flops"] = known ? nlohmann::ordered_json(flops) : nullptr;
  json["bytes"] = known ? nlohmann::ordered_json(bytes) : nullptr;
  json["ops"] = nlohmann::ordered_json::object();
  for (const auto& [name, entry] : ops) {
    json["ops"][name] = {{"count", entry.first}, {"flops", entry.second}};
  }
  return json.dump(2);
}

}  // namespace graphrun::compiler
