#include "placement/planner/plan_writer.h"

#include <algorithm>
#include <map>
#include <set>

#include "ir/dialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/passes.h"
#include "passes/serialization/model_io.h"
#include "passes/serialization/type_codec.h"
#include "placement/planner/plan_nodes.h"
#include "placement/planner/weight_section.h"
#include "placement/simulator/steps_in_flight.h"
#include "runtime/base/status.h"
#include "runtime/format/plan_file.h"

namespace graphrun::compiler {
namespace {

/// Payloads up to this travel with the message that announces them.
constexpr uint64_t kEagerBytes = 8192;

class PlanWriter {
 public:
  explicit PlanWriter(const PlanParts& parts) : parts_(parts), stages_(countStages()) {}

  absl::StatusOr<std::vector<uint8_t>> write() {
    workers_.push_back(format::CreatePlanWorkerDirect(builder_, "client"));
    GR_RETURN_IF_ERROR(addPartitions());
    WeightSection weights = writeWeights(parts_.model, weights_, builder_);
    auto edges = writeEdges();
    auto workers = builder_.CreateVector(workers_);
    auto partitions = builder_.CreateVector(partitions_);
    auto weightTable = builder_.CreateVector(weights.entries);
    auto constants = writeConstants(weights.constants, builder_);
    auto edgeTable = builder_.CreateVector(edges);
    auto communicators = writeCommunicators();
    auto devices = builder_.CreateVector(devices_);
    auto name = builder_.CreateString(
        parts_.model.graph().name() != nullptr ? parts_.model.graph().name()->str() : "");
    auto strings = writeStrings(parts_.strings.strings, builder_);
    auto stringValues = writeStrings(parts_.strings.values, builder_);
    format::PlanBuilder plan(builder_);
    plan.add_version(format::kPlanVersion);
    plan.add_hash(parts_.hash);
    plan.add_model_name(name);
    plan.add_workers(workers);
    plan.add_devices(devices);
    plan.add_edges(edgeTable);
    plan.add_partitions(partitions);
    plan.add_communicators(communicators);
    plan.add_weights(weightTable);
    plan.add_constants(constants);
    plan.add_predicted_step_ns(static_cast<uint64_t>(parts_.result.simulation.latencyNs()));
    plan.add_predicted_period_ns(static_cast<uint64_t>(parts_.result.simulation.periodNs));
    plan.add_promised_step_ns(static_cast<uint64_t>(parts_.promisedNs));
    plan.add_splits(parts_.splits);
    plan.add_single(parts_.single);
    plan.add_strings(strings);
    plan.add_string_values(stringValues);
    plan.add_numerics(parts_.numerics);
    plan.add_precision(parts_.precision);
    format::FinishPlanBuffer(builder_, plan.Finish());
    std::vector<uint8_t> bytes(builder_.GetBufferPointer(),
                               builder_.GetBufferPointer() + builder_.GetSize());
    GR_RETURN_IF_ERROR(
        runtime::annotate(format::PlanFile::parse(bytes).status(), "the plan that was made"));
    return bytes;
  }

 private:
  /// Index of a cluster worker in the plan; the one inside the client is worker 0.
  uint32_t workerIndex(int worker) {
    const placement::Worker& given = parts_.cluster.workers[static_cast<size_t>(worker)];
    if (given.inClient) {
      return 0;
    }
    auto [found, isNew] = workerIndices_.try_emplace(worker, workers_.size());
    if (isNew) {
      workers_.push_back(
          format::CreatePlanWorkerDirect(builder_, given.name.c_str(), given.address.c_str()));
    }
    return found->second;
  }

  /// Index of a device in the plan, which lists only those that have something to do.
  uint32_t deviceIndex(const std::string& name) {
    auto [found, isNew] = deviceIndices_.try_emplace(name, deviceIndices_.size());
    if (!isNew) {
      return found->second;
    }
    std::optional<int> id = parts_.cluster.findDevice(name);
    if (!id) {  // the home device
      devices_.push_back(
          format::CreatePlanDeviceDirect(builder_, name.c_str(), 0, runtime::kHostKind));
      deviceWorkers_.push_back(0);
      return found->second;
    }
    const placement::Device& device = parts_.cluster.devices[static_cast<size_t>(*id)];
    std::vector<uint32_t> cores;
    if (!device.floating) {
      cores.assign(device.cores.begin(), device.cores.end());
    }
    std::string whole = device.whole < 0
                            ? std::string()
                            : parts_.cluster.devices[static_cast<size_t>(device.whole)].name;
    auto threads = static_cast<uint32_t>(device.floating && device.whole >= 0 ? device.threads : 0);
    uint32_t worker = workerIndex(device.worker);
    deviceWorkers_.push_back(worker);
    devices_.push_back(format::CreatePlanDeviceDirect(
        builder_, name.c_str(), worker, device.kind.name.c_str(),
        static_cast<uint32_t>(device.index), &cores, static_cast<uint64_t>(device.memoryBytes),
        threads, whole.c_str()));
    return found->second;
  }

  absl::Status addPartitions() {
    for (auto function : parts_.partitioning.module.get().getOps<mlir::func::FuncOp>()) {
      std::string device = function.getSymName().str();
      GR_ASSIGN_OR_RETURN(auto graph, passes::exportGraph(function, builder_, weights_));
      GR_ASSIGN_OR_RETURN(std::vector<uint32_t> reads, weightsRead(function));
      uint64_t busyNs = 0;
      uint64_t peakBytes = 0;
      std::vector<flatbuffers::Offset<format::PlanNode>> nodes;
      if (std::optional<int> id = parts_.cluster.findDevice(device)) {
        for (size_t d = 0; d < parts_.cluster.devices.size(); ++d) {
          bool isHere = parts_.cluster.runnerOf(static_cast<int>(d)) == *id;
          const auto& use = parts_.result.simulation.devices[d];
          busyNs += isHere ? static_cast<uint64_t>(use.busyNs) : 0;
          peakBytes += isHere ? static_cast<uint64_t>(use.peakBytes) : 0;
        }
        nodes = writeNodes(parts_.graph, parts_.simulator.collectives(), parts_.cluster,
                           parts_.result.placement, *id, labelsOf(function), builder_);
      } else {
        peakBytes = slotBytes(device);
      }
      partitions_.push_back(format::CreatePartitionDirect(builder_, deviceIndex(device), graph,
                                                          &reads, busyNs, peakBytes, &nodes));
    }
    return absl::OkStatus();
  }

  /// Returns the labels of the operations of a partition.
  static std::set<std::string> labelsOf(mlir::func::FuncOp function) {
    std::set<std::string> labels;
    for (mlir::Operation& op : function.front()) {
      labels.insert(passes::labelOf(op.getLoc()));
    }
    return labels;
  }

  /// Returns the bytes of the slots of all edges into a device: all that the home device holds.
  uint64_t slotBytes(const std::string& device) const {
    uint64_t bytes = 0;
    for (const passes::PartitionEdge& edge : parts_.partitioning.edges) {
      bool isInto = edge.target == device;
      bytes += isInto ? slotsOf(edge) * static_cast<uint64_t>(ir::byteSize(edge.type)) : 0;
    }
    return bytes;
  }

  absl::StatusOr<std::vector<uint32_t>> weightsRead(mlir::func::FuncOp function) {
    std::vector<uint32_t> reads;
    absl::Status status;
    auto read = [&](mlir::ElementsAttr value) {
      absl::StatusOr<uint32_t> index = weights_.add(value, "");
      status.Update(index.status());
      reads.push_back(index.value_or(0));
    };
    function.walk([&](ir::ConstantOp constant) { read(constant.getValue()); });
    function.walk([&](ir::StateOp state) { read(state.getInit()); });
    GR_RETURN_IF_ERROR(status);
    std::sort(reads.begin(), reads.end());
    reads.erase(std::unique(reads.begin(), reads.end()), reads.end());
    return reads;
  }

  std::vector<flatbuffers::Offset<format::Edge>> writeEdges() {
    std::vector<flatbuffers::Offset<format::Edge>> edges;
    for (const passes::PartitionEdge& edge : parts_.partitioning.edges) {
      uint32_t source = deviceIndex(edge.source);
      uint32_t target = deviceIndex(edge.target);
      auto tensor = llvm::cast<mlir::RankedTensorType>(edge.type);
      auto bytes = static_cast<uint64_t>(ir::byteSize(tensor));
      auto type = writeType(
          {passes::elementTypeOf(tensor.getElementType()), tensor.getShape().vec()}, builder_);
      edges.push_back(format::CreateEdgeDirect(builder_, static_cast<uint32_t>(edge.id),
                                               edge.name.c_str(), source, target, type, bytes,
                                               modeOf(edge, source, target, bytes), slotsOf(edge)));
    }
    return edges;
  }

  /// Returns how the value of an edge between these devices of the plan gets there. Devices of a
  /// process that can copy from each other hand theirs over, and end their steps together.
  format::TransferMode modeOf(const passes::PartitionEdge& edge, uint32_t source, uint32_t target,
                              uint64_t bytes) const {
    auto isBuffered = [&](const std::string& name) {
      std::optional<int> id = parts_.cluster.findDevice(name);
      return id.has_value() && !parts_.cluster.devices[static_cast<size_t>(*id)].kind.peerCopy;
    };
    if (deviceWorkers_[source] == deviceWorkers_[target]) {
      return parts_.isForMany && isBuffered(edge.source) && isBuffered(edge.target)
                 ? format::TransferMode::Buffered
                 : format::TransferMode::InProcess;
    }
    return bytes <= kEagerBytes ? format::TransferMode::Eager : format::TransferMode::Rendezvous;
  }

  flatbuffers::Offset<flatbuffers::Vector<flatbuffers::Offset<format::Communicator>>>
  writeCommunicators() {
    std::vector<flatbuffers::Offset<format::Communicator>> written;
    for (const passes::Communicator& names : parts_.partitioning.communicators) {
      std::vector<uint32_t> devices;
      devices.reserve(names.size());
      for (const std::string& name : names) {
        devices.push_back(deviceIndex(name));
      }
      written.push_back(format::CreateCommunicatorDirect(builder_, &devices));
    }
    return written.empty() ? 0 : builder_.CreateVector(written);
  }

  /// Buffers of an edge where it arrives: as many as placement counts, but no more than steps of
  /// this plan may be in flight, which may leave devices of the cluster out.
  uint32_t slotsOf(const passes::PartitionEdge& edge) const {
    bool isFromClient = !parts_.cluster.findDevice(edge.source).has_value();
    const placement::SimulatorOptions& counted = parts_.simulator.options();
    const int slots = isFromClient ? counted.clientSlots : counted.edgeSlots;
    return static_cast<uint32_t>(std::min(slots, placement::stepsInFlight(stages_)));
  }

  /// The devices outside the client's process that have something to do.
  int countStages() const {
    int stages = 0;
    for (auto function : parts_.partitioning.module.get().getOps<mlir::func::FuncOp>()) {
      std::optional<int> id = parts_.cluster.findDevice(function.getSymName().str());
      stages +=
          id && !parts_.cluster.isInClient(parts_.cluster.devices[static_cast<size_t>(*id)].worker)
              ? 1
              : 0;
    }
    return stages;
  }

  const PlanParts& parts_;
  const int stages_;
  flatbuffers::FlatBufferBuilder builder_;
  passes::WeightTable weights_;
  std::map<int, uint32_t> workerIndices_;
  std::map<std::string, uint32_t> deviceIndices_;
  std::vector<uint32_t> deviceWorkers_;
  std::vector<flatbuffers::Offset<format::PlanWorker>> workers_;
  std::vector<flatbuffers::Offset<format::PlanDevice>> devices_;
  std::vector<flatbuffers::Offset<format::Partition>> partitions_;
};

}  // namespace

absl::StatusOr<std::vector<uint8_t>> writePlan(const PlanParts& parts) {
  return PlanWriter(parts).write();
}

}  // namespace graphrun::compiler
