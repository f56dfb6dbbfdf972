#include "runtime/control/transfer.h"

#include "runtime/control/limits.h"
#include "test_util.h"

namespace graphrun::runtime {
namespace {

control::PlanChunk planChunk(const std::string& data, uint64_t total, uint64_t checksum) {
  control::PlanChunk chunk;
  chunk.set_plan(5);
  chunk.set_total_bytes(total);
  chunk.set_checksum(checksum);
  chunk.set_data(data);
  return chunk;
}

control::WeightChunk weightChunk(const std::string& whole, size_t offset, size_t bytes) {
  control::WeightChunk chunk;
  chunk.set_plan(5);
  chunk.set_index(3);
  chunk.mutable_id()->set_checksum(checksumOf(whole));
  chunk.mutable_id()->set_bytes(whole.size());
  chunk.set_offset(offset);
  chunk.set_data(whole.substr(offset, bytes));
  chunk.set_chunk_checksum(checksumOf(chunk.data()));
  return chunk;
}

}  // namespace

TEST_CASE("a plan is put together from its chunks") {
  PlanAssembler plan;
  requireOk(plan.add(planChunk("abc", 5, checksumOf("abcde"))));
  requireOk(plan.add(planChunk("de", 0, 0)));  // only the first chunk's header counts
  REQUIRE(plan.plan() == 5);
  REQUIRE(*plan.finish() == "abcde");
}

TEST_CASE("a damaged, short, long or huge plan is refused") {
  PlanAssembler damaged;
  requireOk(damaged.add(planChunk("abxde", 5, checksumOf("abcde"))));
  requireError(damaged.finish().status(), absl::StatusCode::kDataLoss, {"checksum"});
  PlanAssembler shortOne;
  requireOk(shortOne.add(planChunk("abc", 5, checksumOf("abcde"))));
  requireError(shortOne.finish().status(), absl::StatusCode::kDataLoss, {"3 bytes came"});
  PlanAssembler longOne;
  requireError(longOne.add(planChunk("abcdef", 5, 0)), absl::StatusCode::kInvalidArgument,
               {"6 bytes came, 5 were announced"});
  PlanAssembler huge;
  requireError(huge.add(planChunk("a", kMaxPlanBytes + 1, 0)), absl::StatusCode::kInvalidArgument,
               {"limit"});
  REQUIRE_FALSE(PlanAssembler().finish().ok());
}

TEST_CASE("weights pass when whole, also empty ones") {
  WeightChecker checker;
  std::string whole = "0123456789";
  REQUIRE_FALSE(checker.add(weightChunk(whole, 0, 4))->last);
  control::WeightChunk second = weightChunk(whole, 4, 6);
  auto piece = checker.add(second);
  REQUIRE(piece->last);
  REQUIRE(piece->data == "456789");
  REQUIRE(checker.add(weightChunk("", 0, 0))->last);
  requireOk(checker.finish());
}

TEST_CASE("damaged and misplaced weight chunks are refused by name") {
  std::string whole = "0123456789";
  SECTION("damaged chunk") {
    WeightChecker checker;
    control::WeightChunk chunk = weightChunk(whole, 0, 4);
    chunk.mutable_data()->at(2) ^= 1;
    requireError(checker.add(chunk).status(), absl::StatusCode::kDataLoss,
                 {"weight 3 at offset 0 of 10"});
  }
  SECTION("a chunk that was damaged before its checksum was made") {
    WeightChecker checker;
    control::WeightChunk chunk = weightChunk(whole, 0, 10);
    chunk.mutable_data()->at(2) ^= 1;
    chunk.set_chunk_checksum(checksumOf(chunk.data()));
    requireError(checker.add(chunk).status(), absl::StatusCode::kDataLoss, {"weight 3", "10"});
  }
  SECTION("a gap, a repetition, another weight, too much, an empty chunk") {
    control::WeightChunk other = weightChunk(whole, 4, 2);
    other.set_index(4);
    control::WeightChunk tooMuch = weightChunk(whole, 4, 6);
    *tooMuch.mutable_data() += "!";
    for (const control::WeightChunk& bad : {weightChunk(whole, 5, 2), weightChunk(whole, 0, 4),
                                            other, tooMuch, weightChunk(whole, 4, 0)}) {
      WeightChecker checker;
      requireOk(checker.add(weightChunk(whole, 0, 4)).status());
      requireError(checker.add(bad).status(), absl::StatusCode::kInvalidArgument, {"weight"});
    }
  }
  SECTION("an end too early") {
    WeightChecker checker;
    requireOk(checker.add(weightChunk(whole, 0, 4)).status());
    requireError(checker.finish(), absl::StatusCode::kDataLoss, {"after 4 of 10"});
  }
  SECTION("a weight beyond all bounds") {
    WeightChecker checker;
    control::WeightChunk chunk = weightChunk(whole, 0, 4);
    chunk.mutable_id()->set_bytes(kMaxWeightBytes + 1);
    requireError(checker.add(chunk).status(), absl::StatusCode::kInvalidArgument, {"limit"});
  }
}

}  // namespace graphrun::runtime
