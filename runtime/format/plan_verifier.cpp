#include "runtime/format/plan_verifier.h"

#include <cstdint>
#include <limits>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/checked.h"
#include "runtime/base/numerics.h"
#include "runtime/base/status.h"
#include "runtime/format/graph_verifier.h"
#include "runtime/format/invalid.h"
#include "runtime/format/plan_file.h"
#include "runtime/format/weight_table.h"

namespace graphrun::format {
namespace {

using runtime::annotate;

absl::Status checkCount(absl::string_view what, size_t count, size_t limit) {
  return count <= limit ? absl::OkStatus()
                        : invalid("it has ", count, " ", what, ", expected at most ", limit);
}

absl::Status checkName(absl::string_view name, absl::flat_hash_set<absl::string_view>& seen) {
  if (name.empty() || name.size() > kMaxNameBytes) {
    return invalid("its name has ", name.size(), " bytes, expected 1 to ", kMaxNameBytes);
  }
  return seen.insert(name).second
             ? absl::OkStatus()
             : invalid("its name is ", inQuotes(name), " again, expected each name once");
}

absl::Status checkIndex(absl::string_view what, uint64_t index, size_t count) {
  return index < count ? absl::OkStatus()
                       : invalid(what, " index is ", index, ", expected one below ", count);
}

// Two types may stand for one value: equal but for dims that one of them does not know.
bool compatible(const TensorType& a, const TensorType& b) {
  if (a.element() != b.element()) {
    return false;
  }
  if (!a.ranked() || !b.ranked()) {
    return true;
  }
  if (sizeOf(a.dims()) != sizeOf(b.dims())) {
    return false;
  }
  for (uint32_t i = 0; i < sizeOf(a.dims()); ++i) {
    int64_t left = a.dims()->Get(i);
    int64_t right = b.dims()->Get(i);
    if (left != right && left >= 0 && right >= 0) {
      return false;
    }
  }
  return true;
}

class PlanVerifier {
 public:
  PlanVerifier(const Plan& plan, size_t bufferBytes) : plan_(plan), work_(bufferBytes) {}

  absl::Status run() {
    GR_RETURN_IF_ERROR(checkHead());
    GR_RETURN_IF_ERROR(checkEach("worker", plan_.workers(), kMaxWorkers,
                                 [&](const PlanWorker& w, size_t) { return checkWorker(w); }));
    GR_RETURN_IF_ERROR(checkEach("device", plan_.devices(), kMaxDevices,
                                 [&](const PlanDevice& d, size_t) { return checkDevice(d); }));
    GR_RETURN_IF_ERROR(checkEach("edge", plan_.edges(), kMaxEdges,
                                 [&](const Edge& e, size_t i) { return checkEdge(e, i); }));
    GR_RETURN_IF_ERROR(checkEach("communicator", plan_.communicators(), kMaxEdges,
                                 [&](const Communicator& c, size_t) { return checkMembers(c); }));
    // The weight section belongs to the model file, which is not at hand: only overflow can be
    // excluded there.
    GR_RETURN_IF_ERROR(verifyWeightTable(plan_.weights(), std::numeric_limits<uint64_t>::max(),
                                         sizeOf(plan_.constants())));
    GR_RETURN_IF_ERROR(verifyStrings(plan_.strings()));
    hasPartition_.assign(sizeOf(plan_.devices()), false);
    sent_.assign(sizeOf(plan_.edges()), false);
    received_.assign(sizeOf(plan_.edges()), false);
    reader_.assign(sizeOf(plan_.weights()), 0);
    if (plan_.partitions() == nullptr) {  // all who read a plan walk them
      return invalid("it has no list of partitions");
    }
    GR_RETURN_IF_ERROR(
        checkEach("partition", plan_.partitions(), kMaxDevices,
                  [&](const Partition& p, size_t i) { return checkPartition(p, i); }));
    return checkEnds();
  }

 private:
  /// Vectors of a FlatBuffer may share their bytes, so that a small one holds many large ones.
  absl::Status spend(size_t entries) {
    if (entries > work_) {
      return invalid("it refers to more entries than the plan can hold");
    }
    work_ -= entries;
    return absl::OkStatus();
  }

  template <typename T, typename Check>
  absl::Status checkEach(absl::string_view what,
                         const flatbuffers::Vector<flatbuffers::Offset<T>>* entries, size_t limit,
                         Check check) {
    GR_RETURN_IF_ERROR(checkCount(absl::StrCat(what, "s"), sizeOf(entries), limit));
    names_.clear();
    for (uint32_t i = 0; i < sizeOf(entries); ++i) {
      if (absl::Status status = check(*entries->Get(i), i); !status.ok()) {
        return annotate(status, absl::StrCat(what, " ", i));
      }
    }
    return absl::OkStatus();
  }

  absl::Status checkHead() const {
    if (plan_.version() == 0 || plan_.version() > kPlanVersion) {
      return absl::FailedPreconditionError(
          absl::StrCat("it has version ", plan_.version(), ", expected 1 to ", kPlanVersion,
                       ": run the same version of graphrun on all workers"));
    }
    if (plan_.numerics() > static_cast<uint8_t>(runtime::Numerics::kDeterministic)) {
      return invalid("its numerics are ", plan_.numerics(), ", expected 0 to 2");
    }
    if (plan_.precision() > static_cast<uint8_t>(runtime::Precision::kTF32)) {
      return invalid("its precision is ", plan_.precision(), ", expected 0 to 2");
    }
    GR_RETURN_IF_ERROR(checkConstants());
    return plan_.hash() != 0 ? absl::OkStatus() : invalid("its hash is 0, expected another value");
  }

  // Kernels read the constants in place. What the schema forces is not part of a vector's type, so
  // that BudgetVerifier cannot check it.
  absl::Status checkConstants() const {
    if (sizeOf(plan_.constants()) == 0) {  // an empty vector is not aligned by FlatBuffers
      return absl::OkStatus();
    }
    size_t excess = reinterpret_cast<uintptr_t>(plan_.constants()->data()) % kConstantsAlignment;
    return excess == 0 ? absl::OkStatus()
                       : invalid("its constants start ", excess, " bytes behind a multiple of ",
                                 kConstantsAlignment, ", expected none");
  }

  absl::Status checkWorker(const PlanWorker& worker) {
    GR_RETURN_IF_ERROR(
        checkCount("bytes of address", textOf(worker.address()).size(), kMaxNameBytes));
    return checkName(textOf(worker.name()), names_);
  }

  absl::Status checkDevice(const PlanDevice& device) {
    GR_RETURN_IF_ERROR(checkName(textOf(device.name()), names_));
    GR_RETURN_IF_ERROR(checkIndex("worker", device.worker(), sizeOf(plan_.workers())));
    GR_RETURN_IF_ERROR(checkCount("cores", sizeOf(device.cores()), kMaxCores));
    GR_RETURN_IF_ERROR(checkCount("threads", device.threads(), kMaxCores));
    GR_RETURN_IF_ERROR(
        checkCount("bytes of part_of", textOf(device.part_of()).size(), kMaxNameBytes));
    GR_RETURN_IF_ERROR(spend(sizeOf(device.cores())));
    size_t kindBytes = textOf(device.kind()).size();
    return kindBytes > 0 && kindBytes <= kMaxNameBytes
               ? absl::OkStatus()
               : invalid("its kind has ", kindBytes, " bytes, expected 1 to ", kMaxNameBytes);
  }

  absl::Status checkEdge(const Edge& edge, size_t index) {
    size_t devices = sizeOf(plan_.devices());
    if (edge.id() != index) {
      return invalid("its id is ", edge.id(), ", expected its position ", index);
    }
    GR_RETURN_IF_ERROR(checkCount("bytes of name", textOf(edge.name()).size(), kMaxNameBytes));
    GR_RETURN_IF_ERROR(checkIndex("source device", edge.source(), devices));
    GR_RETURN_IF_ERROR(checkIndex("target device", edge.target(), devices));
    if (edge.source() == edge.target()) {
      return invalid("it joins device ", edge.source(), " with itself, expected two devices");
    }
    if (edge.slots() == 0 || edge.slots() > kMaxEdgeSlots) {
      return invalid("it has ", edge.slots(), " slots, expected 1 to ", kMaxEdgeSlots);
    }
    GR_RETURN_IF_ERROR(checkMode(edge));
    GR_RETURN_IF_ERROR(verifyTensorType(*edge.type()));
    GR_RETURN_IF_ERROR(checkBytes(edge));
    return addSlots(edge);
  }

  absl::Status checkMode(const Edge& edge) const {
    if (edge.mode() > TransferMode::MAX) {
      return invalid("its transfer mode is ", static_cast<int>(edge.mode()), ", expected 0 to ",
                     static_cast<int>(TransferMode::MAX));
    }
    uint32_t from = plan_.devices()->Get(edge.source())->worker();
    uint32_t to = plan_.devices()->Get(edge.target())->worker();
    const bool isWithin =
        edge.mode() == TransferMode::InProcess || edge.mode() == TransferMode::Buffered;
    return !isWithin || from == to
               ? absl::OkStatus()
               : invalid("its transfer mode is ", EnumNameTransferMode(edge.mode()),
                         ", within a process, but it joins workers ", from, " and ", to);
  }

  static absl::Status checkBytes(const Edge& edge) {
    uint64_t least = isStatic(*edge.type()) ? toSpec(*edge.type()).byteSize() : 0;
    return edge.bytes() >= least && edge.bytes() <= runtime::kMostBytes
               ? absl::OkStatus()
               : invalid("its byte bound is ", edge.bytes(), ", expected ", least, " to 2^62");
  }

  /// Workers allocate slots as one block, and add those of a device up: with a bound on the sum of
  /// all edges neither can wrap around.
  absl::Status addSlots(const Edge& edge) {
    std::optional<uint64_t> bytes = runtime::checkedProduct(slotStride(edge), edge.slots());
    std::optional<uint64_t> sum =
        bytes.has_value() ? runtime::checkedSum(slotBytes_, *bytes) : std::nullopt;
    if (!sum.has_value()) {
      return invalid("its ", edge.slots(), " slots of ", edge.bytes(),
                     " bytes and those of the edges before it take more than 2^62 bytes");
    }
    slotBytes_ = *sum;
    return absl::OkStatus();
  }

  absl::Status checkMembers(const Communicator& communicator) {
    GR_RETURN_IF_ERROR(spend(sizeOf(communicator.devices())));
    absl::flat_hash_set<uint32_t>& seen = members_.emplace_back();
    for (uint32_t i = 0; i < sizeOf(communicator.devices()); ++i) {
      uint32_t device = communicator.devices()->Get(i);
      GR_RETURN_IF_ERROR(checkIndex("device", device, sizeOf(plan_.devices())));
      if (!seen.insert(device).second) {
        return invalid("it has device ", device, " twice, expected each once");
      }
    }
    return seen.size() >= 2 ? absl::OkStatus()
                            : invalid("it has ", seen.size(), " devices, expected at least 2");
  }

  absl::Status checkPartition(const Partition& partition, size_t index) {
    GR_RETURN_IF_ERROR(checkIndex("device", partition.device(), sizeOf(plan_.devices())));
    if (hasPartition_[partition.device()]) {
      return invalid("device ", partition.device(), " has a partition already, expected one");
    }
    hasPartition_[partition.device()] = true;
    // reader_ holds, for each weight, the last partition (counted from 1) that lists it.
    auto mark = static_cast<uint32_t>(index + 1);
    GR_RETURN_IF_ERROR(spend(sizeOf(partition.weights())));
    for (uint32_t i = 0; i < sizeOf(partition.weights()); ++i) {
      uint32_t weight = partition.weights()->Get(i);
      GR_RETURN_IF_ERROR(checkIndex("weight", weight, sizeOf(plan_.weights())));
      if (reader_[weight] == mark) {
        return invalid("it lists weight ", weight, " twice");
      }
      reader_[weight] = mark;
    }
    return verifyGraph(*partition.graph(), sizeOf(plan_.weights()), work_,
                       [&](const Operation& operation, absl::string_view name) {
                         return checkOperation(partition, mark, operation, name);
                       });
  }

  absl::Status checkOperation(const Partition& partition, uint32_t mark, const Operation& operation,
                              absl::string_view name) {
    for (uint32_t i = 0; i < sizeOf(operation.attributes()); ++i) {
      const Weight* weight = operation.attributes()->Get(i)->value_as_Weight();
      if (weight != nullptr && reader_[weight->index()] != mark) {
        return invalid("it reads weight ", weight->index(), ", which its partition does not list");
      }
    }
    if (name == kSendOp) {
      return checkEnd(operation, partition, true);
    }
    if (name == kCollectiveOp) {
      return checkMember(operation, partition);
    }
    return name == kReceiveOp ? checkEnd(operation, partition, false) : absl::OkStatus();
  }

  absl::Status checkEnd(const Operation& operation, const Partition& partition, bool sends) {
    std::optional<uint64_t> id = edgeOf(operation);
    if (!id.has_value() || *id >= sizeOf(plan_.edges())) {
      return invalid("its edge is ", id.has_value() ? absl::StrCat(*id) : "missing",
                     ", expected an id below ", sizeOf(plan_.edges()));
    }
    const Edge& edge = *plan_.edges()->Get(static_cast<uint32_t>(*id));
    uint32_t device = sends ? edge.source() : edge.target();
    if (device != partition.device()) {
      return invalid("it is on device ", partition.device(), ", expected device ", device, ", the ",
                     sends ? "source" : "target", " of edge ", *id);
    }
    std::vector<bool>& done = sends ? sent_ : received_;
    if (done[*id]) {
      return invalid("edge ", *id, " is ", sends ? "sent" : "received", " twice");
    }
    done[*id] = true;
    return checkEndValue(operation, *partition.graph(), edge, sends);
  }

  absl::Status checkMember(const Operation& operation, const Partition& partition) const {
    std::optional<uint64_t> id = communicatorOf(operation);
    if (!id.has_value() || *id >= sizeOf(plan_.communicators())) {
      return invalid("its communicator is ", id.has_value() ? absl::StrCat(*id) : "missing",
                     ", expected an id below ", sizeOf(plan_.communicators()));
    }
    return members_[*id].contains(partition.device())
               ? absl::OkStatus()
               : invalid("it is on device ", partition.device(), ", which communicator ", *id,
                         " does not have");
  }

  // The results of the operation have not been verified yet.
  static absl::Status checkEndValue(const Operation& operation, const Graph& graph,
                                    const Edge& edge, bool sends) {
    const auto* values = sends ? operation.operands() : operation.results();
    if (sizeOf(values) == 0 || values->Get(0) >= sizeOf(graph.value_types())) {
      return invalid("it has no value to ", sends ? "send" : "receive");
    }
    return compatible(typeOf(graph, values->Get(0)), *edge.type())
               ? absl::OkStatus()
               : invalid("its value is not of the type of edge ", edge.id());
  }

  absl::Status checkEnds() const {
    for (size_t i = 0; i < sent_.size(); ++i) {
      if (!sent_[i] || !received_[i]) {
        return invalid("edge ", i, " is never ", sent_[i] ? "received" : "sent");
      }
    }
    return absl::OkStatus();
  }

  const Plan& plan_;
  size_t work_;
  absl::flat_hash_set<absl::string_view> names_;
  std::vector<absl::flat_hash_set<uint32_t>> members_;  // by communicator
  std::vector<bool> hasPartition_;
  std::vector<bool> sent_;
  std::vector<bool> received_;
  std::vector<uint32_t> reader_;
  uint64_t slotBytes_ = 0;  // of all edges
};

}  // namespace

absl::Status verifyPlan(const Plan& plan, size_t bufferBytes) {
  return PlanVerifier(plan, bufferBytes).run();
}

}  // namespace graphrun::format
