#include "runtime/worker/weight_store.h"

#include <catch2/catch.hpp>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include "runtime/format/checksum.h"
#include "tests/runtime/format/samples.h"

namespace graphrun::runtime {
namespace {

using format::PlanFile;
using format::TemporaryFolder;

/// A store in an empty folder that knows no model: only what a plan carries can be found.
struct EmptyStore {
  TemporaryFolder folder;
  DiskCache cache{folder.file("weights"), 1 << 16};
  WeightStore store{&cache};
};

constexpr size_t kPieceBytes = size_t{1} << 15;

std::string contentOf(char letter) { return std::string(kPieceBytes, letter); }

WeightId idOf(const std::string& content) {
  return {format::checksumOf({reinterpret_cast<const uint8_t*>(content.data()), content.size()}),
          content.size()};
}

/// One that comes as one piece, or only begins to.
absl::Status put(WeightStore& store, uint32_t index, const std::string& content,
                 bool whole = true) {
  absl::string_view piece = absl::string_view(content).substr(0, whole ? content.size() : 1);
  return store.put({1, index, idOf(content), 0, piece, whole});
}

std::string got(WeightStore& store, const WeightId& id) {
  absl::StatusOr<devices::Weight> weight = store.get(id);
  return weight.ok() ? std::string(weight->bytes.begin(), weight->bytes.end())
                     : std::string(weight.status().message());
}

void turnBit(const std::string& path, std::streamoff offset) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(offset);
  const auto byte = static_cast<char>(file.get() ^ 1);
  file.seekp(offset);
  file.put(byte);
}

std::string onlyFile(const std::string& folder) {
  return std::filesystem::directory_iterator(folder)->path();
}

/// Writes in place, long enough after the file was made that its time of change is another.
void overwrite(const std::string& path, const std::vector<uint8_t>& bytes) {
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  std::ofstream(path, std::ios::binary | std::ios::in)
      .write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
}

/// The sample model with other weights, and so other checksums: of the same length.
std::vector<uint8_t> otherModel() {
  format::ModelT model = format::sampleModel();
  std::vector<uint8_t> bytes = format::modelBytes(model);
  uint8_t* first = bytes.data() + bytes.size() - 128;
  first[23] ^= 0x10;
  const auto& entry = *model.weights[0];
  model.weights[0]->checksum = model.weights[2]->checksum =
      format::checksumOf({first, entry.length});
  const uint8_t changed = first[23];
  bytes = format::modelBytes(model);
  bytes[bytes.size() - 128 + 23] = changed;
  return bytes;
}

std::shared_ptr<const PlanFile> parsed(const format::PlanT& plan) {
  auto file = PlanFile::parse(format::planBytes(plan));
  REQUIRE(file.status() == absl::OkStatus());
  return *file;
}

TEST_CASE("a weight that planning made is read from the plan, and from nowhere else") {
  EmptyStore empty;
  std::shared_ptr<const PlanFile> plan = parsed(format::samplePlan());
  PlanWeights weights(plan->plan(), &empty.store);
  auto bias = weights.weight(1);
  REQUIRE(bias.status() == absl::OkStatus());
  REQUIRE(bias->bytes.size() == sizeof(float));
  float value = 0;
  std::memcpy(&value, bias->bytes.data(), sizeof value);
  CHECK(value == 0.5F);
  CHECK(bias->bytes.data() >= plan->bytes().data());
  CHECK(bias->bytes.data() < plan->bytes().data() + plan->bytes().size());

  CHECK(bias->owner == nullptr);
  CHECK(weights.checksum(1) == 0);  // of what a plan carries nobody has checked it
  CHECK(weights.checksum(0) != 0);
  weights.release(1);
  CHECK(weights.weight(1)->bytes.data() == bias->bytes.data());

  auto absent = weights.weight(0);
  CHECK(absl::IsNotFound(absent.status()));
  CHECK_THAT(std::string(absent.status().message()), Catch::Contains("weight 'w'"));
  CHECK(absl::IsOutOfRange(weights.weight(3).status()));
}

TEST_CASE("an empty weight of a plan without constants is empty") {
  EmptyStore empty;
  format::PlanT sample = format::samplePlan();
  sample.constants.clear();
  sample.weights[1]->type->dims = {0};
  sample.weights[1]->splat = false;
  sample.weights[1]->length = 0;
  std::shared_ptr<const PlanFile> plan = parsed(sample);
  REQUIRE(plan->plan().constants() == nullptr);
  auto weight = PlanWeights(plan->plan(), &empty.store).weight(1);
  REQUIRE(weight.status() == absl::OkStatus());
  CHECK(weight->bytes.empty());
}

TEST_CASE("a model file that is overwritten in place gives no weight of the other model") {
  EmptyStore empty;
  const std::string path = empty.folder.file("model.fb");
  std::ofstream(path) << "";
  overwrite(path, format::modelBytes(format::sampleModel()));
  auto model = format::ModelFile::open(path);
  REQUIRE(model.status() == absl::OkStatus());
  const WeightId id = {(*model)->model().weights()->Get(0)->checksum(), 24};
  empty.store.addModel(*model);
  CHECK(empty.store.has(id));
  CHECK(empty.store.get(id).ok());
  CHECK((*model)->checkUnchanged() == absl::OkStatus());

  std::filesystem::last_write_time(path, std::filesystem::file_time_type::clock::now());
  CHECK((*model)->checkUnchanged() == absl::OkStatus());  // read again, and the same
  CHECK(empty.store.get(id).ok());

  overwrite(path, otherModel());
  REQUIRE(format::ModelFile::open(path).status() == absl::OkStatus());
  CHECK_FALSE(empty.store.has(id));
  CHECK_THAT(got(empty.store, id), Catch::Contains("written to after it was opened"));
  CHECK_THAT(std::string((*model)->checkUnchanged().message()),
             Catch::Contains("overwritten with another model"));

  std::filesystem::resize_file(path, 64);
  CHECK_FALSE(empty.store.has(id));
  CHECK_THAT(got(empty.store, id), Catch::Contains("cut short"));
  CHECK(absl::IsDataLoss((*model)->checkUnchanged()));
}

TEST_CASE("whether a weight is there is told without reading it, and it is read once a job") {
  EmptyStore empty;
  const std::string content = contentOf('a');
  REQUIRE(put(empty.store, 0, content) == absl::OkStatus());
  const std::string path = onlyFile(empty.folder.file("weights"));
  CHECK(got(empty.store, idOf(content)) == content);
  turnBit(path, 100);
  CHECK(empty.store.get(idOf(content)).ok());

  empty.store.endJob();
  CHECK(empty.store.has(idOf(content)));
  CHECK(absl::IsNotFound(empty.store.get(idOf(content)).status()));
  CHECK_FALSE(empty.store.has(idOf(content)));
  REQUIRE(put(empty.store, 0, content) == absl::OkStatus());
  CHECK(got(empty.store, idOf(content)) == content);

  std::filesystem::resize_file(path, 64 + kPieceBytes / 2);
  empty.store.endJob();
  CHECK_FALSE(empty.store.has(idOf(content)));
}

TEST_CASE("a job gets all its weights out of a cache that is too small for them") {
  EmptyStore empty;
  const std::string letters = "abcdefgh";  // four times what the cache keeps
  for (uint32_t i = 0; i < letters.size(); ++i) {
    REQUIRE(put(empty.store, i, contentOf(letters[i])) == absl::OkStatus());
  }
  for (char letter : letters) {
    CHECK(empty.store.has(idOf(contentOf(letter))));
    CHECK(got(empty.store, idOf(contentOf(letter))) == contentOf(letter));
  }
  empty.store.endJob();
  CHECK_FALSE(empty.store.has(idOf(contentOf('a'))));
}

TEST_CASE("weights that never come whole are bounded in number") {
  EmptyStore empty;
  uint32_t begun = 0;
  while (begun <= kMaxArrivingWeights &&
         put(empty.store, begun, contentOf('a'), /*whole=*/false).ok()) {
    ++begun;
  }
  CHECK(begun == kMaxArrivingWeights);
  CHECK(absl::IsResourceExhausted(put(empty.store, begun, contentOf('b'))));
  CHECK(put(empty.store, 0, contentOf('b')) == absl::OkStatus());  // anew
  empty.store.endJob();
  CHECK(put(empty.store, begun, contentOf('b')) == absl::OkStatus());
}

}  // namespace
}  // namespace graphrun::runtime
