#include "tests/runtime/format/samples.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <new>
#include <stdexcept>

#include "runtime/format/checksum.h"
#include "runtime/format/model_file.h"

namespace graphrun::format {
namespace {

constexpr float kWeight[6] = {1.0F, 2.0F, 3.0F, 4.0F, 5.0F, 6.0F};
constexpr float kBias[1] = {0.5F};

template <typename T>
absl::Span<const uint8_t> bytesOf(const T& array) {
  return {reinterpret_cast<const uint8_t*>(&array), sizeof(array)};
}

template <typename T>
std::unique_ptr<AttributeT> attribute(const std::string& name, T value) {
  auto result = std::make_unique<AttributeT>();
  result->name = name;
  result->value.Set(std::move(value));
  return result;
}

template <typename T, typename Value>
std::unique_ptr<AttributeT> attributeOf(const std::string& name, Value value) {
  T holder;
  holder.value = std::move(value);
  return attribute(name, std::move(holder));
}

std::unique_ptr<AttributeT> weightAttribute(const std::string& name, uint32_t index) {
  WeightT weight;
  weight.index = index;
  return attribute(name, weight);
}

std::unique_ptr<TensorTypeT> tensorType(ElementType element, std::vector<int64_t> dims) {
  auto type = std::make_unique<TensorTypeT>();
  type->element = element;
  type->dims = std::move(dims);
  return type;
}

std::unique_ptr<OperationT> operation(uint32_t name, std::vector<uint32_t> operands,
                                      std::vector<uint32_t> results) {
  auto result = std::make_unique<OperationT>();
  result->name = name;
  result->operands = std::move(operands);
  result->results = std::move(results);
  return result;
}

std::unique_ptr<RegionT> branch(std::vector<uint32_t> yields) {
  auto region = std::make_unique<RegionT>();
  region->operations.push_back(operation(2, std::move(yields), {}));
  return region;
}

void addAttributes(OperationT& conv) {
  conv.attributes.push_back(weightAttribute("weight", 0));
  conv.attributes.push_back(weightAttribute("bias", 1));
  conv.attributes.push_back(attributeOf<IntT>("groups", 2));
  conv.attributes.push_back(attributeOf<FloatT>("alpha", 0.25));
  conv.attributes.push_back(attributeOf<BoolT>("ceil", true));
  conv.attributes.push_back(attributeOf<StringT>("pads", std::string("same")));
  conv.attributes.push_back(attributeOf<IntsT>("strides", std::vector<int64_t>{1, 2}));
  conv.attributes.push_back(attributeOf<FloatsT>("scales", std::vector<double>{1.5}));
  conv.attributes.push_back(attributeOf<BoolsT>("flags", std::vector<bool>{true, false}));
  conv.attributes.push_back(attributeOf<StringsT>("names", std::vector<std::string>{"a", "b"}));
  conv.attributes.push_back(attributeOf<TypeT>("to", tensorType(ElementType::F16, {})));
}

std::unique_ptr<WeightEntryT> weightEntry(const WeightSource& source, uint64_t offset) {
  auto entry = std::make_unique<WeightEntryT>();
  entry->name = source.name;
  entry->type = tensorType(static_cast<ElementType>(source.spec.type), source.spec.dims);
  entry->splat = source.splat;
  entry->offset = offset;
  entry->length = source.data.size();
  entry->checksum = checksumOf(source.data);
  return entry;
}

// w and twin at 0, bias at 64.
std::vector<std::unique_ptr<WeightEntryT>> weightTable() {
  std::vector<std::unique_ptr<WeightEntryT>> table;
  uint64_t offsets[] = {0, 64, 0};
  std::vector<WeightSource> sources = sampleWeights();
  for (size_t i = 0; i < sources.size(); ++i) {
    table.push_back(weightEntry(sources[i], offsets[i]));
  }
  return table;
}

constexpr uint64_t kSectionBytes = 128;

// x (argument) or a received value -> op -> sent or returned.
std::unique_ptr<PartitionT> partition(uint32_t device, int receives, int sends) {
  auto result = std::make_unique<PartitionT>();
  result->device = device;
  result->graph = std::make_unique<GraphT>();
  GraphT& graph = *result->graph;
  graph.op_names = {"gr.relu", "gr.send", "gr.recv", "gr.return"};
  graph.types.push_back(tensorType(ElementType::F32, {2, 2}));
  graph.value_types = {0, 0};
  graph.body = std::make_unique<RegionT>();
  if (receives >= 0) {
    graph.body->operations.push_back(operation(2, {}, {0}));
    graph.body->operations.back()->attributes.push_back(attributeOf<IntT>("edge", receives));
  } else {
    graph.body->arguments = {0};
    graph.input_names = {"x"};
  }
  graph.body->operations.push_back(operation(0, {0}, {1}));
  graph.body->operations.back()->attributes.push_back(weightAttribute("slope", 1));
  result->weights = {1};
  if (sends >= 0) {
    graph.body->operations.push_back(operation(1, {1}, {}));
    graph.body->operations.back()->attributes.push_back(attributeOf<IntT>("edge", sends));
    graph.body->operations.push_back(operation(3, {}, {}));
  } else {
    graph.body->operations.push_back(operation(3, {1}, {}));
    graph.output_names = {"y"};
  }
  auto node = std::make_unique<PlanNodeT>();
  node->label = "n" + std::to_string(device);
  node->members = {"inner"};
  node->predicted_ns = 77;
  result->nodes.push_back(std::move(node));
  return result;
}

void addDevice(PlanT& plan, const std::string& name, uint32_t worker, uint32_t index) {
  auto device = std::make_unique<PlanDeviceT>();
  device->name = name;
  device->worker = worker;
  device->kind = "cpu";
  device->index = index;
  device->cores = {index};
  plan.devices.push_back(std::move(device));
}

void addEdge(PlanT& plan, uint32_t source, uint32_t target, TransferMode mode) {
  auto edge = std::make_unique<EdgeT>();
  edge->id = static_cast<uint32_t>(plan.edges.size());
  edge->name = "edge value";
  edge->source = source;
  edge->target = target;
  edge->type = tensorType(ElementType::F32, {2, 2});
  edge->bytes = 16;
  edge->mode = mode;
  plan.edges.push_back(std::move(edge));
}

}  // namespace

AlignedBytes::AlignedBytes(absl::Span<const uint8_t> bytes) : size_(bytes.size()) {
  void* memory = nullptr;
  if (posix_memalign(&memory, 64, size_) != 0) {
    throw std::bad_alloc();
  }
  data_.reset(static_cast<uint8_t*>(memory));
  std::copy(bytes.begin(), bytes.end(), data_.get());
}

GraphT sampleGraph() {
  GraphT graph;
  graph.name = "sample";
  graph.op_names = {"gr.conv", "gr.if", "gr.yield", "gr.return"};
  graph.types.push_back(tensorType(ElementType::F32, {-1, 3}));
  graph.types.back()->symbolic = {"s0", ""};
  graph.types.push_back(tensorType(ElementType::Bool, {}));
  graph.value_types = {0, 1, 0, 0};
  graph.symbols = {"batch"};
  graph.input_names = {"x", "condition"};
  graph.output_names = {"y", "z"};
  graph.folded_names = {"shape", "sum"};
  graph.body = std::make_unique<RegionT>();
  graph.body->arguments = {0, 1};
  auto conv = operation(0, {0}, {2});
  conv->label = "conv1";
  conv->operand_segments = {1, 0};
  addAttributes(*conv);
  auto choice = operation(1, {1}, {3});
  choice->regions.push_back(branch({2}));
  choice->regions.push_back(branch({0}));
  graph.body->operations.push_back(std::move(conv));
  graph.body->operations.push_back(std::move(choice));
  graph.body->operations.push_back(operation(3, {2, 3}, {}));
  return graph;
}

std::vector<WeightSource> sampleWeights() {
  using runtime::ElementType;
  return {{"w", {ElementType::kF32, {2, 3}}, false, bytesOf(kWeight)},
          {"bias", {ElementType::kF32, {3}}, true, bytesOf(kBias)},
          {"twin", {ElementType::kF32, {3, 2}}, false, bytesOf(kWeight)}};
}

ModelT sampleModel() {
  ModelT model;
  model.producer = "samples";
  model.graph = std::make_unique<GraphT>(sampleGraph());
  model.weights = weightTable();
  return model;
}

PlanT samplePlan() {
  PlanT plan;
  plan.hash = 0x1234;
  plan.model_name = "sample";
  for (const char* name : {"client", "node1"}) {
    auto worker = std::make_unique<PlanWorkerT>();
    worker->name = name;
    worker->address = "";
    plan.workers.push_back(std::move(worker));
  }
  addDevice(plan, "client/cpu:0", 0, 0);
  addDevice(plan, "client/cpu:1", 0, 1);
  addDevice(plan, "node1/cpu:0", 1, 0);
  addEdge(plan, 0, 1, TransferMode::InProcess);
  addEdge(plan, 1, 2, TransferMode::Eager);
  plan.weights = weightTable();
  absl::Span<const uint8_t> bias = bytesOf(kBias);
  plan.weights[1]->in_plan = true;
  plan.weights[1]->offset = 0;
  plan.constants.assign(bias.begin(), bias.end());
  plan.partitions.push_back(partition(0, -1, 0));
  plan.partitions.push_back(partition(1, 0, 1));
  plan.partitions.push_back(partition(2, 1, -1));
  return plan;
}

std::vector<uint8_t> modelBytes(const ModelT& model) {
  flatbuffers::FlatBufferBuilder builder;
  FinishModelBuffer(builder, Model::Pack(builder, &model));
  FileHeader header = {};
  std::memcpy(header.magic, FileHeader::kMagic, sizeof(header.magic));
  header.version = kModelVersion;
  header.byteOrder = FileHeader::kByteOrder;
  header.graphOffset = sizeof(header);
  header.graphLength = builder.GetSize();
  uint64_t end = sizeof(header) + header.graphLength;
  header.weightsOffset = (end + kPageAlignment - 1) / kPageAlignment * kPageAlignment;
  header.weightsLength = kSectionBytes;
  std::vector<uint8_t> file(header.weightsOffset + kSectionBytes, 0);
  std::memcpy(file.data(), &header, sizeof(header));
  std::memcpy(file.data() + sizeof(header), builder.GetBufferPointer(), header.graphLength);
  std::memcpy(file.data() + header.weightsOffset, kWeight, sizeof(kWeight));
  std::memcpy(file.data() + header.weightsOffset + 64, kBias, sizeof(kBias));
  repairChecksums(absl::MakeSpan(file));
  return file;
}

std::vector<uint8_t> planBytes(const PlanT& plan) {
  flatbuffers::FlatBufferBuilder builder;
  FinishPlanBuffer(builder, Plan::Pack(builder, &plan));
  return {builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize()};
}

void repairChecksums(absl::Span<uint8_t> file) {
  FileHeader header;
  std::memcpy(&header, file.data(), sizeof(header));
  if (header.graphOffset <= file.size() && header.graphLength <= file.size() - header.graphOffset) {
    header.graphChecksum = checksumOf(file.subspan(header.graphOffset, header.graphLength));
  }
  std::memcpy(file.data(), &header, sizeof(header));
  header.headerChecksum = checksumOf(file.first(offsetof(FileHeader, headerChecksum)));
  std::memcpy(file.data(), &header, sizeof(header));
}

TemporaryFolder::TemporaryFolder() {
  std::string pattern = std::filesystem::temp_directory_path().string() + "/graphrun-test-XXXXXX";
  if (mkdtemp(pattern.data()) == nullptr) {
    throw std::runtime_error("no temporary folder");
  }
  path_ = pattern;
}

TemporaryFolder::~TemporaryFolder() { std::filesystem::remove_all(path_); }

std::vector<std::string> TemporaryFolder::list() const {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(path_)) {
    names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace graphrun::format
