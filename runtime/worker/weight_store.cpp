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

bool WeightStore::has(const WeightId& id) {
  {
    std::lock_guard lock(mutex_);
    if (models_.contains({id.checksum, id.bytes})) {
      return true;
    }
  }
  return cache_->find(fileName(id)).has_value();
}

absl::Status WeightStore::put(const WeightPiece& piece) {
  std::lock_guard lock(mutex_);
  Piece key{piece.plan, piece.index};
  if (piece.offset == 0) {
    arriving_.erase(key);
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
  return status;
}

void WeightStore::dropUnfinished() {
  std::lock_guard lock(mutex_);
  arriving_.clear();
}

absl::StatusOr<devices::Weight> WeightStore::get(const WeightId& id) {
  std::unique_lock lock(mutex_);
  if (auto found = models_.find({id.checksum, id.bytes}); found != models_.end()) {
    auto [model, index] = found->second;
    lock.unlock();
    GR_ASSIGN_OR_RETURN(absl::Span<const uint8_t> bytes, model->weight(index));
    return devices::Weight{bytes, model, id.checksum};
  }
  lock.unlock();
  std::optional<DiskCache::Entry> entry = cache_->find(fileName(id));
  if (!entry.has_value()) {
    return absl::NotFoundError(
        absl::StrCat("it is neither in a model file on this machine nor in ", cache_->folder()));
  }
  auto owner = std::make_shared<DiskCache::Entry>(*std::move(entry));
  return devices::Weight{owner->bytes, owner, id.checksum};
}

void WeightStore::release(const WeightId& id) {
  std::lock_guard lock(mutex_);
  if (auto found = models_.find({id.checksum, id.bytes}); found != models_.end()) {
    found->second.first->release(found->second.second);
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
