#include "runtime/base/tensor.h"

#include <catch2/catch.hpp>
#include <cstdint>

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

}  // namespace
}  // namespace graphrun::runtime
