#include "runtime/worker/weight_store.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "runtime/base/status.h"
#include "runtime/format/weight_table.h"

namespace graphrun::runtime {
namespace {

std::string fileName(const WeightId& id) {
  return absl::StrFormat("%016x-%d", id.checksum, id.bytes);
}

}  // namespace

void WeightStore::addModel(const std::shared_ptr<const format::ModelFile>& model) {
  std::lock_guard lock(mutex_);
  for (size_t i = 0; i < model->weightCount(); ++i) {
    const format::WeightEntry& entry =
        *model->model().weights()->Get(static_cast<flatbuffers::uoffset_t>(i));
    models_[{entry.checksum(), entry.length()}] = {model, i};
  }
}

std::optional<WeightStore::InModel> WeightStore::findInModel(const WeightId& id) {
  std::lock_guard lock(mutex_);
  auto found = models_.find({id.checksum, id.bytes});
  return found == models_.end() ? std::nullopt : std::optional(found->second);
}

std::shared_ptr<const DiskCache::Entry> WeightStore::hold(const WeightId& id, bool* isChecked) {
  std::lock_guard lock(mutex_);
  const Key key{id.checksum, id.bytes};
  auto found = held_.find(key);
  if (found == held_.end()) {
    std::optional<DiskCache::Entry> entry = cache_->open(fileName(id));
    if (!entry.has_value() || entry->checksum != id.checksum || entry->bytes.size() != id.bytes) {
      return nullptr;
    }
    auto owner = std::make_shared<const DiskCache::Entry>(*std::move(entry));
    found = held_.emplace(key, Held{std::move(owner)}).first;
  }
  *isChecked = found->second.checked;
  return found->second.entry;
}

absl::Status WeightStore::notHeld(const WeightId& id) const {
  return absl::UnavailableError(
      absl::StrCat("it lies in ", cache_->folder(),
                   " and cannot be mapped: was it removed, or does the address space of the worker "
                   "(`ulimit -v`) not have room for its ",
                   id.bytes, " bytes?"));
}

bool WeightStore::has(const WeightId& id) {
  std::optional<InModel> inModel = findInModel(id);
  if (inModel.has_value() && !inModel->model->wasWritten()) {
    return true;
  }
  bool isChecked = false;
  return hold(id, &isChecked) != nullptr;
}

absl::Status WeightStore::put(const WeightPiece& piece) {
  std::unique_lock lock(mutex_);
  Piece key{piece.plan, piece.index};
  if (piece.offset == 0) {
    arriving_.erase(key);
    if (arriving_.size() >= kMaxArrivingWeights) {
      return absl::ResourceExhaustedError(
          absl::StrCat("weight ", piece.index, ": ", arriving_.size(),
                       " others have begun and not come whole, which is the limit"));
    }
    GR_ASSIGN_OR_RETURN(DiskCache::Writer writer,
                        cache_->begin(fileName(piece.id), piece.id.bytes, piece.id.checksum));
    arriving_.emplace(key, std::move(writer));
  }
  auto writer = arriving_.find(key);
  if (writer == arriving_.end()) {
    return absl::InvalidArgumentError(
        absl::StrCat("weight ", piece.index, " does not begin at its offset 0"));
  }
  GR_RETURN_IF_ERROR(writer->second.write(
      absl::MakeConstSpan(reinterpret_cast<const uint8_t*>(piece.data.data()), piece.data.size())));
  if (!piece.last) {
    return absl::OkStatus();
  }
  absl::Status status = writer->second.commit();
  arriving_.erase(writer);
  held_.erase({piece.id.checksum, piece.id.bytes});  // what was there before, if anything
  lock.unlock();
  bool isChecked = false;
  if (status.ok() && hold(piece.id, &isChecked) == nullptr) {
    return annotate(notHeld(piece.id), absl::StrCat("weight ", piece.index));
  }
  return status;
}

void WeightStore::endJob() {
  std::lock_guard lock(mutex_);
  arriving_.clear();
  held_.clear();
}

absl::StatusOr<devices::Weight> WeightStore::get(const WeightId& id) {
  std::optional<InModel> inModel = findInModel(id);
  if (!inModel.has_value()) {
    return getKept(id);
  }
  absl::StatusOr<absl::Span<const uint8_t>> bytes = inModel->model->weight(inModel->index);
  if (bytes.ok()) {
    return devices::Weight{*bytes, inModel->model, id.checksum};
  }
  absl::StatusOr<devices::Weight> kept = getKept(id);
  return kept.ok() ? std::move(kept) : bytes.status();
}

/// Out of the cache.
absl::StatusOr<devices::Weight> WeightStore::getKept(const WeightId& id) {
  const Key key{id.checksum, id.bytes};
  bool isChecked = false;
  std::shared_ptr<const DiskCache::Entry> entry = hold(id, &isChecked);
  if (entry != nullptr && !isChecked) {
    isChecked = cache_->check(fileName(id), *entry);  // not under the lock: it reads all
    std::lock_guard lock(mutex_);
    if (auto found = held_.find(key); found != held_.end() && found->second.entry == entry) {
      found->second.checked = isChecked;
      if (!isChecked) {
        held_.erase(found);
      }
    }
  }
  if (entry == nullptr && cache_->has(fileName(id))) {
    return notHeld(id);
  }
  if (!isChecked) {
    return absl::NotFoundError(absl::StrCat(
        "it is neither in a model file on this machine nor, undamaged, in ", cache_->folder()));
  }
  return devices::Weight{entry->bytes, entry, id.checksum};
}

void WeightStore::release(const WeightId& id) {
  std::lock_guard lock(mutex_);
  if (auto found = models_.find({id.checksum, id.bytes}); found != models_.end()) {
    found->second.model->release(found->second.index);
  }
  if (auto found = held_.find({id.checksum, id.bytes}); found != held_.end()) {
    found->second.entry->file.release(found->second.entry->bytes);
  }
}

uint64_t PlanWeights::checksum(uint32_t index) const {
  bool known = index < format::sizeOf(plan_.weights()) && !plan_.weights()->Get(index)->in_plan();
  return known ? plan_.weights()->Get(index)->checksum() : 0;
}

void PlanWeights::release(uint32_t index) {
  if (checksum(index) != 0) {
    const format::WeightEntry& entry = *plan_.weights()->Get(index);
    std::lock_guard lock(mutex_);
    open_.erase(index);
    store_->release({entry.checksum(), entry.length()});
  }
}

absl::StatusOr<devices::Weight> PlanWeights::weight(uint32_t index) {
  std::lock_guard lock(mutex_);
  if (auto found = open_.find(index); found != open_.end()) {
    return found->second;
  }
  if (index >= format::sizeOf(plan_.weights())) {
    return absl::OutOfRangeError(absl::StrCat("the plan has no weight ", index));
  }
  const format::WeightEntry& entry = *plan_.weights()->Get(index);
  if (entry.in_plan()) {        // within bounds, as the plan was verified
    return entry.length() == 0  // there may be no constants at all
               ? devices::Weight()
               : devices::Weight{{plan_.constants()->data() + entry.offset(), entry.length()}, {}};
  }
  absl::StatusOr<devices::Weight> weight = store_->get({entry.checksum(), entry.length()});
  if (!weight.ok()) {
    return annotate(weight.status(),
                    absl::StrCat("weight ", format::inQuotes(format::textOf(entry.name()))));
  }
  return open_.emplace(index, *std::move(weight)).first->second;
}

}  // namespace graphrun::runtime
