// Batches, and the thread that makes them ahead.
#include "runtime/data/batch_reader.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <thread>

namespace graphrun::runtime {
namespace {

using Catch::Matchers::Contains;

/// Samples whose input and target are their index; `calls` counts the batches that were made.
class Counting : public Dataset {
 public:
  explicit Counting(int64_t count, int64_t failing = -1) : count_(count), failing_(failing) {
    fields_.push_back({"x", {ElementType::kI64, {}}});
  }
  int64_t count() const override { return count_; }
  const std::vector<Field>& inputs() const override { return fields_; }
  const Field& target() const override { return fields_.front(); }
  absl::Status fill(absl::Span<const int64_t> indices, absl::Span<HostTensor> inputs,
                    HostTensor& target) const override {
    ++calls;
    for (size_t i = 0; i < indices.size(); ++i) {
      if (indices[i] == failing_) {
        return absl::DataLossError("this sample is lost");
      }
      inputs[0].as<int64_t>()[i] = indices[i];
      target.as<int64_t>()[i] = indices[i];
    }
    return absl::OkStatus();
  }
  absl::Status checkLabels(int64_t /*classes*/) const override { return absl::OkStatus(); }

  mutable std::atomic<int> calls = 0;

 private:
  int64_t count_;
  int64_t failing_;
  std::vector<Field> fields_;
};

std::vector<std::vector<int64_t>> batchesOf(const Dataset& data, const BatchOptions& options) {
  auto reader = BatchReader::create(data, options);
  REQUIRE(reader.ok());
  std::vector<std::vector<int64_t>> batches;
  while (true) {
    auto batch = (*reader)->next();
    REQUIRE(batch.ok());
    if (!batch->has_value()) {
      return batches;
    }
    const auto samples = (**batch).target.as<int64_t>();
    CHECK((**batch).samples == static_cast<int64_t>(samples.size()));
    CHECK((**batch).inputs[0].name == "x");
    CHECK((**batch).inputs[0].tensor.as<int64_t>()[0] == samples[0]);
    batches.emplace_back(samples.begin(), samples.end());
  }
}

TEST_CASE("an epoch's smaller batch is left out or kept") {
  Counting data(5);
  using Batches = std::vector<std::vector<int64_t>>;
  CHECK(batchesInEpoch(5, {.size = 2}) == 2);
  CHECK(batchesInEpoch(5, {.size = 2, .keepsSmaller = true}) == 3);
  CHECK(batchesInEpoch(4, {.size = 2, .keepsSmaller = true}) == 2);
  CHECK(batchesOf(data, {.size = 2, .end = 3}) == Batches{{0, 1}, {2, 3}, {0, 1}});
  CHECK(batchesOf(data, {.size = 2, .keepsSmaller = true, .end = 4}) ==
        Batches{{0, 1}, {2, 3}, {4}, {0, 1}});
  CHECK(batchesOf(data, {.size = 2, .end = 0}).empty());
}

TEST_CASE("who resumes gets the batches that would have come") {
  Counting data(23);
  const BatchOptions options{.size = 4, .shuffles = true, .seed = 9, .end = 14};
  const auto all = batchesOf(data, options);
  REQUIRE(all.size() == 14);
  CHECK(all[0] != all[5]);  // another epoch, another order
  BatchOptions rest = options;
  rest.first = 8;
  CHECK(batchesOf(data, rest) == std::vector(all.begin() + 8, all.end()));
}

TEST_CASE("batches tell where their epoch ends") {
  Counting data(4);
  auto reader = BatchReader::create(data, {.size = 2, .end = 3});
  REQUIRE(reader.ok());
  for (int64_t i = 0; i < 3; ++i) {
    auto batch = (*reader)->next();
    REQUIRE(batch.ok());
    REQUIRE(batch->has_value());
    CHECK((**batch).epoch == i / 2);
    CHECK((**batch).endsEpoch == (i == 1));
  }
}

TEST_CASE("wrong sizes are refused") {
  Counting data(3);
  CHECK_THAT(std::string(BatchReader::create(data, {.size = 0}).status().message()),
             Contains("batch is 0, expected at least 1"));
  CHECK_THAT(std::string(BatchReader::create(data, {.size = 4}).status().message()),
             Contains("batch is 4, but the data have 3 samples"));
  CHECK(BatchReader::create(data, {.size = 4, .keepsSmaller = true}).ok());
}

TEST_CASE("a sample that cannot be read ends the batches behind those that can") {
  Counting data(6, /*failing=*/3);
  auto reader = BatchReader::create(data, {.size = 2, .end = 3});
  REQUIRE(reader.ok());
  CHECK((*reader)->next().ok());
  CHECK(absl::IsDataLoss((*reader)->next().status()));
  CHECK(absl::IsDataLoss((*reader)->next().status()));
}

TEST_CASE("no more than two batches are made ahead, and the reader can be left at any time") {
  Counting data(1000);
  for (int used : {0, 1, 3}) {
    data.calls = 0;
    auto reader = BatchReader::create(data, {.size = 1, .end = 1000});
    REQUIRE(reader.ok());
    for (int i = 0; i < used; ++i) {
      REQUIRE((*reader)->next().ok());
    }
    while (data.calls < used + 2) {
      std::this_thread::yield();
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    CHECK(data.calls == used + 2);
  }
}

}  // namespace
}  // namespace graphrun::runtime
