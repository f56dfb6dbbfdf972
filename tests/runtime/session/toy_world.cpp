#include "tests/runtime/session/toy_world.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <regex>
#include <thread>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/clock.h"
#include "runtime/base/objective.h"
#include "runtime/base/status.h"
#include "runtime/format/checksum.h"
#include "runtime/format/compiler_api_generated.h"
#include "runtime/format/model_file.h"
#include "runtime/format/model_writer.h"
#include "runtime/format/plan_file.h"

namespace graphrun::testing {
namespace {

using format::AttributeT;
using format::ElementType;
using format::GraphT;
using format::OperationT;

std::unique_ptr<format::TensorTypeT> vectorType(int64_t elements) {
  auto type = std::make_unique<format::TensorTypeT>();
  type->element = ElementType::F32;
  type->dims = {elements};
  if (elements < 0) {
    type->symbolic = {"n"};
  }
  return type;
}

/// Builds a graph over values of one type.
class ToyGraph {
 public:
  explicit ToyGraph(int64_t elements) {
    graph->name = "toy";
    graph->types.push_back(vectorType(elements));
    graph->types.push_back(vectorType(1));
    graph->body = std::make_unique<format::RegionT>();
    if (elements < 0) {
      graph->symbols = {"n"};
    }
  }
  uint32_t value(uint32_t type = 0) {
    graph->value_types.push_back(type);
    return static_cast<uint32_t>(graph->value_types.size() - 1);
  }
  uint32_t input(const std::string& name) {
    graph->input_names.push_back(name);
    graph->body->arguments.push_back(value());
    return graph->body->arguments.back();
  }
  OperationT& op(const std::string& name, const std::string& label, std::vector<uint32_t> operands,
                 std::vector<uint32_t> results) {
    auto [known, isNew] = names_.emplace(name, names_.size());
    if (isNew) {
      graph->op_names.push_back(name);
    }
    auto operation = std::make_unique<OperationT>();
    operation->name = static_cast<uint32_t>(known->second);
    operation->label = label;
    operation->operands = std::move(operands);
    operation->results = std::move(results);
    graph->body->operations.push_back(std::move(operation));
    return *graph->body->operations.back();
  }
  template <typename Value>
  static void attribute(OperationT& operation, const char* name, Value value) {
    auto attribute = std::make_unique<AttributeT>();
    attribute->name = name;
    attribute->value.Set(std::move(value));
    operation.attributes.push_back(std::move(attribute));
  }
  uint32_t weight(uint32_t index) {
    uint32_t result = value(1);
    format::WeightT weight;
    weight.index = index;
    attribute(op("toy.weight", absl::StrCat("w", index), {}, {result}), "weight", weight);
    return result;
  }
  void edge(const char* name, uint32_t id, std::vector<uint32_t> operands,
            std::vector<uint32_t> results) {
    format::IntT number;
    number.value = id;
    attribute(op(name, absl::StrCat(name, " ", id), std::move(operands), std::move(results)),
              "edge", number);
  }
  void output(const std::vector<std::string>& names, std::vector<uint32_t> values) {
    graph->output_names = names;
    op("gr.return", "return", std::move(values), {});
  }

  std::unique_ptr<GraphT> graph = std::make_unique<GraphT>();

 private:
  std::map<std::string, size_t> names_;
};

/// Deals a chain of operations out to devices.
class ToyPlanner {
 public:
  ToyPlanner(const format::ModelFile& model, int64_t elements, bool hasNodes)
      : model_(model), elements_(elements), hasNodes_(hasNodes) {
    plan_.weights = std::vector<std::unique_ptr<format::WeightEntryT>>();
    for (const format::WeightEntry* entry : *model.model().weights()) {
      plan_.weights.emplace_back(entry->UnPack());
    }
  }

  void addDevice(const std::string& worker, const std::string& kind, uint32_t index) {
    if (plan_.workers.empty() || plan_.workers.back()->name != worker) {
      plan_.workers.push_back(std::make_unique<format::PlanWorkerT>());
      plan_.workers.back()->name = worker;
    }
    auto device = std::make_unique<format::PlanDeviceT>();
    device->name = absl::StrCat(worker, "/", kind, ":", index);
    device->worker = static_cast<uint32_t>(plan_.workers.size() - 1);
    device->kind = kind;
    device->index = index;
    plan_.devices.push_back(std::move(device));
    parts_.emplace_back(elements_);
  }

  /// Steps are to follow each other without a gap.
  void serveMany() { isForMany_ = true; }

  /// A step of so many nanoseconds on parts of devices.
  void promise(uint64_t ns) { plan_.promised_step_ns = ns; }

  /// Makes the device that was added last a part of another.
  void splitLast() { plan_.devices.back()->part_of = "another"; }

  std::vector<uint8_t> make() {
    // The client, device 0, reads x; with others about, these do the work.
    uint32_t value = parts_[0].input("x");
    uint32_t on = 0;
    uint32_t step = 0;
    uint32_t weight = 0;
    for (const format::Operation* operation : *model_.graph().body()->operations()) {
      std::string name = model_.graph().op_names()->Get(operation->name())->str();
      if (!absl::StartsWith(name, "toy.") || name == "toy.weight") {
        continue;
      }
      if (name == "toy.collective") {
        addCollective(operation->label()->str());
        continue;
      }
      auto workers = static_cast<uint32_t>(parts_.size() - 1);
      uint32_t device = workers == 0 ? 0 : 1 + step++ % workers;
      value = move(value, on, device);
      on = device;
      std::vector<uint32_t> operands{value};
      if (name == "toy.add") {
        used_[device].push_back(weight);
        operands.push_back(parts_[device].weight(weight++));
      } else if (name == "toy.ten") {
        uint32_t constant = addConstant(10);
        used_[device].push_back(constant);
        operands.push_back(parts_[device].weight(constant));
      }
      value = parts_[device].value();
      parts_[device].op(name, operation->label()->str(), operands, {value});
    }
    value = move(value, on, 0);
    return finish(value);
  }

 private:
  uint32_t move(uint32_t value, uint32_t from, uint32_t to) {
    if (from == to) {
      return value;
    }
    auto edge = std::make_unique<format::EdgeT>();
    edge->id = static_cast<uint32_t>(plan_.edges.size());
    edge->name = absl::StrCat("v", edge->id);
    edge->source = from;
    edge->target = to;
    edge->type = vectorType(elements_);
    bool same = plan_.devices[from]->worker == plan_.devices[to]->worker;
    edge->mode = !same        ? format::TransferMode::Eager
                 : isForMany_ ? format::TransferMode::Buffered
                              : format::TransferMode::InProcess;
    edge->slots = isForMany_ ? runtime::kMostStepsInFlight : edge->slots;
    edge->bytes = static_cast<uint64_t>(elements_) * sizeof(float);
    parts_[from].edge("gr.send", edge->id, {value}, {});
    uint32_t arrived = parts_[to].value();
    parts_[to].edge("gr.recv", edge->id, {}, {arrived});
    plan_.edges.push_back(std::move(edge));
    return arrived;
  }

  /// All devices but the client's wait for each other here.
  void addCollective(const std::string& label) {
    if (plan_.communicators.empty()) {
      plan_.communicators.push_back(std::make_unique<format::CommunicatorT>());
      for (uint32_t device = 1; device < parts_.size(); ++device) {
        plan_.communicators[0]->devices.push_back(device);
      }
    }
    for (uint32_t device = 1; device < parts_.size(); ++device) {
      parts_[device].op("toy.collective", label, {}, {});
    }
  }

  /// A weight whose data lies in the plan.
  uint32_t addConstant(float value) {
    constants_.resize(runtime::alignTensor(constants_.size()));
    auto entry = std::make_unique<format::WeightEntryT>();
    entry->name = absl::StrCat("constant", constants_.size());
    entry->type = vectorType(1);
    entry->offset = constants_.size();
    entry->length = sizeof value;
    auto* bytes = reinterpret_cast<const uint8_t*>(&value);
    entry->checksum = format::checksumOf({bytes, sizeof value});
    entry->in_plan = true;
    constants_.insert(constants_.end(), bytes, bytes + sizeof value);
    plan_.weights.push_back(std::move(entry));
    return static_cast<uint32_t>(plan_.weights.size() - 1);
  }

  std::vector<uint8_t> finish(uint32_t result) {
    for (uint32_t i = 0; i < parts_.size(); ++i) {
      if (i == 0) {
        parts_[0].output({"y"}, {result});
      } else if (parts_[i].graph->body->operations.empty()) {
        continue;
      } else {
        parts_[i].output({}, {});
      }
      auto partition = std::make_unique<format::PartitionT>();
      partition->device = i;
      if (hasNodes_) {
        addNodes(*partition, *parts_[i].graph);
      }
      partition->graph = std::move(parts_[i].graph);
      partition->weights = used_[i];
      plan_.partitions.push_back(std::move(partition));
    }
    plan_.model_name = "toy";
    plan_.constants = constants_;
    plan_.hash = 1;
    flatbuffers::FlatBufferBuilder draft;
    draft.Finish(format::Plan::Pack(draft, &plan_), "GRPL");
    plan_.hash =
        1 | format::checksumOf(absl::MakeConstSpan(draft.GetBufferPointer(), draft.GetSize()));
    flatbuffers::FlatBufferBuilder builder;
    builder.Finish(format::Plan::Pack(builder, &plan_), "GRPL");
    return {builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize()};
  }

  static void addNodes(format::PartitionT& partition, const GraphT& graph) {
    for (const auto& operation : graph.body->operations) {
      partition.nodes.push_back(std::make_unique<format::PlanNodeT>());
      partition.nodes.back()->label = operation->label;
    }
  }

  const format::ModelFile& model_;
  int64_t elements_;
  bool hasNodes_;
  bool isForMany_ = false;
  format::PlanT plan_;
  std::vector<uint8_t> constants_;
  std::deque<ToyGraph> parts_;
  std::map<uint32_t, std::vector<uint32_t>> used_;
};

std::vector<std::string> workerNames(const std::string& yaml) {
  std::vector<std::string> names;
  std::regex pattern("name: *([a-z0-9]+)");
  for (std::sregex_iterator it(yaml.begin(), yaml.end(), pattern), end; it != end; ++it) {
    names.push_back((*it)[1]);
  }
  return names;
}

constexpr char kMagic[] = "TOYEXEC1";

/// A partition as an executable, and back.
std::vector<uint8_t> packPartition(const format::Plan& plan, uint32_t index) {
  std::unique_ptr<format::PartitionT> partition(plan.partitions()->Get(index)->UnPack());
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(format::Partition::Pack(builder, partition.get()));
  std::vector<uint8_t> bytes(8 + builder.GetSize());
  std::memcpy(bytes.data(), kMagic, 8);
  std::memcpy(bytes.data() + 8, builder.GetBufferPointer(), builder.GetSize());
  return bytes;
}

struct Kernel {
  enum class Kind { kAdd, kSlow, kFail, kCopy } kind = Kind::kCopy;
  uint32_t from = 0;
  uint32_t weight = 0;
  uint32_t to = 0;
  int64_t count = 0;

  static int run(void* state, void* const* buffers) {
    auto& kernel = *static_cast<Kernel*>(state);
    auto* from = static_cast<const float*>(buffers[kernel.from]);
    auto* to = static_cast<float*>(buffers[kernel.to]);
    float add = kernel.kind == Kind::kAdd ? static_cast<float*>(buffers[kernel.weight])[0] : 0;
    if (kernel.kind == Kind::kFail) {
      return 7;
    }
    if (kernel.kind == Kind::kSlow) {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    for (int64_t i = 0; i < kernel.count; ++i) {
      to[i] = from[i] + add;
    }
    return 0;
  }
};

/// Where members of a communicator of this process wait for each other.
struct Hall {
  std::mutex mutex;
  std::condition_variable changed;
  uint32_t joined = 0;
  std::map<uint32_t, uint64_t> arrivals;  ///< so often, by member

  /// The hall of that name; it stays.
  static Hall& of(const std::string& communicatorId) {
    static std::mutex mutex;
    static auto* const kHalls = new std::map<std::string, Hall>();
    std::lock_guard lock(mutex);
    return (*kHalls)[communicatorId];
  }
};

/// A program's membership.
struct Membership {
  Hall* hall = nullptr;
  devices::CommunicatorRank rank;
  std::atomic<int64_t> deadlineNanos{0};
  std::atomic<bool> isInterrupted{false};

  static int run(void* state, void* const*) { return static_cast<Membership*>(state)->meet(); }
  int meet() {
    std::unique_lock lock(hall->mutex);
    const uint64_t mine = ++hall->arrivals[rank.member];
    hall->changed.notify_all();
    auto areAll = [&] {
      return hall->arrivals.size() == rank.members &&
             std::all_of(hall->arrivals.begin(), hall->arrivals.end(),
                         [&](const auto& arrival) { return arrival.second >= mine; });
    };
    while (!areAll()) {
      if (isInterrupted.load() || runtime::nowNanos() > deadlineNanos.load()) {
        return isInterrupted.load() ? 8 : 9;
      }
      hall->changed.wait_for(lock, std::chrono::milliseconds(1));
    }
    return 0;
  }
};

class ToyProgram : public devices::Program, public devices::CollectiveProgram {
 public:
  absl::Status build(const format::Graph& graph, devices::WeightSource& weights) {
    const format::Region& body = *graph.body();
    for (uint32_t value = 0; value < graph.value_types()->size(); ++value) {
      elements_.push_back(graph.types()->Get(graph.value_types()->Get(value))->dims()->Get(0));
      addBuffer(elements_.back());
    }
    for (uint32_t i = 0; body.arguments() != nullptr && i < body.arguments()->size(); ++i) {
      uint32_t value = body.arguments()->Get(i);
      bindings_.inputs.push_back({graph.input_names()->Get(i)->str(), value, spec(value)});
    }
    for (const format::Operation* operation : *body.operations()) {
      GR_RETURN_IF_ERROR(add(graph, *operation, weights));
    }
    return absl::OkStatus();
  }

  absl::Span<const devices::OpRecord> records() const override { return records_; }
  absl::Span<void*> buffers() override { return absl::MakeSpan(buffers_); }
  const devices::ProgramBindings& bindings() const override { return bindings_; }
  absl::Span<const std::string> labels() const override { return labels_; }
  devices::ProgramMemory memory() const override { return {64 * buffers_.size(), 0, {}, {}}; }
  absl::Status errorMessage(const devices::OpRecord&, int code) const override {
    return absl::OutOfRangeError(absl::StrCat("toy kernel returned ", code));
  }
  absl::Span<const uint32_t> communicators() const override { return communicators_; }
  absl::Status join(const devices::CommunicatorRank& rank) override {
    membership_.rank = rank;
    membership_.hall = &Hall::of(rank.id);
    std::lock_guard lock(membership_.hall->mutex);
    ++membership_.hall->joined;
    return absl::OkStatus();
  }
  absl::StatusOr<bool> hasJoined(uint32_t) override {
    std::lock_guard lock(membership_.hall->mutex);
    return membership_.hall->joined == membership_.rank.members;
  }
  void setDeadline(int64_t nanos) override { membership_.deadlineNanos.store(nanos); }
  void interrupt() override { membership_.isInterrupted.store(true); }
  void beginShutdown() override {}
  devices::CollectiveProgram* collectives() override { return this; }

 private:
  struct Free {
    void operator()(void* p) const { std::free(p); }
  };

  uint32_t addBuffer(int64_t elements) {
    size_t bytes = runtime::alignTensor(static_cast<size_t>(elements) * sizeof(float) + 1);
    memory_.emplace_back(std::aligned_alloc(64, bytes));
    buffers_.push_back(memory_.back().get());
    return static_cast<uint32_t>(buffers_.size() - 1);
  }
  runtime::TensorSpec spec(uint32_t value) const {
    return {runtime::ElementType::kF32, {elements_[value]}};
  }
  void record(const format::Operation& operation, devices::OpRecord record) {
    record.label = static_cast<uint32_t>(labels_.size());
    labels_.push_back(operation.label()->str());
    records_.push_back(record);
  }

  absl::Status add(const format::Graph& graph, const format::Operation& operation,
                   devices::WeightSource& weights) {
    std::string name = graph.op_names()->Get(operation.name())->str();
    if (name == "toy.weight") {
      const format::Weight* weight = operation.attributes()->Get(0)->value_as_Weight();
      GR_ASSIGN_OR_RETURN(devices::Weight given, weights.weight(weight->index()));
      absl::Span<const uint8_t> bytes = given.bytes;
      std::memcpy(buffers_[operation.results()->Get(0)], bytes.data(), sizeof(float));
      return absl::OkStatus();
    }
    if (name == "gr.send" || name == "gr.recv") {
      bool send = name == "gr.send";
      auto edge = static_cast<uint32_t>(*format::edgeOf(operation));
      uint32_t value = (send ? operation.operands() : operation.results())->Get(0);
      record(operation,
             {nullptr, nullptr, 0, value, edge,
              send ? devices::OpRecord::Kind::kSend : devices::OpRecord::Kind::kReceive});
      bindings_.edges.push_back({edge, value, spec(value), send});
      return absl::OkStatus();
    }
    if (name == "gr.return") {
      for (uint32_t i = 0; operation.operands() && i < operation.operands()->size(); ++i) {
        uint32_t value = operation.operands()->Get(i);
        uint32_t out = addBuffer(0);
        compute(operation, {Kernel::Kind::kCopy, value, 0, out, elements_[value]});
        bindings_.outputs.push_back({graph.output_names()->Get(i)->str(), out, spec(value)});
      }
      return absl::OkStatus();
    }
    if (name == "toy.collective") {
      communicators_ = {0};
      record(operation,
             {&Membership::run, &membership_, 0, 0, 0, devices::OpRecord::Kind::kCompute});
      return absl::OkStatus();
    }
    uint32_t from = operation.operands()->Get(0);
    bool adds = name == "toy.add" || name == "toy.ten";
    compute(operation, {adds                 ? Kernel::Kind::kAdd
                        : name == "toy.slow" ? Kernel::Kind::kSlow
                                             : Kernel::Kind::kFail,
                        from, adds ? operation.operands()->Get(1) : 0, operation.results()->Get(0),
                        elements_[from]});
    return absl::OkStatus();
  }
  void compute(const format::Operation& operation, Kernel kernel) {
    kernels_.push_back(kernel);
    record(operation, {&Kernel::run, &kernels_.back(), 0, 0, 0, devices::OpRecord::Kind::kCompute});
  }

  std::vector<int64_t> elements_;
  std::vector<std::unique_ptr<void, Free>> memory_;
  std::deque<Kernel> kernels_;
  std::vector<void*> buffers_;
  std::vector<devices::OpRecord> records_;
  devices::ProgramBindings bindings_;
  std::vector<std::string> labels_;
  std::vector<uint32_t> communicators_;
  Membership membership_;
};

class ToyDevice : public devices::Device, public devices::Collectives {
 public:
  explicit ToyDevice(devices::DeviceDescription description)
      : description_(std::move(description)) {}
  const devices::DeviceDescription& description() const override { return description_; }
  std::string fingerprint() const override { return "toy"; }
  absl::StatusOr<void*> allocate(size_t bytes) override {
    return std::aligned_alloc(64, runtime::alignTensor(bytes));
  }
  void deallocate(void* memory) override { std::free(memory); }
  devices::Collectives* collectives() override { return this; }
  absl::StatusOr<std::string> newCommunicatorId() override {
    static std::atomic<int> made{0};
    return absl::StrCat("hall ", ++made);
  }
  absl::StatusOr<std::unique_ptr<devices::Program>> load(absl::Span<const uint8_t> executable,
                                                         devices::WeightSource& weights) override {
    if (executable.size() < 8 || std::memcmp(executable.data(), kMagic, 8) != 0) {
      return absl::InvalidArgumentError("not a toy executable");
    }
    auto program = std::make_unique<ToyProgram>();
    auto* partition = flatbuffers::GetRoot<format::Partition>(executable.data() + 8);
    GR_RETURN_IF_ERROR(program->build(*partition->graph(), weights));
    return program;
  }
  absl::Status attachThread() override { return absl::OkStatus(); }

 private:
  devices::DeviceDescription description_;
};

}  // namespace

void writeToyModel(const std::string& path, const std::vector<std::string>& ops) {
  ToyGraph toy(-1);
  static std::deque<float> numbers;
  std::vector<format::WeightSource> weights;
  uint32_t value = toy.input("x");
  for (size_t i = 0; i < ops.size(); ++i) {
    std::vector<uint32_t> operands{value};
    if (ops[i] == "toy.collective") {
      toy.op(ops[i], absl::StrCat("node", i), {}, {});
      continue;
    }
    if (ops[i] == "toy.add") {
      numbers.push_back(static_cast<float>(weights.size() + 1));
      auto index = static_cast<uint32_t>(weights.size());
      weights.push_back(
          {absl::StrCat("weight", index),
           {runtime::ElementType::kF32, {1}},
           false,
           absl::MakeConstSpan(reinterpret_cast<const uint8_t*>(&numbers.back()), sizeof(float))});
      operands.push_back(toy.weight(index));
    }
    value = toy.value();
    toy.op(ops[i], absl::StrCat("node", i), operands, {value});
  }
  toy.output({"y"}, {value});
  absl::Status status = format::writeModelFile(
      path, "toy", weights, {}, [&](flatbuffers::FlatBufferBuilder& builder) {
        return format::Graph::Pack(builder, toy.graph.get());
      });
  if (!status.ok()) {
    std::fprintf(stderr, "%s\n", std::string(status.message()).c_str());
    std::abort();
  }
}

absl::StatusOr<std::string> ToyCompiler::importOnnx(const std::string& path,
                                                    const std::string& outPath) {
  ++imports;
  if (absl::StrContains(path, "broken")) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": node 'a': op Foo is not known"));
  }
  writeToyModel(outPath, {"toy.add", "toy.add", "toy.add"});
  return std::string();
}

absl::StatusOr<std::vector<uint8_t>> ToyCompiler::plan(absl::Span<const uint8_t> model,
                                                       const std::string& modelName,
                                                       absl::Span<const uint8_t> request) {
  ++plans;
  auto* wanted = flatbuffers::GetRoot<format::PlanRequest>(request.data());
  if (refuses || (wanted->strategy() != nullptr && wanted->strategy()->str() == "big")) {
    return absl::ResourceExhaustedError("the model needs 9 GiB, client/cpu:0 has 1 GiB");
  }
  GR_ASSIGN_OR_RETURN(auto file, format::ModelFile::fromBytes(model, modelName));
  bool isTried = wanted->splits() == format::SplitChoice::Tried;
  if (isTried && parts == Parts::kRefused) {
    return absl::ResourceExhaustedError("the parts need more than there is");
  }
  ToyPlanner planner(*file, wanted->inputs()->Get(0)->dims()->Get(0), guesses);
  if (static_cast<runtime::Objective>(wanted->objective()) == runtime::Objective::kThroughput) {
    planner.serveMany();
  }
  std::string yaml = wanted->cluster_yaml() == nullptr ? "" : wanted->cluster_yaml()->str();
  bool isBroken = isTried && parts == Parts::kBroken;
  planner.addDevice("client", isBroken ? "abacus" : yaml.empty() ? "cpu" : "host", 0);
  if (parts != Parts::kNone && !isTried) {
    planner.promise(1);
  } else if (isTried) {
    planner.splitLast();
  }
  for (const std::string& worker : workerNames(yaml)) {
    planner.addDevice(worker, brokenPlans ? "abacus" : "toy", 0);
    if (absl::StartsWith(worker, "two")) {
      planner.addDevice(worker, "toy", 1);
    }
  }
  format::PlanResponseT response;
  response.plan = planner.make();
  if (wanted->explains()) {
    response.explanation_json = "{\"toy\": true}";
  }
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(format::PlanResponse::Pack(builder, &response));
  return std::vector<uint8_t>(builder.GetBufferPointer(),
                              builder.GetBufferPointer() + builder.GetSize());
}

absl::StatusOr<runtime::CompiledPartition> ToyCompiler::compilePartition(
    const runtime::PartitionTask& task, runtime::ReadWeight) {
  ++compiles;
  {
    std::lock_guard lock(mutex_);
    lastTimings_ = std::string(task.timings);
  }
  return runtime::CompiledPartition{packPartition(*format::GetPlan(task.plan.data()), task.index),
                                    absl::StrCat(compiles.load()),
                                    tunesItself || task.tuneNanos > 0};
}

absl::StatusOr<std::unique_ptr<devices::Device>> makeToyDevice(
    const devices::DeviceDescription& description) {
  if (description.kind == "abacus") {
    return absl::NotFoundError("no abacus is here");
  }
  return std::make_unique<ToyDevice>(description);
}

}  // namespace graphrun::testing
