#include "runtime/format/plan_file.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/base/tensor.h"
#include "runtime/format/budget_verifier.h"
#include "runtime/format/graph_states.h"
#include "runtime/format/plan_verifier.h"
#include "runtime/format/weight_table.h"

namespace graphrun::format {
namespace {

template <typename T>
const T& at(const flatbuffers::Vector<flatbuffers::Offset<T>>* entries, size_t index) {
  return *entries->Get(static_cast<uint32_t>(index));
}

template <typename T>
std::optional<uint32_t> find(const flatbuffers::Vector<flatbuffers::Offset<T>>* entries,
                             absl::string_view name) {
  for (uint32_t i = 0; i < sizeOf(entries); ++i) {
    if (textOf(entries->Get(i)->name()) == name) {
      return i;
    }
  }
  return std::nullopt;
}

absl::StatusOr<const Plan*> verifyBuffer(absl::Span<const uint8_t> bytes) {
  BudgetVerifier verifier(bytes);
  if (!VerifyPlanBuffer(verifier)) {
    return absl::DataLossError(
        absl::StrCat("it is not a well-formed FlatBuffer of schema plan.fbs", verifier.reason()));
  }
  const Plan* plan = GetPlan(bytes.data());
  GR_RETURN_IF_ERROR(verifyPlan(*plan, bytes.size()));
  return plan;
}

}  // namespace

absl::StatusOr<std::shared_ptr<const PlanFile>> PlanFile::parse(absl::Span<const uint8_t> bytes) {
  if (bytes.size() > kMaxFlatBufferBytes) {
    return absl::InvalidArgumentError(absl::StrCat(
        "plan: it has ", bytes.size(), " bytes, expected at most ", kMaxFlatBufferBytes));
  }
  std::shared_ptr<PlanFile> file(new PlanFile);
  file->storage_.resize((bytes.size() + sizeof(Block) - 1) / sizeof(Block));
  if (!bytes.empty()) {
    std::memcpy(file->storage_.data(), bytes.data(), bytes.size());
  }
  file->bytes_ = {reinterpret_cast<const uint8_t*>(file->storage_.data()), bytes.size()};
  absl::StatusOr<const Plan*> plan = verifyBuffer(file->bytes_);
  if (!plan.ok()) {
    return runtime::annotate(plan.status(), "plan");
  }
  file->plan_ = *plan;
  file->partitionByDevice_.assign(file->deviceCount(), nullptr);
  for (uint32_t i = 0; i < sizeOf(file->plan_->partitions()); ++i) {
    const Partition* partition = file->plan_->partitions()->Get(i);
    file->partitionByDevice_[partition->device()] = partition;
    file->updatesStates_ = file->updatesStates_ || format::updatesStates(*partition->graph());
  }
  return file;
}

size_t PlanFile::workerCount() const { return sizeOf(plan_->workers()); }
size_t PlanFile::deviceCount() const { return sizeOf(plan_->devices()); }
size_t PlanFile::edgeCount() const { return sizeOf(plan_->edges()); }

const PlanWorker& PlanFile::worker(size_t index) const { return at(plan_->workers(), index); }
const PlanDevice& PlanFile::device(size_t index) const { return at(plan_->devices(), index); }
const Edge& PlanFile::edge(size_t index) const { return at(plan_->edges(), index); }

std::optional<uint32_t> PlanFile::findWorker(absl::string_view name) const {
  return find(plan_->workers(), name);
}

std::optional<uint32_t> PlanFile::findDevice(absl::string_view name) const {
  return find(plan_->devices(), name);
}

const Partition* PlanFile::partitionOn(uint32_t device) const {
  return device < partitionByDevice_.size() ? partitionByDevice_[device] : nullptr;
}

std::vector<uint32_t> PlanFile::devicesOf(uint32_t worker) const {
  std::vector<uint32_t> devices;
  for (uint32_t i = 0; i < deviceCount(); ++i) {
    if (device(i).worker() == worker) {
      devices.push_back(i);
    }
  }
  return devices;
}

std::vector<uint32_t> PlanFile::edgesFrom(uint32_t device) const {
  std::vector<uint32_t> edges;
  for (uint32_t i = 0; i < edgeCount(); ++i) {
    if (edge(i).source() == device) {
      edges.push_back(i);
    }
  }
  return edges;
}

std::vector<uint32_t> PlanFile::edgesInto(uint32_t device) const {
  std::vector<uint32_t> edges;
  for (uint32_t i = 0; i < edgeCount(); ++i) {
    if (edge(i).target() == device) {
      edges.push_back(i);
    }
  }
  return edges;
}

std::map<std::string, uint32_t> PlanFile::stateDevices() const {
  std::map<std::string, uint32_t> devices;
  for (uint32_t i = 0; i < sizeOf(plan_->partitions()); ++i) {
    const Partition& partition = *plan_->partitions()->Get(i);
    for (GraphState& state : statesOf(*partition.graph())) {
      devices.emplace(std::move(state.name), partition.device());
    }
  }
  return devices;
}

uint32_t PlanFile::stagesOn(uint32_t worker) const {
  uint32_t count = 0;
  bool isTied = sizeOf(plan_->communicators()) != 0 || updatesStates_;
  for (uint32_t device : devicesOf(worker)) {
    count += partitionOn(device) != nullptr ? 1 : 0;
    for (uint32_t id : edgesInto(device)) {
      isTied = isTied || edge(id).mode() == TransferMode::InProcess;
    }
  }
  return isTied ? std::min(count, 1U) : count;
}

uint64_t PlanFile::slotBytes(uint32_t device) const {
  uint64_t bytes = 0;
  for (uint32_t id : edgesInto(device)) {
    const Edge& edge = this->edge(id);
    bytes += edge.mode() == TransferMode::InProcess ? 0 : slotStride(edge) * edge.slots();
  }
  return bytes;
}

uint64_t slotStride(const Edge& edge) {
  return runtime::alignTensor(std::max<uint64_t>(edge.bytes(), 1));
}

namespace {

/// The attribute `name`, where it is a number of at least 0.
std::optional<uint64_t> idOf(const Operation& operation, absl::string_view name) {
  for (uint32_t i = 0; i < sizeOf(operation.attributes()); ++i) {
    const Attribute& attribute = *operation.attributes()->Get(i);
    const Int* value = attribute.value_as_Int();
    if (value != nullptr && textOf(attribute.name()) == name && value->value() >= 0) {
      return static_cast<uint64_t>(value->value());
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<uint64_t> edgeOf(const Operation& operation) {
  return idOf(operation, kEdgeAttribute);
}

std::optional<uint64_t> communicatorOf(const Operation& operation) {
  return idOf(operation, kCommunicatorAttribute);
}

}  // namespace graphrun::format
