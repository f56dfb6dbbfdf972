#include "runtime/format/model_file.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <functional>
#include <thread>

#include "runtime/format/weight_table.h"
#include "tests/runtime/format/samples.h"

namespace graphrun::format {
namespace {

using Catch::Matchers::Contains;

std::string errorOf(absl::Span<const uint8_t> file) {
  AlignedBytes bytes(file);
  auto model = ModelFile::fromBytes(bytes.span(), "m.fb");
  return model.ok() ? "ok" : std::string(model.status().message());
}

// The message for the sample model after `change`.
std::string errorAfter(const std::function<void(ModelT&)>& change) {
  ModelT model = sampleModel();
  change(model);
  return errorOf(modelBytes(model));
}

// The message for the sample file with one header field changed; checksums are set right.
template <typename Field>
std::string errorWithHeader(Field FileHeader::* field, Field value) {
  std::vector<uint8_t> file = modelBytes(sampleModel());
  FileHeader header;
  std::memcpy(&header, file.data(), sizeof(header));
  header.*field = value;
  std::memcpy(file.data(), &header, sizeof(header));
  repairChecksums(absl::MakeSpan(file));
  return errorOf(file);
}

void checkSample(const ModelFile& file) {
  GraphT graph;
  file.graph().UnPackTo(&graph);
  CHECK(graph.op_names == sampleGraph().op_names);
  CHECK(graph.input_names == std::vector<std::string>{"x", "condition"});
  REQUIRE(graph.body->operations.size() == 3);
  const OperationT& conv = *graph.body->operations[0];
  CHECK(conv.label == "conv1");
  REQUIRE(conv.attributes.size() == 11);
  CHECK(conv.attributes[6]->value.AsInts()->value == std::vector<int64_t>{1, 2});
  CHECK(conv.attributes[10]->value.AsType()->value->element == ElementType::F16);
  REQUIRE(file.weightCount() == 3);
  CHECK(file.weightSpec(0).toString() == "2x3xf32");
  auto weight = file.weight(0);
  REQUIRE(weight.ok());
  REQUIRE(weight->size() == 24);
  CHECK(reinterpret_cast<uintptr_t>(weight->data()) % 64 == 0);
  CHECK(reinterpret_cast<const float*>(weight->data())[5] == 6.0F);
  CHECK(file.weight(1)->size() == 4);
  CHECK(file.weight(2)->data() == weight->data());
  CHECK(file.verifyWeights().ok());
}

TEST_CASE("a model in memory is read") {
  AlignedBytes bytes(modelBytes(sampleModel()));
  auto file = ModelFile::fromBytes(bytes.span(), "m.fb");
  REQUIRE(file.status() == absl::OkStatus());
  checkSample(**file);
  CHECK((*file)->hash() != 0);
}

TEST_CASE("the frozen file of version 1 keeps loading") {
  auto file = ModelFile::open(GRAPHRUN_FROZEN_MODEL);
  REQUIRE(file.status() == absl::OkStatus());
  CHECK((*file)->model().version() == 1);
  CHECK((*file)->hash() == 0xf3f6f9b64a85999aU);
  checkSample(**file);
  (*file)->release(0);  // what is let go comes back from the file
  checkSample(**file);
}

TEST_CASE("files that are no model are told apart") {
  TemporaryFolder folder;
  CHECK(absl::IsNotFound(ModelFile::open(folder.file("absent")).status()));
  CHECK(absl::IsInvalidArgument(ModelFile::open(folder.file(".")).status()));
  std::ofstream(folder.file("empty.fb")).close();
  auto empty = ModelFile::open(folder.file("empty.fb"));
  CHECK_THAT(std::string(empty.status().message()),
             Contains("it has 0 bytes, expected at least the 64") && Contains("empty.fb") &&
                 Contains("graphrun compile"));
  std::ofstream(folder.file("text.fb")) << std::string(5000, 'x');
  CHECK_THAT(std::string(ModelFile::open(folder.file("text.fb")).status().message()),
             Contains("mark of a graphrun model"));
}

TEST_CASE("each header field is checked") {
  using H = FileHeader;
  CHECK(errorWithHeader(&H::version, 1U) == "ok");
  CHECK_THAT(errorWithHeader(&H::version, 2U), Contains("has version 2, expected 1 to 1: a newer"));
  CHECK_THAT(errorWithHeader(&H::version, 0U), Contains("has version 0"));
  CHECK_THAT(errorWithHeader(&H::byteOrder, 0x04030201U), Contains("byte order mark"));
  CHECK_THAT(errorWithHeader(&H::graphOffset, uint64_t{128}), Contains("graph starts at byte 128"));
  CHECK_THAT(errorWithHeader(&H::graphLength, ~uint64_t{0}), Contains("graph has 184467440737"));
  CHECK_THAT(errorWithHeader(&H::graphLength, uint64_t{8}), Contains("padding between"));
  CHECK_THAT(errorWithHeader(&H::graphLength, uint64_t{0}), Contains("padding between"));
  CHECK_THAT(errorWithHeader(&H::weightsOffset, uint64_t{0}), Contains("weights start at byte 0"));
  CHECK_THAT(errorWithHeader(&H::weightsOffset, uint64_t{4097}), Contains("byte 4097"));
  CHECK_THAT(errorWithHeader(&H::weightsOffset, ~uint64_t{4095}), Contains("the file has"));
  CHECK_THAT(errorWithHeader(&H::weightsLength, uint64_t{64}), Contains("and 64 of weights"));
  CHECK_THAT(errorWithHeader(&H::weightsLength, ~uint64_t{0}), Contains("of weights"));
}

TEST_CASE("bytes that are no FlatBuffer are refused behind right checksums") {
  std::vector<uint8_t> file = modelBytes(sampleModel());
  std::fill(file.begin() + 64, file.begin() + 72, uint8_t{0xff});
  repairChecksums(absl::MakeSpan(file));
  CHECK_THAT(errorOf(file), Contains("not a well-formed FlatBuffer"));
}

TEST_CASE("a newer schema version inside an old header is refused") {
  CHECK_THAT(errorAfter([](ModelT& m) { m.version = 2; }), Contains("graph has version 2"));
}

TEST_CASE("each rule of the weight table has its message") {
  auto after = [](const std::function<void(WeightEntryT&)>& change) {
    return errorAfter([&](ModelT& model) { change(*model.weights[0]); });
  };
  CHECK_THAT(after([](WeightEntryT& w) { w.name = ""; }), Contains("name has 0 bytes"));
  CHECK_THAT(after([](WeightEntryT& w) { w.name = std::string(5000, 'n'); }),
             Contains("name has 5000 bytes, expected 1 to 4096"));
  CHECK_THAT(after([](WeightEntryT& w) { w.name = "bias"; }), Contains("of an earlier one"));
  CHECK_THAT(after([](WeightEntryT& w) { w.length = 20; }),
             Contains("weight 0 'w': its data has 20 bytes, expected 24 for 2x3xf32"));
  CHECK_THAT(after([](WeightEntryT& w) { w.splat = true; }),
             Contains("expected 4 for one element"));
  CHECK_THAT(after([](WeightEntryT& w) { w.type->dims[0] = -1; }), Contains("unknown dims"));
  CHECK_THAT(after([](WeightEntryT& w) { w.type->ranked = false; }), Contains("has no rank"));
  CHECK_THAT(after([](WeightEntryT& w) { w.offset = 8; }), Contains("multiple of 64"));
  CHECK_THAT(after([](WeightEntryT& w) { w.offset = 128; }), Contains("leave the weight section"));
  CHECK_THAT(after([](WeightEntryT& w) { w.offset = ~uint64_t{63}; }),
             Contains("leave the weight section"));
  CHECK_THAT(after([](WeightEntryT& w) { w.offset = 64; }), Contains("overlaps"));
  // The twin of w, but it claims other content.
  CHECK_THAT(after([](WeightEntryT& w) { w.checksum ^= 1; }), Contains("overlaps"));
}

TEST_CASE("a string twice in the table is refused") {
  CHECK_THAT(errorAfter([](ModelT& m) { m.strings = {"a", "b", "a"}; }),
             Contains("string 2 is 'a' again, expected each once"));
  CHECK_THAT(errorAfter([](ModelT& m) { m.strings = {"a", ""}; }), Contains("ok"));
}

TEST_CASE("each rule of tensor types has its message") {
  auto after = [](const std::function<void(TensorTypeT&)>& change) {
    return errorAfter([&](ModelT& model) { change(*model.graph->types[0]); });
  };
  CHECK_THAT(after([](TensorTypeT& t) { t.element = ElementType::Invalid; }),
             Contains("type 0: type has the element type 0, expected 1 to 26"));
  CHECK_THAT(after([](TensorTypeT& t) { t.element = static_cast<ElementType>(27); }),
             Contains("element type 27"));
  CHECK(after([](TensorTypeT& t) {
          t.dims.assign(kMaxRank, 1);
          t.symbolic.clear();
        }) == "ok");
  CHECK_THAT(after([](TensorTypeT& t) { t.dims.assign(kMaxRank + 1, 1); }),
             Contains("17 dims, expected at most 16"));
  CHECK_THAT(after([](TensorTypeT& t) { t.dims[1] = -2; }), Contains("dim 1 is -2"));
  CHECK_THAT(after([](TensorTypeT& t) { t.dims[1] = int64_t{1} << 61; }), Contains("2^62"));
  CHECK_THAT(after([](TensorTypeT& t) { t.symbolic = {"s0"}; }), Contains("1 symbolic dims"));
  CHECK_THAT(after([](TensorTypeT& t) { t.symbolic[1] = "s0"; }), Contains("value -1"));
  CHECK_THAT(after([](TensorTypeT& t) { t.ranked = false; }), Contains("it has no rank"));
}

TEST_CASE("damaged weights are found when they are first read") {
  std::vector<uint8_t> file = modelBytes(sampleModel());
  file[file.size() - 128 + 23] ^= 0x10;
  AlignedBytes bytes(file);
  auto model = ModelFile::fromBytes(bytes.span(), "m.fb");
  REQUIRE(model.ok());
  CHECK((*model)->weight(1).ok());
  CHECK(absl::IsDataLoss((*model)->weight(0).status()));
  CHECK_THAT(std::string((*model)->verifyWeights().message()),
             Contains("weight 'w' has the checksum"));
  CHECK(absl::IsOutOfRange((*model)->weight(3).status()));
}

TEST_CASE("what the caller has checked is not read again") {
  std::vector<uint8_t> bytes = modelBytes(sampleModel());
  bytes[bytes.size() - 128 + 23] ^= 0x10;
  AlignedBytes damaged(bytes);
  auto unchecked = ModelFile::fromBytes(damaged.span(), "m.fb");
  auto checked = ModelFile::fromCheckedBytes(damaged.span(), "m.fb");
  REQUIRE((unchecked.ok() && checked.ok()));
  CHECK(absl::IsDataLoss((*unchecked)->verifyWeights()));
  CHECK((*checked)->verifyWeights().ok());
}

TEST_CASE("threads may read the same weights") {
  AlignedBytes bytes(modelBytes(sampleModel()));
  auto model = ModelFile::fromBytes(bytes.span(), "m.fb");
  REQUIRE(model.ok());
  std::atomic<int> good{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] { good += (*model)->verifyWeights().ok() ? 1 : 0; });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  CHECK(good == 4);
}

TEST_CASE("a truncated file is refused at every length") {
  std::vector<uint8_t> file = modelBytes(sampleModel());
  for (size_t length = 0; length < file.size(); ++length) {
    CAPTURE(length);
    std::vector<uint8_t> cut(file.begin(), file.begin() + static_cast<ptrdiff_t>(length));
    REQUIRE(errorOf(cut) != "ok");
  }
}

TEST_CASE("the flip of any bit that means something is found") {
  std::vector<uint8_t> file = modelBytes(sampleModel());
  size_t weights = file.size() - 128;
  for (size_t bit = 0; bit < file.size() * 8; ++bit) {
    // Between the weights (24 bytes at 0, 4 at 64) nothing is read.
    size_t byte = bit / 8;
    bool gap = byte >= weights + 24 && byte != weights + 64 && byte != weights + 65 &&
               byte != weights + 66 && byte != weights + 67;
    // One bit of each byte of the padding is enough.
    if (gap || (byte > 3000 && byte < weights && bit % 8 != 0)) {
      continue;
    }
    CAPTURE(bit);
    file[byte] ^= static_cast<uint8_t>(1U << (bit % 8));
    AlignedBytes bytes(file);
    auto model = ModelFile::fromBytes(bytes.span(), "m.fb");
    REQUIRE_FALSE((model.ok() && (*model)->verifyWeights().ok()));
    file[byte] ^= static_cast<uint8_t>(1U << (bit % 8));
  }
}

TEST_CASE("flips behind right checksums never crash") {
  std::vector<uint8_t> file = modelBytes(sampleModel());
  FileHeader header;
  std::memcpy(&header, file.data(), sizeof(header));
  size_t end = sizeof(header) + header.graphLength;
  for (size_t bit = 0; bit < end * 8; ++bit) {
    std::vector<uint8_t> flipped = file;
    flipped[bit / 8] ^= static_cast<uint8_t>(1U << (bit % 8));
    repairChecksums(absl::MakeSpan(flipped));
    AlignedBytes bytes(flipped);
    auto model = ModelFile::fromBytes(bytes.span(), "m.fb");
    if (model.ok()) {
      (*model)->verifyWeights().IgnoreError();
      GraphT graph;
      (*model)->graph().UnPackTo(&graph);
    }
  }
}

}  // namespace
}  // namespace graphrun::format
