// Plan: what runs where, verified. Plans travel as bytes; they are files only in caches.
#ifndef GRAPHRUN_RUNTIME_FORMAT_PLAN_FILE_H_
#define GRAPHRUN_RUNTIME_FORMAT_PLAN_FILE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "runtime/format/plan_generated.h"

namespace graphrun::format {

/// Version of the Plan schema that this program writes. It reads all up to it.
inline constexpr uint32_t kPlanVersion = 1;

/// Limits on a Plan; beyond them it is refused.
inline constexpr size_t kMaxWorkers = 4096;
inline constexpr size_t kMaxDevices = size_t{1} << 16;
inline constexpr size_t kMaxCores = 4096;  // of one device
inline constexpr size_t kMaxEdges = size_t{1} << 20;
inline constexpr uint32_t kMaxEdgeSlots = 1024;

/// Plan.constants lies at a multiple of this, in the buffer and in memory (force_align in
/// plan.fbs).
inline constexpr size_t kConstantsAlignment = 16;

/// The operations that end and start an edge, and their attribute (Int) with the edge's id.
inline constexpr absl::string_view kSendOp = "gr.send";
inline constexpr absl::string_view kReceiveOp = "gr.recv";
inline constexpr absl::string_view kEdgeAttribute = "edge";
/// A device's part in a collective, and its attribute (Int) with the communicator's id.
inline constexpr absl::string_view kCollectiveOp = "gr.collective_member";
inline constexpr absl::string_view kCommunicatorAttribute = "communicator";

/// A Plan that has been verified and may be believed. Immutable; readable by any number of threads.
///
/// On top of what verifyGraph proves for each partition: names of workers and devices are present
/// and unique, all indices are in range, the list of partitions is there and has at most one for a
/// device, edges are dense and join two different devices, the slots of all edges take at most 2^62
/// bytes, each edge has exactly one gr.send in the partition of its source and
/// one gr.recv in that of its target, with values of the edge's type, and a partition lists each
/// weight that it reads. Communicators have two devices or more, each once, and a device's
/// gr.collective_member names one that it is in. That slots cannot deadlock, and that members meet,
/// is checked elsewhere.
class PlanFile {
 public:
  /// Copies and verifies `bytes`. Errors name the location, what was got and expected.
  static absl::StatusOr<std::shared_ptr<const PlanFile>> parse(absl::Span<const uint8_t> bytes);

  const Plan& plan() const { return *plan_; }
  uint64_t hash() const { return plan_->hash(); }
  absl::Span<const uint8_t> bytes() const { return bytes_; }

  size_t workerCount() const;
  size_t deviceCount() const;
  size_t edgeCount() const;
  /// The element at a position, which must be in range.
  const PlanWorker& worker(size_t index) const;
  const PlanDevice& device(size_t index) const;
  const Edge& edge(size_t index) const;

  /// Index of the worker or device called `name`.
  std::optional<uint32_t> findWorker(absl::string_view name) const;
  std::optional<uint32_t> findDevice(absl::string_view name) const;
  /// The partition that runs on a device; null if nothing does.
  const Partition* partitionOn(uint32_t device) const;
  /// Devices of a worker, ascending.
  std::vector<uint32_t> devicesOf(uint32_t worker) const;
  /// Ids of the edges that leave or enter a device, ascending.
  std::vector<uint32_t> edgesFrom(uint32_t device) const;
  std::vector<uint32_t> edgesInto(uint32_t device) const;
  /// Returns whether its steps change states: then one runs at a time, and a failure undoes it.
  bool updatesStates() const { return updatesStates_; }
  /// The device of each state that it has, by name.
  std::map<std::string, uint32_t> stateDevices() const;
  /// Returns how many steps a worker's devices can be at: as many as there are devices with a
  /// partition, or one where they read each other's memory, meet or update states, so that they end
  /// a step together. 0 without a device.
  uint32_t stagesOn(uint32_t worker) const;
  /// The bytes of the buffers on a device for tensors that come over edges: at most 2^62.
  uint64_t slotBytes(uint32_t device) const;

 private:
  PlanFile() = default;

  // A copy: the bytes come from a message and need the alignment of Plan.constants.
  struct alignas(kConstantsAlignment) Block {
    uint8_t bytes[kConstantsAlignment];
  };
  std::vector<Block> storage_;
  absl::Span<const uint8_t> bytes_;
  const Plan* plan_ = nullptr;
  std::vector<const Partition*> partitionByDevice_;
  bool updatesStates_ = false;
};

/// Returns the size of one of an edge's buffers where it arrives, in bytes. That of a verified
/// plan, times its slots, is at most 2^62.
uint64_t slotStride(const Edge& edge);

/// The edge id of a gr.send or gr.recv; nothing if the operation has none or it is negative.
std::optional<uint64_t> edgeOf(const Operation& operation);
/// The same of a gr.collective_member and its communicator.
std::optional<uint64_t> communicatorOf(const Operation& operation);

}  // namespace graphrun::format

#endif  // GRAPHRUN_RUNTIME_FORMAT_PLAN_FILE_H_
