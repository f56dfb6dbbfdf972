#include "devices/cpu/runtime/packed_weights.h"

#include "absl/strings/str_cat.h"
#include "devices/cpu/base/cpu_memory.h"
#include "devices/cpu/runtime/packing.h"
#include "devices/executable/quantized_elements.h"

namespace graphrun::devices::cpu {
namespace {

void addDesc(std::string& key, const TensorDesc& desc) {
  absl::StrAppend(&key, " ", desc.spec().toString(), " ", desc.layout.size(), ":");
  key.append(desc.layout.begin(), desc.layout.end());
}

/// All that the packed bytes depend on.
std::string keyOf(const Buffer& buffer, uint64_t checksum) {
  std::string key = absl::StrCat(checksum, " ", buffer.splat, quantizationKey(buffer));
  addDesc(key, buffer.desc);
  if (buffer.source) {
    addDesc(key, *buffer.source);
  }
  return key;
}

absl::StatusOr<std::shared_ptr<uint8_t>> pack(const Buffer& buffer, const Weight& given,
                                              OneDnn& onednn, const std::function<void()>& taken) {
  GR_ASSIGN_OR_RETURN(Memory memory, allocateMemory(buffer.bytes));
  GR_RETURN_IF_ERROR(packBuffer(buffer, given.bytes, memory.get(), onednn, taken));
  return std::shared_ptr<uint8_t>(std::move(memory));
}

}  // namespace

std::shared_ptr<uint8_t> PackedWeights::find(const Buffer& buffer, uint64_t checksum) {
  if (checksum == 0) {
    return nullptr;
  }
  std::lock_guard lock(mutex_);
  auto found = entries_.find(keyOf(buffer, checksum));
  return found == entries_.end() ? nullptr : found->second.packed.lock();
}

absl::StatusOr<PackedWeights::Packed> PackedWeights::get(const Buffer& buffer, const Weight& given,
                                                         OneDnn& onednn,
                                                         const std::function<void()>& taken) {
  if (given.checksum == 0) {
    GR_ASSIGN_OR_RETURN(std::shared_ptr<uint8_t> own, pack(buffer, given, onednn, taken));
    return Packed{std::move(own), false};
  }
  std::string key = keyOf(buffer, given.checksum);
  std::unique_lock lock(mutex_);
  if (std::shared_ptr<uint8_t> found = entries_[key].packed.lock()) {
    return Packed{std::move(found), true};
  }
  lock.unlock();  // others may pack meanwhile, at worst the same
  GR_ASSIGN_OR_RETURN(std::shared_ptr<uint8_t> made, pack(buffer, given, onednn, taken));
  lock.lock();
  Entry& entry = entries_[key];
  if (std::shared_ptr<uint8_t> first = entry.packed.lock()) {
    return Packed{std::move(first), true};
  }
  entry = {made, buffer.bytes};
  return Packed{std::move(made), false};
}

void PackedWeights::dropUnused() {
  std::lock_guard lock(mutex_);
  std::erase_if(entries_, [](const auto& entry) { return entry.second.packed.expired(); });
}

uint64_t PackedWeights::bytes() const {
  std::lock_guard lock(mutex_);
  uint64_t bytes = 0;
  for (const auto& [key, entry] : entries_) {
    bytes += entry.packed.expired() ? 0 : entry.bytes;
  }
  return bytes;
}

}  // namespace graphrun::devices::cpu
