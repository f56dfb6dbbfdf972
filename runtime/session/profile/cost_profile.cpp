#include "runtime/session/profile/cost_profile.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <ctime>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/log.h"
#include "runtime/base/median.h"
#include "runtime/format/budget_verifier.h"
#include "runtime/format/weight_table.h"

namespace graphrun::runtime {
namespace {

constexpr uint32_t kVersion = 1;
/// A new measurement's share in a time, once there are many.
constexpr double kShare = 0.25;
/// Operations that a profile holds; more come in when it is new again.
constexpr size_t kMostOps = 200'000;
/// Kinds of devices that a host is remembered to have; the oldest go first.
constexpr size_t kMostDevices = 64;

/// A time so many times as long as what is known is an outlier: threads that had no core, a machine
/// that was busy. It counts for no more than that, so that what has really changed is followed
/// within some sessions. In some runs only: more tell what is usual.
constexpr double kOutlier = 3;
constexpr uint64_t kSureRuns = 50;
/// So many sessions tell what is usual, however short they are.
constexpr uint32_t kSureSessions = 2;

bool isFarAbove(uint64_t ns, uint64_t other) {
  return static_cast<double>(ns) > kOutlier * static_cast<double>(other);
}

/// Returns how far measurements of one thing are apart, with one more: the share of the new one as
/// in `merged`, of what was measured and not of what counts.
float spreadWith(float known, uint64_t ns, uint64_t runs, uint64_t measured, uint64_t newRuns) {
  if (runs == 0 || ns == 0) {
    return 0;
  }
  double share = static_cast<double>(newRuns) / static_cast<double>(runs + newRuns);
  double off = std::fabs(static_cast<double>(measured) / static_cast<double>(ns) - 1);
  share = std::max(share, kShare);
  return static_cast<float>((1 - share) * static_cast<double>(known) + share * off);
}

uint64_t secondsNow() { return static_cast<uint64_t>(std::time(nullptr)); }

/// Summarises entries with `runs()`, and their spreads.
template <typename Entries, typename Spreads>
CostProfile::Summary summaryOf(const Entries& entries, const Spreads& spreads, uint64_t updated) {
  CostProfile::Summary summary;
  std::vector<double> known;
  for (const auto& [key, entry] : entries) {
    summary.fewestRuns =
        summary.entries == 0 ? entry.runs() : std::min(summary.fewestRuns, entry.runs());
    summary.mostRuns = std::max(summary.mostRuns, entry.runs());
    ++summary.entries;
    auto spread = spreads.find(key);
    known.push_back(spread == spreads.end() ? 0 : static_cast<double>(spread->second));
  }
  if (!known.empty()) {
    summary.spread = median(std::move(known));
  }
  summary.updated = summary.entries == 0 ? 0 : updated;
  return summary;
}

/// Tensors of about one size: a factor of the square root of two apart.
int sizeClass(uint64_t bytes) {
  return bytes == 0 ? -1 : static_cast<int>(std::lround(2 * std::log2(static_cast<double>(bytes))));
}

std::string deviceKey(const std::string& fingerprint) {
  return CacheKey().add("device").add(fingerprint).hex();
}

/// Two workers on one machine share its memory; the devices of one, its process. The process that
/// the user started waits for what it gets through the whole step, and not on cores of its own.
std::string linkKey(const LinkEnd& fromEnd, const LinkEnd& toEnd, const char* what = "link") {
  const WorkerLocation& from = fromEnd.location;
  const WorkerLocation& to = toEnd.location;
  enum class Ends : uint64_t { kWorkers, kOneProcess, kFromClient, kToClient };
  Ends ends = from.worker == to.worker ? Ends::kOneProcess
              : from.worker.empty()    ? Ends::kFromClient
              : to.worker.empty()      ? Ends::kToClient
                                       : Ends::kWorkers;
  CacheKey key;
  key.add(what).add(from.host).add(to.host).add(static_cast<uint64_t>(ends));
  return key.add(fromEnd.kind).add(toEnd.kind).hex();
}

constexpr char kReads[] = "reads";
constexpr char kSends[] = "sends";

std::string stepKey(const std::string& hosts, uint32_t workers, const char* what = "step") {
  return CacheKey().add(what).add(hosts).add(uint64_t{workers}).hex();
}
constexpr char kClientWork[] = "client";
std::string crowdKey(const std::string& host) { return CacheKey().add("crowd").add(host).hex(); }
std::string hostKey(const std::string& host) { return CacheKey().add("host").add(host).hex(); }

std::vector<uint8_t> finish(flatbuffers::FlatBufferBuilder& builder) {
  return {builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize()};
}

}  // namespace

uint64_t CostProfile::averaged(uint64_t known, uint64_t runs, uint64_t measured, uint64_t newRuns) {
  double share = static_cast<double>(newRuns) / static_cast<double>(runs + newRuns);
  share = std::max(share, kShare);
  return static_cast<uint64_t>(std::llround(static_cast<double>(known) * (1 - share) +
                                            static_cast<double>(measured) * share));
}

uint64_t CostProfile::merged(uint64_t known, uint64_t runs, uint64_t measured, uint64_t newRuns) {
  if (runs > 0 && runs < kSureRuns && isFarAbove(known, measured)) {
    return measured;  // what was known was the outlier: nothing makes a kernel or a wire faster
  }
  if (runs > 0 && isFarAbove(measured, known)) {
    measured = static_cast<uint64_t>(kOutlier * static_cast<double>(known));
  }
  return averaged(known, runs, measured, newRuns);
}

absl::StatusOr<CostProfile> CostProfile::parse(absl::Span<const uint8_t> bytes) {
  format::BudgetVerifier verifier(bytes);
  if (!format::VerifyCostProfileBuffer(verifier)) {
    return absl::InvalidArgumentError(absl::StrCat("not a profile of costs", verifier.reason()));
  }
  const format::CostProfile& file = *format::GetCostProfile(bytes.data());
  if (file.version() != kVersion) {
    return absl::InvalidArgumentError(
        absl::StrCat("a profile of costs of version ", file.version(), ", expected ", kVersion));
  }
  CostProfile profile;
  for (uint32_t i = 0; i < format::sizeOf(file.ops()); ++i) {
    const format::OpTime& op = *file.ops()->Get(i);
    profile.ops_[op.signature()] = op;
    if (i < format::sizeOf(file.op_spreads())) {
      profile.opSpreads_[op.signature()] = file.op_spreads()->Get(i);
    }
  }
  for (uint32_t i = 0; i < format::sizeOf(file.transfers()); ++i) {
    const format::TransferTime& transfer = *file.transfers()->Get(i);
    profile.transfers_[sizeClass(transfer.bytes())] = transfer;
    if (i < format::sizeOf(file.transfer_spreads())) {
      profile.transferSpreads_[sizeClass(transfer.bytes())] = file.transfer_spreads()->Get(i);
    }
    // A profile that says nothing of sessions is an old one, and what it says was believed.
    profile.transferSessions_[sizeClass(transfer.bytes())] =
        i < format::sizeOf(file.transfer_sessions()) ? file.transfer_sessions()->Get(i)
                                                     : kSureSessions;
  }
  profile.updated_ = file.updated();
  return profile;
}

std::vector<uint8_t> CostProfile::write() const {
  format::CostProfileT file;
  file.version = kVersion;
  file.ops.reserve(ops_.size());
  for (const auto& [signature, op] : ops_) {
    file.ops.push_back(op);
    auto spread = opSpreads_.find(signature);
    file.op_spreads.push_back(spread == opSpreads_.end() ? 0 : spread->second);
  }
  file.transfers.reserve(transfers_.size());
  for (const auto& [size, transfer] : transfers_) {
    file.transfers.push_back(transfer);
    auto spread = transferSpreads_.find(size);
    file.transfer_spreads.push_back(spread == transferSpreads_.end() ? 0 : spread->second);
    auto sessions = transferSessions_.find(size);
    file.transfer_sessions.push_back(sessions == transferSessions_.end() ? 0 : sessions->second);
  }
  file.updated = updated_;
  flatbuffers::FlatBufferBuilder builder;
  format::FinishCostProfileBuffer(builder, format::CostProfile::Pack(builder, &file));
  return finish(builder);
}

void CostProfile::note(const format::OpTime& measured, Where where) {
  auto known = ops_.find(measured.signature());
  if (known == ops_.end() && ops_.size() >= kMostOps) {
    ops_.clear();
    opSpreads_.clear();
    known = ops_.end();
  }
  format::OpTime op = known == ops_.end() ? format::OpTime() : known->second;
  bool isKnown = op.runs() > 0;
  if (where == Where::kBorder && isKnown) {
    return;
  }
  updated_ = secondsNow();
  float& spread = opSpreads_[measured.signature()];
  spread = spreadWith(spread, op.ns(), op.runs(), measured.ns(), measured.runs());
  bool counts = isKnown || where == Where::kInner;
  ops_[measured.signature()] = {measured.signature(),
                                measured.family(),
                                measured.flops(),
                                measured.bytes(),
                                merged(op.ns(), op.runs(), measured.ns(), measured.runs()),
                                counts ? op.runs() + measured.runs() : 0,
                                measured.weight_bytes(),
                                measured.scratch_bytes()};
}

void CostProfile::noteBySize(absl::Span<const Transfer> transfers, uint64_t runs, Merge merge) {
  std::map<int, std::vector<Transfer>> bySize;
  for (const Transfer& transfer : transfers) {
    bySize[sizeClass(transfer.bytes)].push_back(transfer);
  }
  for (auto& [size, alike] : bySize) {
    std::vector<uint64_t> times;
    times.reserve(alike.size());
    for (const Transfer& transfer : alike) {
      times.push_back(transfer.ns);
    }
    format::TransferTime& known = transfers_[size];
    const uint64_t measured = median(std::move(times));
    float& spread = transferSpreads_[size];
    spread = spreadWith(spread, known.ns(), known.runs(), measured, runs);
    known = {known.runs() == 0 ? alike.front().bytes : known.bytes(),
             merge(known.ns(), known.runs(), measured, runs), known.runs() + runs};
    uint32_t& sessions = transferSessions_[size];
    sessions = std::min(sessions + 1, kSureSessions);
    updated_ = secondsNow();
  }
}

CostProfile::Summary CostProfile::opSummary() const {
  return summaryOf(ops_, opSpreads_, updated_);
}

CostProfile::Summary CostProfile::transferSummary() const {
  return summaryOf(transfers_, transferSpreads_, updated_);
}

std::optional<LinkFit> CostProfile::fit() const {
  std::vector<format::TransferTime> transfers;
  transfers.reserve(transfers_.size());
  uint64_t fastest = UINT64_MAX;  // of larger tensors, than which none is much slower
  for (auto it = transfers_.rbegin(); it != transfers_.rend(); ++it) {
    format::TransferTime transfer = it->second;
    fastest = std::min(fastest, transfer.ns());
    if (isFarAbove(transfer.ns(), fastest)) {
      transfer = {transfer.bytes(), static_cast<uint64_t>(kOutlier * static_cast<double>(fastest)),
                  transfer.runs()};
    }
    transfers.push_back(transfer);
  }
  std::reverse(transfers.begin(), transfers.end());
  return fitLink(transfers);
}

bool CostProfile::isUnsure() const {
  return !transfers_.empty() &&
         std::all_of(transfers_.begin(), transfers_.end(), [&](const auto& entry) {
           auto sessions = transferSessions_.find(entry.first);
           return entry.second.runs() < kSureRuns && sessions != transferSessions_.end() &&
                  sessions->second < kSureSessions;
         });
}

double CostProfile::nanosPerByte() const {
  double ns = 0;
  double bytes = 0;
  for (const auto& [size, transfer] : transfers_) {
    ns += static_cast<double>(transfer.ns());
    bytes += static_cast<double>(transfer.bytes());
  }
  return bytes > 0 ? ns / bytes : 0;
}

CostProfile ProfileStore::read(const std::string& key) {
  std::optional<DiskCache::Entry> entry = cache_->find(key);
  if (!entry.has_value()) {
    return {};
  }
  absl::StatusOr<CostProfile> profile = CostProfile::parse(entry->bytes);
  if (!profile.ok()) {
    log(LogLevel::kWarning, absl::StrCat("measured costs ", key, " cannot be used (",
                                         profile.status().message(), "); they are measured again"));
    return {};
  }
  return *std::move(profile);
}

CostProfile ProfileStore::device(const std::string& fingerprint) {
  return read(deviceKey(fingerprint));
}
CostProfile ProfileStore::link(const LinkEnd& from, const LinkEnd& to) {
  return read(linkKey(from, to));
}
CostProfile ProfileStore::reads(const LinkEnd& from, const LinkEnd& to) {
  return read(linkKey(from, to, kReads));
}
CostProfile ProfileStore::sends(const LinkEnd& from, const LinkEnd& to) {
  return read(linkKey(from, to, kSends));
}
CostProfile ProfileStore::crowd(const std::string& host) { return read(crowdKey(host)); }
CostProfile ProfileStore::step(const std::string& hosts, uint32_t workers) {
  return read(stepKey(hosts, workers));
}

CostProfile ProfileStore::client(const std::string& hosts, uint32_t workers) {
  return read(stepKey(hosts, workers, kClientWork));
}

absl::Status ProfileStore::keepDevice(const std::string& fingerprint, const CostProfile& profile) {
  return cache_->store(deviceKey(fingerprint), profile.write());
}

absl::Status ProfileStore::keepLink(const LinkEnd& from, const LinkEnd& to,
                                    const CostProfile& profile) {
  return cache_->store(linkKey(from, to), profile.write());
}

absl::Status ProfileStore::keepReads(const LinkEnd& from, const LinkEnd& to,
                                     const CostProfile& profile) {
  return cache_->store(linkKey(from, to, kReads), profile.write());
}

absl::Status ProfileStore::keepSends(const LinkEnd& from, const LinkEnd& to,
                                     const CostProfile& profile) {
  return cache_->store(linkKey(from, to, kSends), profile.write());
}

absl::Status ProfileStore::keepCrowd(const std::string& host, const CostProfile& profile) {
  return cache_->store(crowdKey(host), profile.write());
}

absl::Status ProfileStore::keepStep(const std::string& hosts, uint32_t workers,
                                    const CostProfile& profile) {
  return cache_->store(stepKey(hosts, workers), profile.write());
}

absl::Status ProfileStore::keepClient(const std::string& hosts, uint32_t workers,
                                      const CostProfile& profile) {
  return cache_->store(stepKey(hosts, workers, kClientWork), profile.write());
}

std::vector<format::MeasuredDeviceT> ProfileStore::devicesOf(const std::string& host) {
  std::vector<format::MeasuredDeviceT> devices;
  std::optional<DiskCache::Entry> entry = cache_->find(hostKey(host));
  if (!entry.has_value()) {
    return devices;
  }
  format::BudgetVerifier verifier(entry->bytes);
  if (!verifier.VerifyBuffer<format::Machine>(nullptr)) {
    return devices;  // measured again
  }
  const auto* machine = flatbuffers::GetRoot<format::Machine>(entry->bytes.data());
  for (uint32_t i = 0; i < format::sizeOf(machine->devices()); ++i) {
    machine->devices()->Get(i)->UnPackTo(&devices.emplace_back());
  }
  return devices;
}

absl::Status ProfileStore::addDevice(const std::string& host,
                                     const format::MeasuredDeviceT& device) {
  std::vector<format::MeasuredDeviceT> devices = devicesOf(host);
  auto isSame = [&](const format::MeasuredDeviceT& other) {
    return other.kind == device.kind && other.cores == device.cores && other.index == device.index;
  };
  auto known = std::find_if(devices.begin(), devices.end(), isSame);
  if (known != devices.end() && known->fingerprint == device.fingerprint) {
    return absl::OkStatus();
  }
  std::erase_if(devices, isSame);
  devices.push_back(device);
  if (devices.size() > kMostDevices) {
    devices.erase(devices.begin());
  }
  format::MachineT machine;
  for (const format::MeasuredDeviceT& entry : devices) {
    machine.devices.push_back(std::make_unique<format::MeasuredDeviceT>(entry));
  }
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(format::Machine::Pack(builder, &machine));
  return cache_->store(hostKey(host), finish(builder));
}

}  // namespace graphrun::runtime
