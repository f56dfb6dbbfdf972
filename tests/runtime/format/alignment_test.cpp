// Vectors that a damaged or hostile file puts where their elements may not be read.
#include <catch2/catch.hpp>
#include <cstddef>
#include <cstring>
#include <vector>

#include "runtime/format/model_file.h"
#include "runtime/format/plan_file.h"
#include "tests/runtime/format/samples.h"

namespace graphrun::format {
namespace {

using Catch::Matchers::Contains;
using flatbuffers::voffset_t;

std::vector<uint8_t> modelBuffer(const ModelT& model) {
  flatbuffers::FlatBufferBuilder builder;
  FinishModelBuffer(builder, Model::Pack(builder, &model));
  return {builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize()};
}

// Appends to `buffer` a copy of the vector in `field` of a table inside it, whose elements start
// `offset` bytes behind a multiple of 16, and makes the field refer to the copy.
template <typename T>
std::vector<uint8_t> moved(const AlignedBytes& buffer, const void* table, voffset_t field,
                           const flatbuffers::Vector<T>* vector, size_t offset) {
  const uint8_t* address = static_cast<const flatbuffers::Table*>(table)->GetAddressOf(field);
  std::vector<uint8_t> bytes(buffer.span().begin(), buffer.span().end());
  size_t length = sizeof(flatbuffers::uoffset_t);
  size_t start = (bytes.size() + length + 15) / 16 * 16 + offset;
  bytes.resize(start + vector->size() * sizeof(T) + 16);  // a vector never ends its buffer
  std::memcpy(bytes.data() + start - length, vector, length + vector->size() * sizeof(T));
  auto at = static_cast<size_t>(address - buffer.span().data());
  auto distance = static_cast<flatbuffers::uoffset_t>(start - length - at);
  std::memcpy(bytes.data() + at, &distance, sizeof(distance));
  return bytes;
}

std::string modelError(absl::Span<const uint8_t> buffer) {
  AlignedBytes bytes(buffer);
  auto model = verifyModelBuffer(bytes.span(), 128);
  return model.ok() ? "ok" : std::string(model.status().message());
}

std::string planError(absl::Span<const uint8_t> buffer) {
  auto plan = PlanFile::parse(buffer);
  return plan.ok() ? "ok" : std::string(plan.status().message());
}

TEST_CASE("dims of a model that are not aligned are refused") {
  AlignedBytes buffer(modelBuffer(sampleModel()));
  const TensorType* type = GetModel(buffer.data())->graph()->types()->Get(0);
  auto error = [&](size_t offset) {
    return modelError(moved(buffer, type, TensorType::VT_DIMS, type->dims(), offset));
  };
  CHECK(error(0) == "ok");
  CHECK(error(8) == "ok");
  CHECK_THAT(error(4), Contains("a vector of 8-byte elements starts at byte ") &&
                           Contains(", expected a multiple of 8"));
  CHECK_THAT(error(12), Contains("expected a multiple of 8"));
}

TEST_CASE("an empty vector may lie anywhere") {
  ModelT model = sampleModel();
  model.graph->types[0]->symbolic.clear();  // one is expected for each dim
  AlignedBytes buffer(modelBuffer(model));
  const auto* dims = GetModel(buffer.data())->graph()->types()->Get(0)->dims();
  std::vector<uint8_t> bytes = moved(buffer, GetModel(buffer.data())->graph()->types()->Get(0),
                                     TensorType::VT_DIMS, dims, 4);
  CHECK(modelError(bytes) != "ok");
  size_t behindLength = dims->size() * sizeof(int64_t) + 16;
  uint8_t* length = bytes.data() + bytes.size() - behindLength - sizeof(flatbuffers::uoffset_t);
  REQUIRE(*length == dims->size());
  *length = 0;
  CHECK(modelError(bytes) == "ok");
}

TEST_CASE("attributes of a model that are not aligned are refused") {
  AlignedBytes buffer(modelBuffer(sampleModel()));
  const auto* operation = GetModel(buffer.data())->graph()->body()->operations()->Get(0);
  int seen = 0;
  for (const Attribute* attribute : *operation->attributes()) {
    if (const Ints* ints = attribute->value_as_Ints(); ints != nullptr) {
      CHECK(modelError(moved(buffer, ints, Ints::VT_VALUE, ints->value(), 8)) == "ok");
      CHECK_THAT(modelError(moved(buffer, ints, Ints::VT_VALUE, ints->value(), 4)),
                 Contains("vector of 8-byte elements"));
      ++seen;
    }
    if (const Floats* floats = attribute->value_as_Floats(); floats != nullptr) {
      CHECK_THAT(modelError(moved(buffer, floats, Floats::VT_VALUE, floats->value(), 4)),
                 Contains("vector of 8-byte elements"));
      ++seen;
    }
  }
  CHECK(seen == 2);
}

TEST_CASE("a model that is not aligned in memory is refused") {
  std::vector<uint8_t> buffer = modelBuffer(sampleModel());
  AlignedBytes bytes(std::vector<uint8_t>(buffer.size() + 4, 0));
  std::memcpy(bytes.data() + 4, buffer.data(), buffer.size());
  auto model = verifyModelBuffer(bytes.span().subspan(4), 128);
  REQUIRE_FALSE(model.ok());
  CHECK_THAT(std::string(model.status().message()),
             Contains("it lies 4 bytes behind a multiple of 8 in memory"));
}

TEST_CASE("vectors of a plan that are not aligned are refused") {
  PlanT plan = samplePlan();
  plan.constants.assign(64, 1);
  AlignedBytes buffer(planBytes(plan));
  const Plan* read = GetPlan(buffer.data());
  const TensorType* type = read->edges()->Get(1)->type();
  CHECK(planError(moved(buffer, type, TensorType::VT_DIMS, type->dims(), 8)) == "ok");
  CHECK_THAT(planError(moved(buffer, type, TensorType::VT_DIMS, type->dims(), 4)),
             Contains("vector of 8-byte elements"));
  auto constants = [&](size_t offset) {
    return planError(moved(buffer, read, Plan::VT_CONSTANTS, read->constants(), offset));
  };
  CHECK(constants(0) == "ok");
  CHECK_THAT(constants(8), Contains("its constants start 8 bytes behind a multiple of 16"));
}

// As the planner writes it when a model needs no constants beyond its own.
TEST_CASE("the empty constants of a plan may lie anywhere") {
  PlanT sample = samplePlan();
  sample.weights[1]->in_plan = false;
  sample.weights[1]->offset = 64;
  sample.constants.assign(1, 0);
  AlignedBytes buffer(planBytes(sample));
  const Plan* read = GetPlan(buffer.data());
  size_t length = sizeof(flatbuffers::uoffset_t);
  for (size_t offset : {0, 4, 8, 12}) {
    std::vector<uint8_t> bytes = moved(buffer, read, Plan::VT_CONSTANTS, read->constants(), offset);
    uint8_t* count = bytes.data() + bytes.size() - 16 - 1 - length;
    REQUIRE(*count == 1);
    CHECK((planError(bytes) == "ok") == (offset == 0));
    *count = 0;
    CHECK(planError(bytes) == "ok");
  }
}

}  // namespace
}  // namespace graphrun::format
