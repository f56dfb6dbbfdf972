#include "runtime/base/tensor.h"

#include <catch2/catch.hpp>
#include <cstdint>
#include <vector>

#include "runtime/base/mapped_file.h"
#include "runtime/base/memory_file.h"
#include "runtime/base/tensor_memory.h"

namespace graphrun::runtime {
namespace {

TEST_CASE("every element type has a name that parses back and a size") {
  for (uint8_t i = 1; i < kElementTypeCount; ++i) {
    auto type = static_cast<ElementType>(i);
    if (elementSize(type) == 0) {
      continue;  // a number that is kept
    }
    CAPTURE(elementTypeName(type));
    CHECK(parseElementType(elementTypeName(type)) == type);
    CHECK(elementSize(type) > 0);
  }
  CHECK(!parseElementType("float32").has_value());
  CHECK(elementSize(static_cast<ElementType>(200)) == 0);
}

TEST_CASE("a tensor is aligned, sized and cloned by value") {
  HostTensor tensor(TensorSpec{ElementType::kF32, {2, 3}});
  CHECK(tensor.byteSize() == 24);
  CHECK(tensor.spec().toString() == "2x3xf32");
  CHECK(reinterpret_cast<uintptr_t>(tensor.data()) % kTensorAlignment == 0);
  tensor.as<float>()[5] = 7.0F;
  HostTensor copy = tensor.clone();
  tensor.as<float>()[5] = 8.0F;
  CHECK(copy.as<float>()[5] == 7.0F);
}

TEST_CASE("a tensor without elements has an address") {
  HostTensor tensor(TensorSpec{ElementType::kI64, {0, 4}});
  CHECK(tensor.byteSize() == 0);
  CHECK(tensor.data() != nullptr);
}

TEST_CASE("hostile shapes are refused before anything is allocated") {
  CHECK(checkedByteSize(ElementType::kF32, {2, 3}).value() == 24);
  CHECK(checkedByteSize(ElementType::kF32, {0, int64_t{1} << 60}).value() == 0);
  CHECK(!checkedByteSize(ElementType::kF32, {-1}).ok());
  CHECK(!checkedByteSize(ElementType::kF32, {int64_t{1} << 40, int64_t{1} << 40}).ok());
  CHECK(!checkedByteSize(ElementType::kInvalid, {1}).ok());
}

TEST_CASE("a tensor in memory that somebody lends keeps it, and no copy owns it") {
  alignas(kTensorAlignment) float values[4] = {1, 2, 3, 4};
  bool isBack = false;
  {
    HostTensor tensor({ElementType::kF32, {4}},
                      std::shared_ptr<void>(values, [&](void*) { isBack = true; }));
    HostTensor moved = std::move(tensor);
    CHECK(moved.data() == values);
    CHECK(moved.byteSize() == 16);
    CHECK(moved.clone().as<float>()[3] == 4);
    CHECK(moved.clone().data() != values);
    CHECK(!isBack);
  }
  CHECK(isBack);
}

TEST_CASE("a tensor that no memory has room for is a status") {
  CHECK(allocateTensor({ElementType::kF32, {2, 3}})->byteSize() == 24);
  CHECK(allocateTensor({ElementType::kString, {2}})->strings().size() == 2);
  for (ElementType type : {ElementType::kF32, ElementType::kString}) {
    absl::Status status = allocateTensor({type, {int64_t{1} << 45, 8}}).status();
    CHECK(absl::IsResourceExhausted(status));
    CHECK(std::string(status.message()).find("PiB, and this process may use") != std::string::npos);
    CHECK(absl::IsInvalidArgument(allocateTensor({type, {int64_t{1} << 62, 8}}).status()));
    CHECK(absl::IsInvalidArgument(allocateTensor({type, {-1}}).status()));
  }
}

TEST_CASE("a tensor from values has their type, or tells what is wrong") {
  auto tensor = HostTensor::from(std::vector<int16_t>{1, 2, 3, 4}, {2, 2});
  REQUIRE(tensor.ok());
  CHECK(tensor->spec().toString() == "2x2xi16");
  CHECK((*tensor->elements<int16_t>())[3] == 4);
  CHECK(HostTensor::from({true, false}, {2})->spec().type == ElementType::kBool);
  CHECK(HostTensor::from({1.5}, {})->spec().toString() == "f64");
  CHECK(HostTensor::from({1.0F, 2.0F}, {3}).status().message() ==
        "got 2 values for a tensor of 3xf32, expected 3");
  CHECK_FALSE(HostTensor::from({1.0F}, {-1}).ok());
}

TEST_CASE("elements are given as what they are, and as nothing else") {
  HostTensor tensor(TensorSpec{ElementType::kF16, {2}});
  CHECK(tensor.elements<uint16_t>().status().message() ==
        "a tensor of 2xf16 was asked for elements of u16, expected f16");
  CHECK_FALSE(HostTensor().elements<float>().ok());
  CHECK(HostTensor(TensorSpec{ElementType::kF32, {2}}).elements<float>()->size() == 2);
}

TEST_CASE("a view is the caller's memory") {
  std::vector<float> values = {1, 2};
  auto view = HostTensor::view(values, {2});
  REQUIRE(view.ok());
  CHECK(view->data() == values.data());
  CHECK_FALSE(view->isReadOnly());
  (*view->elements<float>())[0] = 5;
  CHECK(values[0] == 5);
  const std::vector<float>& fixed = values;
  auto readOnly = HostTensor::view(fixed, {1, 2});
  REQUIRE(readOnly.ok());
  CHECK(readOnly->isReadOnly());
  CHECK_FALSE(readOnly->elements<float>().ok());
  const HostTensor& seen = *readOnly;
  CHECK((*seen.elements<float>())[1] == 2);
  HostTensor copy = readOnly->clone();
  CHECK_FALSE(copy.isReadOnly());
  CHECK(copy.data() != values.data());
  CHECK_FALSE(HostTensor::view(values, {3}).ok());
  std::vector<float> none;
  CHECK(HostTensor::view(none, {0})->data() != nullptr);
}

TEST_CASE("a file in memory is read by its path, and nobody changes it") {
  auto file = MemoryFile::create("numbers");
  REQUIRE(file.ok());
  const uint8_t bytes[] = {1, 2, 3};
  REQUIRE(file->write(bytes).ok());
  REQUIRE(file->writeZeros(2).ok());
  REQUIRE(file->seal().ok());
  CHECK_FALSE(file->write(bytes).ok());
  auto mapped = MappedFile::open(file->path());
  REQUIRE(mapped.ok());
  CHECK(std::vector<uint8_t>(mapped->bytes().begin(), mapped->bytes().end()) ==
        std::vector<uint8_t>{1, 2, 3, 0, 0});
}

}  // namespace
}  // namespace graphrun::runtime
