// A cost profile keeps measured times on disk: of operations by device, of transfers by link.
#ifndef GRAPHRUN_RUNTIME_SESSION_PROFILE_COST_PROFILE_H_
#define GRAPHRUN_RUNTIME_SESSION_PROFILE_COST_PROFILE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/format/costs_generated.h"
#include "runtime/session/profile/link_fit.h"
#include "runtime/worker/disk_cache.h"

namespace graphrun::runtime {

/// Times of one kind of device, or of one link. Not thread-safe.
class CostProfile {
 public:
  /// Reads what write() wrote; `bytes` need not be right: InvalidArgument.
  static absl::StatusOr<CostProfile> parse(absl::Span<const uint8_t> bytes);
  std::vector<uint8_t> write() const;

  /// This tells where in a partition an operation was measured.
  enum class Where : uint8_t {
    kInner,
    kBorder,  ///< beside an edge, or while the worker moved a tensor: that is the edge's doing
  };
  /// Adds a measurement, the median of measured.runs() runs: each run counts alike until there are
  /// many; then new ones for a fixed share, so that what has changed is followed. What is many
  /// times as long as known counts as three times as long; where little was known, and is many
  /// times as long as what is measured now, that takes its place. What was measured at the border
  /// counts until there is something better.
  void note(const format::OpTime& measured, Where where);
  struct Transfer {
    uint64_t bytes = 0;
    uint64_t ns = 0;
  };
  /// Adds what the tensors of a plan took, medians of `runs` runs. Those of about one size count as
  /// one measurement, by their median: else the last few of many would be all that is known.
  void noteTransfers(absl::Span<const Transfer> transfers, uint64_t runs) {
    noteBySize(transfers, runs, merged);
  }
  /// Adds what reading or sending them, or company, took longer than usual: a difference, so that a
  /// small one is no surer than a large one, and both count alike.
  void noteExcess(absl::Span<const Transfer> excess, uint64_t runs) {
    noteBySize(excess, runs, averaged);
  }

  /// A Summary tells people what is known.
  struct Summary {
    size_t entries = 0;
    uint64_t fewestRuns = 0;  ///< behind one of them
    uint64_t mostRuns = 0;
    double spread = 0;  ///< by how much measurements of an entry differ, relative: the middle one
    uint64_t updated = 0;  ///< seconds since 1970; 0: not known
  };
  Summary opSummary() const;
  Summary transferSummary() const;

  /// By signature.
  const std::map<uint64_t, format::OpTime>& ops() const { return ops_; }
  /// The lines closest to the transfers that were noted; nothing without any.
  std::optional<LinkFit> fit() const;
  /// Returns whether all transfers that were noted are of few runs of one session, in which the
  /// machine may have been busy; false without any.
  bool isUnsure() const;
  /// Returns the time per byte of the transfers that were noted; 0 without any.
  double nanosPerByte() const;
  bool empty() const { return ops_.empty() && transfers_.empty(); }

 private:
  /// Merges a value that is known, from so many runs, with one that was measured now in others.
  using Merge = uint64_t (*)(uint64_t known, uint64_t runs, uint64_t measured, uint64_t newRuns);
  static uint64_t averaged(uint64_t known, uint64_t runs, uint64_t measured, uint64_t newRuns);
  static uint64_t merged(uint64_t known, uint64_t runs, uint64_t measured, uint64_t newRuns);
  void noteBySize(absl::Span<const Transfer> transfers, uint64_t runs, Merge merge);

  std::map<uint64_t, format::OpTime> ops_;
  std::map<int, format::TransferTime> transfers_;  // by size class
  std::map<uint64_t, float> opSpreads_;
  std::map<int, float> transferSpreads_;
  std::map<int, uint32_t> transferSessions_;
  uint64_t updated_ = 0;
};

/// A WorkerLocation is where a device or an end of a link is.
struct WorkerLocation {
  std::string worker;  ///< name in the cluster; "" for the process that the user started
  std::string host;    ///< of its address; "localhost" for this machine
};

/// One end of a link: the memory of devices of a kind.
struct LinkEnd {
  WorkerLocation location;
  std::string kind = "cpu";  ///< the client's own memory is a CPU's
};

/// The profiles on disk. A profile that is missing or damaged is empty: measurements are made
/// again. Thread-safe; of two processes that write one profile at a time one's measurements are
/// lost.
class ProfileStore {
 public:
  explicit ProfileStore(DiskCache* cache) : cache_(cache) {}

  CostProfile device(const std::string& fingerprint);
  /// Returns the profile of one direction of a link.
  CostProfile link(const LinkEnd& from, const LinkEnd& to);
  /// Returns the profile of the delay of the first node that reads a tensor that has come over the
  /// link, by bytes.
  CostProfile reads(const LinkEnd& from, const LinkEnd& to);
  /// Returns the profile of the time for which the device that makes a tensor is busy with sending
  /// it over the link, by bytes.
  CostProfile sends(const LinkEnd& from, const LinkEnd& to);
  /// Returns the profile of how much longer nodes of a host's CPU devices take in company
  /// (RunTimes::Node::company), by the ns that they take without, times their company.
  CostProfile crowd(const std::string& host);
  /// Returns the profile of a step's time, beside what devices do, in which so many of the workers
  /// on these hosts take part; by bytes of the graph's inputs that they get.
  CostProfile step(const std::string& hosts, uint32_t workers);
  /// Returns the profile of the time that the client's process computes for a step of many, in
  /// which so many of the workers on these hosts take part; by bytes that it hands out or gets.
  CostProfile client(const std::string& hosts, uint32_t workers);
  /// Devices that were measured on a host.
  std::vector<format::MeasuredDeviceT> devicesOf(const std::string& host);

  absl::Status keepDevice(const std::string& fingerprint, const CostProfile& profile);
  absl::Status keepLink(const LinkEnd& from, const LinkEnd& to, const CostProfile& profile);
  absl::Status keepReads(const LinkEnd& from, const LinkEnd& to, const CostProfile& profile);
  absl::Status keepSends(const LinkEnd& from, const LinkEnd& to, const CostProfile& profile);
  absl::Status keepCrowd(const std::string& host, const CostProfile& profile);
  absl::Status keepStep(const std::string& hosts, uint32_t workers, const CostProfile& profile);
  absl::Status keepClient(const std::string& hosts, uint32_t workers, const CostProfile& profile);
  absl::Status addDevice(const std::string& host, const format::MeasuredDeviceT& device);
  /// Warns of what one of these returned, unless it is OK.
  void warnNotKept(const absl::Status& kept) const {
    if (!kept.ok()) {
      cache_->warnNotKept("what runs took", kept);
    }
  }

 private:
  CostProfile read(const std::string& key);

  DiskCache* cache_;
};

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_SESSION_PROFILE_COST_PROFILE_H_
