#include "runtime/session/session.h"

#include <utility>

#include "devices/device.h"
#include "runtime/base/clock.h"
#include "runtime/base/status.h"
#include "runtime/session/error_domain.h"
#include "runtime/session/not_finite.h"
#include "runtime/session/session_plans.h"
#include "runtime/session/session_runs.h"
#include "runtime/session/session_setup.h"
#include "runtime/session/session_states.h"
#include "runtime/session/session_statistics.h"

namespace graphrun::runtime {

struct Session::Impl {
  explicit Impl(const SessionOptions& options)
      : setup(options),
        plans(setup, statistics,
              [this](ActivePlan& plan, absl::Span<const StageInput> values) {
                return runs.runOnce(plan, values);
              }),
        runs(setup, statistics, plans) {}

  absl::Status open(const std::string& modelPath, const std::string& called) {
    const int64_t begin = nowNanos();
    GR_RETURN_IF_ERROR(setup.open(modelPath, called));
    plans.open();
    statistics.noteOpened(setup.model.imported, begin);
    return absl::OkStatus();
  }

  SessionSetup setup;
  SessionStatistics statistics;
  SessionPlans plans;  // goes before the coordinator and with it their edges' network
  SessionRuns runs;
  std::unique_ptr<RunQueue> queue = std::make_unique<RunQueue>(
      [this](const TensorMap& given, RunQueue::Begun begun) {
        return runs.runByName("", given, begun);
      },
      setup.options.maxWaitingRuns);
};

std::shared_ptr<DeviceSet> makeDeviceSet() {
  return std::make_shared<DeviceSet>(devices::createDevice);
}

Session::Session(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Session::~Session() {
  impl_->queue.reset();
  impl_->plans.learnAll();
}

absl::StatusOr<std::unique_ptr<Session>> Session::create(const std::string& modelPath,
                                                         const SessionOptions& options) {
  return opened(std::make_unique<Impl>(options), modelPath, modelPath);
}

absl::StatusOr<std::unique_ptr<Session>> Session::create(absl::StatusOr<MemoryFile> model,
                                                         const SessionOptions& options) {
  if (!model.ok()) {
    return modelError(model.status());
  }
  auto impl = std::make_unique<Impl>(options);
  const MemoryFile& file = impl->setup.inMemory.emplace(*std::move(model));
  return opened(std::move(impl), file.path(), file.name());
}

absl::StatusOr<std::unique_ptr<Session>> Session::opened(std::unique_ptr<Impl> impl,
                                                         const std::string& modelPath,
                                                         const std::string& called) {
  GR_RETURN_IF_ERROR(impl->open(modelPath, called));
  return std::unique_ptr<Session>(new Session(std::move(impl)));
}

const std::vector<ModelPort>& Session::inputs() const { return impl_->setup.graphs[0].inputs; }
const std::vector<ModelPort>& Session::outputs() const { return impl_->setup.graphs[0].outputs; }

std::vector<std::string> Session::graphs() const {
  std::vector<std::string> names;
  for (const ModelGraph& graph : impl_->setup.graphs) {
    names.push_back(graph.name);
  }
  return names;
}

absl::Status Session::run(absl::Span<const NamedTensor> inputs, std::vector<NamedTensor>& outputs) {
  return run("", inputs, outputs);
}

absl::Status Session::run(const std::string& graph, absl::Span<const NamedTensor> inputs,
                          std::vector<NamedTensor>& outputs) {
  std::vector<StageInput> values;
  for (const NamedTensor& input : inputs) {
    values.push_back({input.name, &input.tensor, nullptr});
  }
  return impl_->runs.run(graph, values, outputs, [] {});
}

absl::StatusOr<TensorMap> Session::run(const TensorMap& inputs) { return run("", inputs); }

absl::StatusOr<TensorMap> Session::run(const std::string& graph, const TensorMap& inputs) {
  return impl_->runs.runByName(graph, inputs, [] {});
}

absl::StatusOr<TensorMap> Session::states() {
  Flights::Lock lock = impl_->runs.alone();
  return SessionStates(impl_->setup, impl_->plans.stateWorkers()).get();
}

absl::Status Session::setStates(const TensorMap& values) {
  Flights::Lock lock = impl_->runs.alone();
  return SessionStates(impl_->setup, impl_->plans.stateWorkers()).set(values);
}

absl::Status Session::revertLastRun() {
  Flights::Lock lock = impl_->runs.alone();
  GR_RETURN_IF_ERROR(SessionStates(impl_->setup, impl_->plans.stateWorkers()).checkAreHere());
  if (const ActivePlan* last = impl_->plans.last()) {
    last->own->revertStates();
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> Session::firstNotFinite(const std::string& graph,
                                                    const TensorMap& inputs) {
  GR_ASSIGN_OR_RETURN(TensorMap states, this->states());
  return runtime::firstNotFinite(impl_->setup.model.path, impl_->setup.options, graph, inputs,
                                 states);
}

std::future<absl::StatusOr<TensorMap>> Session::runAsync(TensorMap inputs) {
  return impl_->queue->add(std::move(inputs));
}

absl::Status Session::prepare(absl::Span<const NamedSpec> inputs) {
  Flights::Lock lock = impl_->runs.alone();
  const ModelGraph& graph = impl_->setup.graphs[0];
  GR_ASSIGN_OR_RETURN(std::vector<NamedSpec> shapes, graph.inOrder(inputs));
  return impl_->plans.planFor({{graph.name}}, plannedInputs(shapes), {}).status();
}

std::optional<HostTensor> Session::makeInput(const NamedSpec& input) const {
  const Flights::Lock lock = impl_->runs.lock();
  if (const ActivePlan* last = impl_->plans.last()) {
    auto endpoint = last->own->inputs().find(input.name);
    if (endpoint != last->own->inputs().end() && endpoint->second.spec == input.spec) {
      return last->own->makeTensor(endpoint->second);
    }
  }
  return std::nullopt;
}

absl::StatusOr<std::string> Session::explain(absl::Span<const NamedSpec> inputs) {
  Flights::Lock lock = impl_->runs.alone();
  const ModelGraph& graph = impl_->setup.graphs[0];
  GR_ASSIGN_OR_RETURN(std::vector<NamedSpec> shapes, graph.inOrder(inputs));
  // What was measured since a plan was made counts for what is told of it now.
  GR_ASSIGN_OR_RETURN(FoundPlan found,
                      impl_->plans.find({{graph.name}}, plannedInputs(shapes),
                                        {.anew = true, .explain = &impl_->setup.options.explain}));
  GR_RETURN_IF_ERROR(impl_->plans.checkPlaceable(found));
  return found.explanation;
}

absl::StatusOr<std::string> Session::costs(absl::Span<const NamedSpec> inputs) {
  Flights::Lock lock = impl_->runs.alone();
  const Stage stage{{impl_->setup.graphs[0].name}};
  GR_ASSIGN_OR_RETURN(std::vector<NamedSpec> shapes, impl_->setup.graphs[0].inOrder(inputs));
  std::vector<PlannedInput> planned = plannedInputs(shapes);
  GR_ASSIGN_OR_RETURN(FoundPlan found,  // tells what is wrong
                      impl_->plans.find(stage, planned, {.runs = false}));
  GR_RETURN_IF_ERROR(impl_->plans.checkPlaceable(found));
  GR_ASSIGN_OR_RETURN(auto devices, impl_->setup.foundDevices(false));
  std::string request = withCosts(
      planRequest(impl_->setup.options, impl_->setup.cluster.get(), stage, planned, devices),
      *impl_->setup.costs);
  auto bytes =
      absl::MakeConstSpan(reinterpret_cast<const uint8_t*>(request.data()), request.size());
  absl::StatusOr<std::string> text =
      impl_->setup.compiler->costs(impl_->setup.model.model->bytes(), impl_->setup.name, bytes);
  return text.ok() ? text : planError(text.status());
}

std::vector<LearnedCosts> Session::learned() {
  Flights::Lock lock = impl_->runs.alone();
  return impl_->setup.costs->learned();
}

absl::StatusOr<std::string> Session::inspect(absl::Span<const NamedSpec> inputs) {
  if (absl::Status checked = impl_->setup.model.model->verifyWeights(); !checked.ok()) {
    return inDomain(checked, ErrorDomain::kModel);
  }
  if (!inputs.empty()) {
    GR_RETURN_IF_ERROR(checkInputs(impl_->setup.graphs[0].inputs, inputs));
  }
  std::string request = planRequest(impl_->setup.options, nullptr, {}, plannedInputs(inputs), {});
  auto bytes =
      absl::MakeConstSpan(reinterpret_cast<const uint8_t*>(request.data()), request.size());
  absl::StatusOr<std::string> text =
      impl_->setup.compiler->inspect(impl_->setup.model.model->bytes(), impl_->setup.name, bytes);
  GR_RETURN_IF_ERROR(modelError(text.status()));
  return text;
}

SessionStats Session::stats() const {
  SessionStats stats = impl_->statistics.read();
  stats.compilerLoaded = impl_->setup.loader.loaded();
  return stats;
}

StepTimes Session::times() {
  Flights::Lock lock = impl_->runs.alone();
  const ActivePlan* last = impl_->plans.last();
  return last == nullptr ? StepTimes() : timesOf(*last->found.plan, impl_->plans.tracesOf(*last));
}

uint64_t Session::parameterCount() const {
  uint64_t count = 0;
  for (size_t i = 0; i < impl_->setup.model.model->weightCount(); ++i) {
    count += static_cast<uint64_t>(impl_->setup.model.model->weightSpec(i).elementCount());
  }
  return count;
}

uint64_t Session::weightBytes() const {
  uint64_t bytes = 0;
  for (size_t i = 0; i < impl_->setup.model.model->weightCount(); ++i) {
    bytes += impl_->setup.model.model->model().weights()->Get(static_cast<uint32_t>(i))->length();
  }
  return bytes;
}

absl::Status Session::writeTrace(const std::string& path) {
  Flights::Lock lock = impl_->runs.alone();
  return impl_->runs.writeTrace(path);
}

absl::StatusOr<std::string> importModel(const std::string& onnxPath, const std::string& outPath,
                                        Compiler* compiler) {
  CompilerLoader loader;
  absl::StatusOr<std::string> warnings =
      (compiler != nullptr ? compiler : &loader)->importOnnx(onnxPath, outPath);
  GR_RETURN_IF_ERROR(modelError(warnings.status()));
  return warnings;
}

absl::StatusOr<std::string> annotateModel(const std::string& onnxPath,
                                          const std::string& explanation,
                                          const std::string& outPath, Compiler* compiler) {
  CompilerLoader loader;
  absl::StatusOr<std::string> warnings =
      (compiler != nullptr ? compiler : &loader)->annotateOnnx(onnxPath, explanation, outPath);
  if (warnings.ok()) {
    return warnings;
  }
  return absl::IsFailedPrecondition(warnings.status())
             ? inDomain(warnings.status(), ErrorDomain::kInput)
             : modelError(warnings.status());
}

absl::StatusOr<std::string> calibrationModel(uint32_t number, const std::string& outPath,
                                             Compiler* compiler) {
  CompilerLoader loader;
  return (compiler != nullptr ? compiler : &loader)->calibrationModel(number, outPath);
}

absl::StatusOr<std::string> placeCosts(const GrCosts& costs, Compiler* compiler) {
  CompilerLoader loader;
  if (compiler == nullptr) {
    GR_RETURN_IF_ERROR(loader.check());
    compiler = &loader;
  }
  absl::StatusOr<std::string> answer = compiler->placeCosts(costs);
  switch (answer.status().code()) {
    case absl::StatusCode::kInvalidArgument:
      return inDomain(answer.status(), ErrorDomain::kModel);
    case absl::StatusCode::kNotFound:
      return inDomain(answer.status(), ErrorDomain::kInput);
    case absl::StatusCode::kFailedPrecondition:
      return inDomain(answer.status(), ErrorDomain::kPlacement);
    default:
      return answer;
  }
}

}  // namespace graphrun::runtime
