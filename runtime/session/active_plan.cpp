#include "runtime/session/active_plan.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/clock.h"
#include "runtime/base/median.h"
#include "runtime/format/weight_table.h"

namespace graphrun::runtime {
namespace {

/// At most so many of its last runs tell how long one takes.
constexpr size_t kMostRuns = 64;

bool isAligned(const void* data) {
  return reinterpret_cast<uintptr_t>(data) % kTensorAlignment == 0;
}

}  // namespace

bool ActivePlan::isTuned() const {
  return std::all_of(devices.begin(), devices.end(),
                     [](const DeviceStats& device) { return device.tuned; });
}

bool isEstimated(const format::PlanFile& plan) {
  for (const format::Partition* partition : *plan.plan().partitions()) {
    for (uint32_t n = 0; n < format::sizeOf(partition->nodes()); ++n) {
      if (!partition->nodes()->Get(n)->measured()) {
        return true;
      }
    }
  }
  return false;
}

uint64_t ActivePlan::typicalRunNanos() const {
  std::vector<uint64_t> nanos;
  nanos.reserve(lastRuns.size());
  for (const LastRun& run : lastRuns) {
    nanos.push_back(run.nanos);
  }
  return median(std::move(nanos));
}

uint64_t ActivePlan::settledRunNanos() const {
  std::vector<uint64_t> nanos;
  for (size_t i = lastRuns.size() > 1 ? 1 : 0; i < lastRuns.size(); ++i) {
    nanos.push_back(lastRuns[i].nanos);
  }
  return lowerMedian(std::move(nanos));
}

size_t ActivePlan::runsBeside() const {
  return static_cast<size_t>(std::count_if(lastRuns.begin(), lastRuns.end(),
                                           [](const LastRun& run) { return run.beside; }));
}

uint64_t ActivePlan::typicalPeriodNanos() const {
  std::vector<uint64_t> nanos;
  for (const LastRun& run : lastRuns) {
    if (run.beside) {
      nanos.push_back(run.nanos);
    }
  }
  return median(std::move(nanos));
}

void ActivePlan::noteRun(int64_t begin) {
  const int64_t end = nowNanos();
  const LastRun run{static_cast<uint64_t>(end - std::max(begin, lastEnd)), begin < lastEnd};
  lastEnd = end;
  ranNanos += run.nanos;
  lastRuns.push_back(run);
  if (lastRuns.size() > kMostRuns) {
    lastRuns.pop_front();
  }
}

absl::Status ActivePlan::bindInputs(size_t lane, absl::Span<const StageInput> inputs) {
  for (const StageInput& input : inputs) {
    auto endpoint = own->inputs(lane).find(input.name);
    if (endpoint == own->inputs(lane).end()) {
      continue;  // nothing reads it
    }
    size_t bytes = input.tensor->byteSize();
    void* data = const_cast<void*>(input.tensor->data());
    if (endpoint->second.spec.byteSize() != bytes) {
      return absl::InternalError(absl::StrCat("the plan takes input '", input.name, "' as ",
                                              endpoint->second.spec.toString(), ", not ",
                                              input.tensor->spec().toString()));
    }
    void* use = endpoint->second.staging;
    if (use == nullptr && !isAligned(data)) {
      HostTensor& copy = aligned[lane].inputs[input.name];
      if (copy.data() == nullptr) {
        copy = HostTensor(input.tensor->spec());
      }
      use = copy.data();
    }
    if (use != nullptr && bytes != 0) {
      std::memcpy(use, data, bytes);
    }
    own->bindInput(endpoint->second, use != nullptr ? use : data);
  }
  return absl::OkStatus();
}

void ActivePlan::bindOutput(size_t lane, const std::string& name, HostTensor& tensor) {
  const LoadedPlan::Endpoint& endpoint = own->outputs(lane).at(name);
  if (tensor.spec() != endpoint.spec || tensor.data() == nullptr || tensor.isReadOnly()) {
    std::optional<HostTensor> fast = own->makeTensor(endpoint);
    tensor = fast ? *std::move(fast) : HostTensor(endpoint.spec);
  }
  void* use = endpoint.staging != nullptr ? endpoint.staging : tensor.data();
  if (!isAligned(use)) {
    HostTensor& instead = aligned[lane].outputs[name];
    if (instead.spec() != endpoint.spec) {
      instead = HostTensor(endpoint.spec);
    }
    use = instead.data();
  }
  own->bindOutput(endpoint, use);
}

void ActivePlan::fetchOutput(size_t lane, const std::string& name, HostTensor& tensor) const {
  const LoadedPlan::Endpoint& endpoint = own->outputs(lane).at(name);
  const void* from = endpoint.staging;
  if (from == nullptr && !isAligned(tensor.data())) {
    from = aligned[lane].outputs.at(name).data();
  }
  if (from != nullptr && tensor.byteSize() != 0) {
    std::memcpy(tensor.data(), from, tensor.byteSize());
  }
}

}  // namespace graphrun::runtime
