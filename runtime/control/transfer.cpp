#include "runtime/control/transfer.h"

#include <xxhash.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/control/limits.h"
#include "runtime/format/checksum.h"

namespace graphrun::runtime {
namespace {

std::string weightAt(const control::WeightChunk& chunk) {
  return absl::StrCat("weight ", chunk.index(), " at offset ", chunk.offset(), " of ",
                      chunk.id().bytes());
}

}  // namespace

uint64_t checksumOf(absl::string_view data) {
  return format::checksumOf({reinterpret_cast<const uint8_t*>(data.data()), data.size()});
}

absl::Status PlanAssembler::add(const control::PlanChunk& chunk) {
  if (!started_) {
    started_ = true;
    plan_ = chunk.plan();
    total_ = chunk.total_bytes();
    checksum_ = chunk.checksum();
    if (total_ > kMaxPlanBytes) {
      return absl::InvalidArgumentError(
          absl::StrCat("plan of ", total_, " bytes: the limit is ", kMaxPlanBytes));
    }
    // Memory grows with what arrives, not with what is announced.
    bytes_.reserve(std::min<uint64_t>(total_, kChunkBytes));
  }
  if (chunk.data().size() > total_ - bytes_.size()) {
    return absl::InvalidArgumentError(absl::StrCat("plan: ", bytes_.size() + chunk.data().size(),
                                                   " bytes came, ", total_, " were announced"));
  }
  bytes_ += chunk.data();
  return absl::OkStatus();
}

absl::StatusOr<std::string> PlanAssembler::finish() {
  if (!started_ || bytes_.size() != total_) {
    return absl::DataLossError(
        absl::StrCat("plan: ", bytes_.size(), " bytes came, ", total_, " were announced"));
  }
  if (checksumOf(bytes_) != checksum_) {
    return absl::DataLossError(
        absl::StrCat("plan: the checksum of its ", total_, " bytes is wrong; damaged on the way"));
  }
  return std::move(bytes_);
}

WeightChecker::WeightChecker() : hash_(XXH3_createState()) {}
WeightChecker::~WeightChecker() = default;

void WeightChecker::FreeState::operator()(XXH3_state_s* state) const { XXH3_freeState(state); }

absl::Status WeightChecker::begin(const control::WeightChunk& chunk) {
  if (chunk.id().bytes() > kMaxWeightBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat(weightAt(chunk), ": the limit of one weight is ", kMaxWeightBytes, " bytes"));
  }
  inside_ = true;
  plan_ = chunk.plan();
  index_ = chunk.index();
  id_ = {chunk.id().checksum(), chunk.id().bytes()};
  next_ = 0;
  XXH3_64bits_reset(hash_.get());
  return absl::OkStatus();
}

absl::Status WeightChecker::checkPosition(const control::WeightChunk& chunk) const {
  bool same = chunk.plan() == plan_ && chunk.index() == index_ &&
              chunk.id().checksum() == id_.checksum && chunk.id().bytes() == id_.bytes;
  if (!same || chunk.offset() != next_) {
    return absl::InvalidArgumentError(absl::StrCat(weightAt(chunk), ": expected weight ", index_,
                                                   " at offset ", next_, " of ", id_.bytes));
  }
  uint64_t room = id_.bytes - next_;
  if (chunk.data().size() > room || (chunk.data().empty() && room > 0)) {
    return absl::InvalidArgumentError(absl::StrCat(weightAt(chunk), ": a chunk of ",
                                                   chunk.data().size(), " bytes where ", room,
                                                   " are missing"));
  }
  return absl::OkStatus();
}

absl::StatusOr<WeightPiece> WeightChecker::add(const control::WeightChunk& chunk) {
  if (!inside_) {
    GR_RETURN_IF_ERROR(begin(chunk));
  }
  GR_RETURN_IF_ERROR(checkPosition(chunk));
  const std::string& data = chunk.data();
  if (checksumOf(data) != chunk.chunk_checksum()) {
    return absl::DataLossError(
        absl::StrCat(weightAt(chunk), ": the checksum of the chunk is wrong; damaged on the way"));
  }
  XXH3_64bits_update(hash_.get(), data.data(), data.size());
  next_ += data.size();
  bool last = next_ == id_.bytes;
  if (last && XXH3_64bits_digest(hash_.get()) != id_.checksum) {
    return absl::DataLossError(
        absl::StrCat("weight ", index_, ": the checksum of its ", id_.bytes,
                     " bytes is wrong; the model file is damaged or was changed"));
  }
  inside_ = !last;
  return WeightPiece{plan_, index_, id_, chunk.offset(), data, last};
}

absl::Status WeightChecker::finish() const {
  return inside_ ? absl::DataLossError(absl::StrCat("weight ", index_, ": the stream ended after ",
                                                    next_, " of ", id_.bytes, " bytes"))
                 : absl::OkStatus();
}

}  // namespace graphrun::runtime
