#include "runtime/worker/state_store.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"

namespace graphrun::runtime {
namespace {

absl::Status checkSpec(const std::string& name, const TensorSpec& has, const TensorSpec& wanted) {
  return has == wanted
             ? absl::OkStatus()
             : absl::InvalidArgumentError(absl::StrCat(
                   "state '", name, "' is of ", has.toString(), ", got ", wanted.toString(),
                   "; it has one type and shape in all graphs and files"));
}

absl::StatusOr<std::shared_ptr<void>> allocate(const std::shared_ptr<SharedDevice>& device,
                                               const TensorSpec& spec) {
  GR_ASSIGN_OR_RETURN(void* memory, device->device->allocate(std::max<size_t>(spec.byteSize(), 1)));
  return std::shared_ptr<void>(memory,
                               [device](void* bytes) { device->device->deallocate(bytes); });
}

/// Fills `to` with the first value of a state.
absl::Status fill(const devices::StateBinding& binding, devices::WeightSource& weights, void* to) {
  const size_t bytes = binding.spec.byteSize();
  devices::Weight weight{binding.first.bytes, nullptr};
  if (binding.first.weight) {
    GR_ASSIGN_OR_RETURN(weight, weights.weight(*binding.first.weight));
  }
  const size_t given = weight.bytes.size();
  const bool fits = binding.first.splat ? given == elementSize(binding.spec.type) : given == bytes;
  if (!fits) {
    return absl::InvalidArgumentError(absl::StrCat("state '", binding.name, "' begins with ", given,
                                                   " bytes, expected ", bytes, " for ",
                                                   binding.spec.toString()));
  }
  auto* target = static_cast<uint8_t*>(to);
  for (size_t at = 0; at < bytes && given != 0; at += given) {
    std::memcpy(target + at, weight.bytes.data(), given);
  }
  if (binding.first.weight) {
    weights.release(*binding.first.weight);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::shared_ptr<StateCell>> StateStore::bind(
    const devices::StateBinding& binding, devices::WeightSource& weights,
    const std::shared_ptr<SharedDevice>& device) {
  if (device->device->bindsHostMemory()) {
    return absl::UnimplementedError(
        absl::StrCat("state '", binding.name, "' cannot be on ", device->device->description().name,
                     ", which has memory of its own; pin its node to a CPU"));
  }
  std::lock_guard lock(mutex_);
  auto found = states_.find(binding.name);
  if (found != states_.end()) {
    GR_RETURN_IF_ERROR(checkSpec(binding.name, found->second.spec, binding.spec));
  }
  if (found == states_.end() || found->second.cell == nullptr) {
    GR_ASSIGN_OR_RETURN(std::shared_ptr<void> memory, allocate(device, binding.spec));
    if (found != states_.end()) {
      const HostTensor& given = found->second.given;
      if (given.byteSize() != 0) {
        std::memcpy(memory.get(), given.data(), given.byteSize());
      }
    } else {
      GR_RETURN_IF_ERROR(fill(binding, weights, memory.get()));
    }
    found = states_
                .insert_or_assign(binding.name,
                                  Entry{binding.spec, std::make_shared<StateCell>(memory), {}})
                .first;
  }
  StateCell& cell = *found->second.cell;
  if (binding.next && cell.next() == nullptr) {
    GR_ASSIGN_OR_RETURN(std::shared_ptr<void> next, allocate(device, binding.spec));
    cell.growNext(std::move(next));
  }
  return found->second.cell;
}

std::optional<HostTensor> StateStore::get(const std::string& name) {
  std::lock_guard lock(mutex_);
  auto found = states_.find(name);
  if (found == states_.end()) {
    return std::nullopt;
  }
  const Entry& entry = found->second;
  if (entry.cell == nullptr) {
    return entry.given.clone();
  }
  HostTensor copy(entry.spec);
  if (copy.byteSize() != 0) {
    std::memcpy(copy.data(), entry.cell->value(), copy.byteSize());
  }
  return copy;
}

absl::Status StateStore::set(const std::string& name, const HostTensor& value) {
  std::lock_guard lock(mutex_);
  auto found = states_.find(name);
  if (found != states_.end()) {
    GR_RETURN_IF_ERROR(checkSpec(name, found->second.spec, value.spec()));
    if (found->second.cell != nullptr) {
      if (value.byteSize() != 0) {
        std::memcpy(found->second.cell->value(), value.data(), value.byteSize());
      }
      return absl::OkStatus();
    }
  }
  states_.insert_or_assign(name, Entry{value.spec(), nullptr, value.clone()});
  return absl::OkStatus();
}

void StateStore::clear() {
  std::lock_guard lock(mutex_);
  states_.clear();
}

}  // namespace graphrun::runtime
