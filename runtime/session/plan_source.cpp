#include "runtime/session/plan_source.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "devices/executable/machine_traits.h"
#include "runtime/base/device_kind.h"
#include "runtime/base/log.h"
#include "runtime/base/status.h"
#include "runtime/format/checksum.h"
#include "runtime/format/compiler_api_generated.h"
#include "runtime/format/weight_table.h"
#include "runtime/session/coordinator.h"
#include "runtime/session/error_domain.h"
#include "runtime/session/profile_recorder.h"

namespace graphrun::runtime {
namespace {

absl::Span<const uint8_t> bytesOf(const std::string& text) {
  return absl::MakeConstSpan(reinterpret_cast<const uint8_t*>(text.data()), text.size());
}

std::vector<std::string> textsOf(const format::StringTable* texts) {
  std::vector<std::string> result;
  result.reserve(format::sizeOf(texts));
  for (uint32_t i = 0; i < format::sizeOf(texts); ++i) {
    result.push_back(texts->Get(i)->str());
  }
  return result;
}

/// Reads a PlanResponse; `bytes` need not be aligned nor right.
absl::StatusOr<FoundPlan> readResponse(absl::Span<const uint8_t> bytes) {
  std::vector<uint64_t> aligned((bytes.size() + 7) / 8);
  std::copy(bytes.begin(), bytes.end(), reinterpret_cast<uint8_t*>(aligned.data()));
  auto* data = reinterpret_cast<const uint8_t*>(aligned.data());
  format::BudgetVerifier verifier(absl::MakeConstSpan(data, bytes.size()));
  if (!verifier.VerifyBuffer<format::PlanResponse>(nullptr)) {
    return absl::InternalError(
        absl::StrCat("the planner's answer is not a PlanResponse", verifier.reason()));
  }
  auto* response = flatbuffers::GetRoot<format::PlanResponse>(data);
  FoundPlan found;
  found.neededInputs = textsOf(response->needed_inputs());
  if (!found.neededInputs.empty()) {
    return found;
  }
  if (format::sizeOf(response->plan()) == 0) {
    return absl::InternalError("the planner's answer holds no plan");
  }
  if (format::sizeOf(response->remainder()) != 0) {
    auto remainder = std::make_shared<Remainder>();
    remainder->bytes.assign(response->remainder()->begin(), response->remainder()->end());
    remainder->hash = std::max<uint64_t>(format::checksumOf(remainder->bytes), 1);
    found.remainder = std::move(remainder);
    found.remainderInputs = textsOf(response->remainder_inputs());
  }
  GR_ASSIGN_OR_RETURN(found.plan, format::PlanFile::parse(absl::MakeConstSpan(
                                      response->plan()->data(), response->plan()->size())));
  found.explanation = std::string(format::textOf(response->explanation_json()));
  found.notes = textsOf(response->notes());
  return found;
}

/// A plan for this machine alone depends on how many logical CPUs the process may use, not on
/// which.
void addFound(format::PlanRequestT& request,
              const std::map<std::string, std::vector<DeviceDescription>>& found) {
  for (const auto& [worker, devices] : found) {
    for (const DeviceDescription& device : devices) {
      if (worker == kClientName && device.kind == kHostKind) {
        request.own_cores = std::max(request.own_cores, static_cast<uint32_t>(device.cores.size()));
        continue;
      }
      auto entry = std::make_unique<format::FoundDeviceT>();
      entry->worker = worker;
      entry->kind = device.kind;
      entry->index = device.index;
      entry->cores = device.cores;
      entry->memory_bytes = device.memoryBytes;
      entry->collectives = device.collectives;
      entry->multiplies_bytes = device.multipliesBytes;
      request.found.push_back(std::move(entry));
    }
  }
}

std::vector<std::unique_ptr<format::PinT>> rulesOf(const std::vector<PlacementPin>& rules) {
  std::vector<std::unique_ptr<format::PinT>> result;
  for (const PlacementPin& rule : rules) {
    result.push_back(std::make_unique<format::PinT>());
    result.back()->nodes = rule.nodes;
    result.back()->device = rule.device;
  }
  return result;
}

void addOptions(format::PlanRequestT& request, const SessionOptions& options) {
  request.strategy = options.strategy;
  request.objective = static_cast<uint8_t>(options.objective);
  request.from = options.from;
  request.search_ns = static_cast<uint64_t>(options.planBudget.count());
  request.threads = options.threads;
  request.fusion = options.fusion;
  request.numerics = static_cast<uint8_t>(options.numerics);
  request.precision = static_cast<uint8_t>(options.precision);
  request.pins = rulesOf(options.pins);
  request.forbids = rulesOf(options.forbids);
  for (const DeviceMemoryLimit& limit : options.memoryLimits) {
    auto entry = std::make_unique<format::MemoryLimitT>();
    entry->device = limit.device;
    entry->bytes = limit.bytes;
    request.limits.push_back(std::move(entry));
  }
  request.added_devices = options.whatIf.addedDevices;
  request.changed_links = options.whatIf.changedLinks;
  request.split = options.split;
  request.dumps = options.dumps;
}

/// Adds to a request as a compiler gets it the wishes for an explanation; what the plan is does not
/// depend on it.
void addExplanation(format::PlanRequestT& request, const ExplainOptions& wishes) {
  request.explains = true;
  request.details = wishes.details;
  request.main_choices = wishes.mainChoices;
  request.explained = wishes.nodes;
}

std::string textOf(const format::PlanRequestT& request) {
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(format::PlanRequest::Pack(builder, &request));
  return {reinterpret_cast<const char*>(builder.GetBufferPointer()), builder.GetSize()};
}

/// An answer as the disk keeps it: an explanation is told once.
std::vector<uint8_t> withoutExplanation(const std::vector<uint8_t>& response) {
  format::PlanResponseT parts;
  flatbuffers::GetRoot<format::PlanResponse>(response.data())->UnPackTo(&parts);
  parts.explanation_json.clear();
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(format::PlanResponse::Pack(builder, &parts));
  return {builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize()};
}

/// True when the request holds texts of a run: they are none of the disk's business, and a plan for
/// them is hardly ever wanted again.
bool holdsText(const std::string& request) {
  const auto* inputs = flatbuffers::GetRoot<format::PlanRequest>(request.data())->inputs();
  for (uint32_t i = 0; i < format::sizeOf(inputs); ++i) {
    if (format::sizeOf(inputs->Get(i)->strings()) != 0) {
      return true;
    }
  }
  return false;
}

/// Returns what the planner may do with CPU devices; for a plan made again, what a trial of the one
/// before it has shown.
format::SplitChoice splitsFor(SplitWish wish, const absl::StatusOr<FoundPlan>& before) {
  if (wish != SplitWish::kAsKept) {
    return wish == SplitWish::kTry ? format::SplitChoice::Tried : format::SplitChoice::Refused;
  }
  return before.ok() && before->plan != nullptr
             ? static_cast<format::SplitChoice>(before->plan->plan().splits())
             : format::SplitChoice::ByCosts;
}

/// Returns whether a plan is to be for one device: to be tried there, or to be explained as runs
/// have decided, which is what the next run does.
bool isSingle(const PlanWishes& wishes, const absl::StatusOr<FoundPlan>& before) {
  return wishes.single || (wishes.explain != nullptr && before.ok() && before->plan != nullptr &&
                           before->plan->plan().single());
}

/// Returns the key of what one device takes in the place of a plan, not in that of one which takes
/// its place.
std::string singleKey(const FoundPlan& found) {
  return CacheKey().add("single").add(found.key).add(found.plan->hash()).hex();
}

/// Adds a placement: where this is a file its content decides, not its name alone.
void addPlacementFile(CacheKey& key, const std::string& path) {
  std::error_code error;
  if (std::filesystem::is_regular_file(path, error)) {
    if (absl::StatusOr<MappedFile> file = MappedFile::open(path); file.ok()) {
      key.add(file->bytes());
    }
  }
}

}  // namespace

absl::Status planError(const absl::Status& status) {
  bool refused = absl::IsResourceExhausted(status) || absl::IsFailedPrecondition(status);
  return inDomain(status, refused                    ? ErrorDomain::kPlacement
                          : absl::IsNotFound(status) ? ErrorDomain::kInput
                          : absl::IsInternal(status) || absl::IsUnavailable(status)
                              ? ErrorDomain::kRun
                              : ErrorDomain::kModel);
}

std::string planRequest(const SessionOptions& options, const ClusterFile* cluster,
                        const Stage& stage, absl::Span<const PlannedInput> inputs,
                        const std::map<std::string, std::vector<DeviceDescription>>& found,
                        const std::map<std::string, std::string>& stateHomes) {
  format::PlanRequestT request;
  if (cluster != nullptr) {
    request.cluster_yaml = cluster->text;
    request.cluster_path = cluster->path;
  }
  for (const PlannedInput& input : inputs) {
    auto shape = std::make_unique<format::NamedShapeT>();
    shape->name = input.name;
    shape->element = static_cast<format::ElementType>(input.spec.type);
    shape->dims = input.spec.dims;
    if (input.elements != nullptr) {
      const HostTensor& tensor = *input.elements;
      auto* bytes = static_cast<const uint8_t*>(tensor.data());
      shape->has_elements = true;
      shape->elements.assign(bytes, bytes + tensor.byteSize());
      shape->strings.assign(tensor.strings().begin(), tensor.strings().end());
    }
    request.inputs.push_back(std::move(shape));
  }
  request.graph = stage.id.graph;
  if (stage.remainder != nullptr) {
    request.remainder = stage.remainder->bytes;
  }
  for (const auto& [state, device] : stateHomes) {
    auto home = std::make_unique<format::PinT>();
    home->nodes = state;
    home->device = device;
    request.state_homes.push_back(std::move(home));
  }
  addOptions(request, options);
  addFound(request, found);
  return textOf(request);
}

std::string withCosts(const std::string& request, ProfileRecorder& costs, const PlanWishes& wishes,
                      format::SplitChoice splits) {
  format::PlanRequestT parts;
  flatbuffers::GetRoot<format::PlanRequest>(request.data())->UnPackTo(&parts);
  costs.addTo(parts);
  parts.memory_share = wishes.memoryShare;
  parts.splits = splits;
  parts.single = wishes.single;
  if (wishes.explain != nullptr) {
    addExplanation(parts, *wishes.explain);
  }
  return textOf(parts);
}

absl::StatusOr<FoundPlan> PlanSource::find(const format::ModelFile& model,
                                           absl::Span<const uint8_t> bytes, const std::string& name,
                                           const std::string& request, ProfileRecorder& costs,
                                           PlanWishes wishes) {
  CacheKey parts;
  parts.add(compiler_->identity()).add(devices::machineTraits());
  parts.add(model.hash()).add(request);
  const auto* asked = flatbuffers::GetRoot<format::PlanRequest>(request.data());
  addPlacementFile(parts, std::string(format::textOf(asked->strategy())));
  addPlacementFile(parts, std::string(format::textOf(asked->from())));
  std::string key = parts.hex();
  absl::StatusOr<FoundPlan> kept = findKept(key);
  if (kept.ok() && !wishes.anew) {
    return kept;
  }
  if (absl::Status checked = model.verifyWeights(); !checked.ok()) {
    return inDomain(checked, ErrorDomain::kModel);
  }
  const bool isTrial = wishes.split == SplitWish::kTry || wishes.single;
  wishes.single = isSingle(wishes, kept);
  absl::StatusOr<std::vector<uint8_t>> made = compiler_->plan(
      bytes, name, bytesOf(withCosts(request, costs, wishes, splitsFor(wishes.split, kept))));
  if (!made.ok()) {
    return planError(made.status());
  }
  absl::StatusOr<FoundPlan> found = readResponse(*made);
  if (!found.ok()) {
    return absl::InternalError(
        absl::StrCat("the planner made a wrong plan: ", found.status().message()));
  }
  found->key = holdsText(request) ? "" : key;
  found->response = wishes.explain == nullptr ? *std::move(made) : withoutExplanation(*made);
  if (!isTrial) {
    keep(*found);
    found->response.clear();
  }
  return found;
}

absl::StatusOr<FoundPlan> PlanSource::findKept(const std::string& key) {
  std::optional<DiskCache::Entry> entry = cache_->find(key);
  if (!entry.has_value()) {
    return absl::NotFoundError("no such plan");
  }
  absl::StatusOr<FoundPlan> found = readResponse(entry->bytes);
  if (!found.ok()) {
    log(LogLevel::kWarning, absl::StrCat("cached plan ", key, " cannot be used (",
                                         found.status().message(), "); it is made again"));
    return found;
  }
  found->fromDisk = true;
  return found;
}

void PlanSource::keep(const FoundPlan& found) {
  absl::Status stored =
      found.key.empty() ? absl::OkStatus() : cache_->store(found.key, found.response);
  if (!stored.ok()) {
    cache_->warnNotKept("a plan", stored);
  }
}

void PlanSource::rememberSingle(const FoundPlan& found, uint64_t nanos) {
  const auto* bytes = reinterpret_cast<const uint8_t*>(&nanos);
  absl::Status stored =
      found.key.empty() ? absl::OkStatus()
                        : cache_->store(singleKey(found), absl::MakeConstSpan(bytes, sizeof nanos));
  if (!stored.ok()) {
    cache_->warnNotKept("what one device takes", stored);
  }
}

uint64_t PlanSource::rememberedSingle(const FoundPlan& found) {
  std::optional<DiskCache::Entry> entry =
      found.key.empty() ? std::nullopt : cache_->find(singleKey(found));
  uint64_t nanos = 0;
  if (entry.has_value() && entry->bytes.size() == sizeof nanos) {
    std::memcpy(&nanos, entry->bytes.data(), sizeof nanos);
  }
  return nanos;
}

}  // namespace graphrun::runtime
