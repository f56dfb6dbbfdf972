// Conversion to and from the reduced types, and what is allowed to touch them.
#include <catch2/catch.hpp>
#include <cmath>

#include "devices/cpu/reference/reference.h"
#include "devices/cpu/vectors/element.h"
#include "runtime/base/reduced.h"
#include "tests/devices/cpu/instruction_runner.h"

namespace graphrun::devices::cpu {
namespace {

std::vector<ElementType> reducedTypes() {
  std::vector<ElementType> types;
  for (uint8_t i = 1; i < runtime::kElementTypeCount; ++i) {
    if (runtime::isReduced(static_cast<ElementType>(i))) {
      types.push_back(static_cast<ElementType>(i));
    }
  }
  return types;
}

/// All codes of a reduced type.
HostTensor codes(ElementType type) {
  int64_t count = int64_t{1} << runtime::elementTypeInfo(type).bits;
  HostTensor made({type, {count}});
  for (int64_t i = 0; i < count; ++i) {
    made.as<uint8_t>()[static_cast<size_t>(i)] = static_cast<uint8_t>(i);
  }
  return made;
}

HostTensor convertTo(const HostTensor& input, ElementType to, Attributes attributes = {},
                     const char* operation = "gr.cast") {
  Tensors inputs;
  inputs.push_back(input.clone());
  auto got =
      runOperation({operation, std::move(attributes), {{to, input.spec().dims}}, {}}, inputs);
  REQUIRE(got.status() == absl::OkStatus());
  return std::move((*got)[0]);
}

bool same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

TEST_CASE("every code of a reduced type converts to the types that are computed in, and back") {
  for (ElementType type : reducedTypes()) {
    HostTensor all = codes(type);
    HostTensor wide = convertTo(all, ElementType::kF64);
    for (ElementType through : {ElementType::kF64, ElementType::kF32, ElementType::kBF16}) {
      CAPTURE(runtime::elementTypeName(type), runtime::elementTypeName(through));
      HostTensor there = convertTo(all, through);
      HostTensor back = convertTo(there, type, {{"saturate", false}});
      for (size_t i = 0; i < all.as<uint8_t>().size(); ++i) {
        double value = runtime::decodeReduced(type, static_cast<uint8_t>(i));
        CHECK(same(wide.as<double>()[i], value));
        if (!std::isnan(value)) {
          CHECK(back.as<uint8_t>()[i] == i);
        }
      }
    }
    for (ElementType to : reducedTypes()) {
      HostTensor direct = convertTo(all, to);
      for (size_t i = 0; i < all.as<uint8_t>().size(); ++i) {
        CHECK(direct.as<uint8_t>()[i] == runtime::encodeReduced(to, wide.as<double>()[i]));
      }
    }
  }
}

TEST_CASE("conversion to the small floats saturates and rounds as it is told") {
  HostTensor x = f32({4}, {1000, -1000, 0.3, NAN});
  auto bytes = [](const HostTensor& got) {
    return std::vector<uint8_t>(got.as<uint8_t>().begin(), got.as<uint8_t>().end());
  };
  CHECK(bytes(convertTo(x, ElementType::kF8E4M3FN)) ==
        std::vector<uint8_t>{0x7e, 0xfe, 0x2a, 0x7f});
  CHECK(bytes(convertTo(x, ElementType::kF8E4M3FN, {{"saturate", false}})) ==
        std::vector<uint8_t>{0x7f, 0xff, 0x2a, 0x7f});
  HostTensor scale = f32({2}, {1.4, 3});
  CHECK(bytes(convertTo(scale, ElementType::kF8E8M0)) == std::vector<uint8_t>{128, 129});
  CHECK(bytes(convertTo(scale, ElementType::kF8E8M0, {{"round_mode", std::string("down")}})) ==
        std::vector<uint8_t>{127, 128});
  CHECK(bytes(convertTo(scale, ElementType::kF8E8M0, {{"round_mode", std::string("nearest")}})) ==
        std::vector<uint8_t>{127, 129});
  Tensors inputs;
  inputs.push_back(scale.clone());
  auto wrong = runOperation(
      {"gr.cast", {{"round_mode", std::string("sideways")}}, {{ElementType::kF8E8M0, {2}}}, {}},
      inputs);
  CHECK_THAT(std::string(wrong.status().message()),
             Catch::Contains("round_mode is \"sideways\", expected up, down or nearest"));
}

TEST_CASE("integers keep their low bits in small integers") {
  HostTensor x({ElementType::kI64, {2}});
  x.as<int64_t>()[0] = (int64_t{1} << 60) + 5;
  x.as<int64_t>()[1] = -3;
  HostTensor small = convertTo(x, ElementType::kI4);
  CHECK(small.as<uint8_t>()[0] == 5);
  CHECK(small.as<uint8_t>()[1] == 13);
  CHECK(values(convertTo(small, ElementType::kI8)) == std::vector<double>{5, -3});
}

TEST_CASE("bitcast keeps the bits") {
  HostTensor bits = convertTo(f32({2}, {1, -2}), ElementType::kI32, {}, "gr.bitcast");
  CHECK(values(bits) == std::vector<double>{0x3f800000, -1073741824.0});
  HostTensor quads = convertTo(codes(ElementType::kI4), ElementType::kF4E2M1, {}, "gr.bitcast");
  CHECK(quads.as<uint8_t>()[15] == 15);
  HostTensor flags =
      convertTo(tensor(ElementType::kU8, {3}, {0, 2, 1}), ElementType::kBool, {}, "gr.bitcast");
  CHECK(values(flags) == std::vector<double>{0, 1, 1});
}

TEST_CASE("reduced types are moved and converted, not computed in") {
  const ElementType one[] = {ElementType::kF8E4M3FN};
  const ElementType two[] = {ElementType::kF8E4M3FN, ElementType::kF8E4M3FN};
  const ElementType picked[] = {ElementType::kF8E4M3FN, ElementType::kI64};
  const ElementType byQuad[] = {ElementType::kF8E4M3FN, ElementType::kI4};
  const ElementType chosen[] = {ElementType::kBool, ElementType::kI4, ElementType::kI4};
  const ElementType quad[] = {ElementType::kI4};
  const ElementType flag[] = {ElementType::kBool};
  CHECK(supportsOperation("gr.transpose", one, one));
  CHECK(supportsOperation("gr.concat", two, one));
  CHECK(supportsOperation("gr.gather", picked, one));
  CHECK(supportsOperation("gr.where", chosen, quad));
  CHECK(supportsOperation("gr.cast", one, quad));
  CHECK_FALSE(supportsOperation("gr.gather", byQuad, one));
  CHECK_FALSE(supportsOperation("gr.add", two, one));
  CHECK_FALSE(supportsOperation("gr.exp", one, one));
  CHECK_FALSE(supportsOperation("gr.equal", two, flag));
  CHECK_FALSE(supportsOperation("gr.reduce", one, one));
  CHECK_FALSE(supportsOperation("gr.matmul", two, one));
}

}  // namespace
}  // namespace graphrun::devices::cpu
