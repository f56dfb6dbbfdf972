// What the program reads and compares: tensor files, arguments, tolerances.
#include <catch2/catch.hpp>
#include <cmath>
#include <random>

#include "frontends/cli/command_line.h"
#include "frontends/cli/compare.h"
#include "frontends/cli/feeds.h"
#include "frontends/cli/option_values.h"
#include "frontends/cli/tensor_proto.h"

namespace graphrun::cli {
namespace {

using runtime::ElementType;
using runtime::HostTensor;

using Bytes = std::vector<uint8_t>;

absl::StatusOr<runtime::NamedTensor> parse(const Bytes& bytes) {
  return parseTensorProto(bytes, "t.pb");
}

// dims [2] packed, data_type FLOAT, name "x", raw_data {1, 2}.
const Bytes kRaw = {0x0a, 1, 2, 0x10, 1, 0x42, 1, 'x', 0x4a, 8, 0, 0, 0x80, 0x3f, 0, 0, 0, 0x40};

TEST_CASE("tensors are read from raw and typed data") {
  auto raw = parse(kRaw);
  REQUIRE(raw.ok());
  CHECK(raw->name == "x");
  CHECK(raw->tensor.spec().toString() == "2xf32");
  CHECK(raw->tensor.as<float>()[1] == 2);

  auto ints = parse({0x08, 3, 0x10, 7, 0x3a, 12, 1, 2, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
                     0xff, 0xff, 0x01});  // int64_data 1, 2, -1
  REQUIRE(ints.ok());
  CHECK(ints->tensor.as<int64_t>()[2] == -1);

  auto bools = parse({0x08, 2, 0x10, 9, 0x28, 1, 0x28, 0});  // int32_data, unpacked
  REQUIRE(bools.ok());
  CHECK(bools->tensor.as<uint8_t>()[0] == 1);

  auto scalar = parse({0x10, 11, 0x52, 8, 0, 0, 0, 0, 0, 0, 0xf0, 0x3f});  // double_data 1.0
  REQUIRE(scalar.ok());
  CHECK(scalar->tensor.spec().dims.empty());
  CHECK(scalar->tensor.as<double>()[0] == 1.0);
}

TEST_CASE("what is no tensor is refused") {
  for (size_t size = 1; size < kRaw.size(); ++size) {
    CHECK_FALSE(parse(Bytes(kRaw.begin(), kRaw.begin() + static_cast<ptrdiff_t>(size))).ok());
  }
  CHECK(absl::IsInvalidArgument(parse({0x0a, 1, 3, 0x10, 1, 0x4a, 4, 0, 0, 0, 0}).status()));
  CHECK(absl::IsInvalidArgument(parse({0x10, 8, 0x32, 1, 'a', 0x32, 1, 'b'}).status()));
  CHECK(absl::IsUnimplemented(parse({0x10, 99}).status()));
  Bytes huge = {0x10, 1};
  for (int i = 0; i < 4; ++i) {  // dims of 2^62
    huge.insert(huge.end(), {0x08, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x40});
  }
  CHECK(absl::IsInvalidArgument(parse(huge).status()));
  std::mt19937 random(7);
  for (int i = 0; i < 20'000; ++i) {
    Bytes bytes = kRaw;
    for (int k = 0; k < 3; ++k) {
      bytes[random() % bytes.size()] = static_cast<uint8_t>(random());
    }
    parse(bytes).status().IgnoreError();  // must only not crash
  }
}

TEST_CASE("results are compared as ONNX's tests do") {
  HostTensor a({ElementType::kF32, {2, 2}});
  std::fill(a.as<float>().begin(), a.as<float>().end(), 1.0F);
  HostTensor b = a.clone();
  CHECK(difference(a, b, {}).empty());
  a.as<float>()[3] = 1.0005F;
  CHECK(difference(a, b, {1e-3, 0}).empty());
  CHECK_THAT(difference(a, b, {1e-4, 0}), Catch::Contains("1 of 4") && Catch::Contains("[1, 1]"));
  a.as<float>()[3] = NAN;
  CHECK_FALSE(difference(a, b, {}).empty());
  b.as<float>()[3] = NAN;
  CHECK(difference(a, b, {}).empty());
  a.as<float>()[0] = INFINITY;
  CHECK_FALSE(difference(a, b, {}).empty());
  CHECK_THAT(difference(a, HostTensor({ElementType::kF32, {4}}), {}),
             Catch::Contains("got 2x2xf32, expected 4xf32"));
  HostTensor half({ElementType::kF16, {3}});
  half.as<uint16_t>()[0] = 0x3c00;
  half.as<uint16_t>()[1] = 0x0001;
  half.as<uint16_t>()[2] = 0xfc00;
  CHECK(elementAt(half, 0) == 1.0);
  CHECK(elementAt(half, 1) == std::ldexp(1, -24));
  CHECK(elementAt(half, 2) == -INFINITY);
}

TEST_CASE("inputs come from options, random ones with a seed") {
  std::vector<runtime::ModelPort> ports(2);
  ports[0] = {"x", ElementType::kF32, {-1, 3}, {"n", ""}, true};
  ports[1] = {"i", ElementType::kI64, {2}, {""}, true};
  FeedOptions options;
  options.inputs = {"x=4x3xf32=2.5"};
  auto some = feeds(options, ports, true);
  REQUIRE(some.ok());
  CHECK((*some)[0].tensor.as<float>()[11] == 2.5F);
  CHECK((*some)[1].tensor.as<int64_t>()[0] ==
        (*feeds(options, ports, true))[1].tensor.as<int64_t>()[0]);
  CHECK_THAT(std::string(feeds(options, ports, false).status().message()),
             Catch::Contains("'i' (2xi64)"));

  options.inputs = {"x=random"};
  CHECK_THAT(std::string(feeds(options, ports, true).status().message()),
             Catch::Contains("--shape x:1x1"));
  options.shapes = {"x:5x3"};
  CHECK((*feedShapes(options, ports))[0].spec.toString() == "5x3xf32");
  options.shapes = {"z:1"};
  CHECK(exitCodeOf(feeds(options, ports, true).status()) == kUsage);
  options.shapes.clear();
  options.inputs = {"x=@/nowhere/x.npy"};
  CHECK(exitCodeOf(feeds(options, ports, true).status()) == kBadFile);
}

TEST_CASE("integers must be equal, bfloat16 nearly") {
  HostTensor a({ElementType::kI64, {2}});
  a.as<int64_t>()[0] = a.as<int64_t>()[1] = int64_t{1} << 60;
  HostTensor b = a.clone();
  CHECK(difference(a, b, {}).empty());
  a.as<int64_t>()[1] += 1;
  CHECK_THAT(difference(a, b, {1, 1}), Catch::Contains("1 of 2"));

  HostTensor x({ElementType::kBF16, {1}});
  HostTensor y = x.clone();
  x.as<uint16_t>()[0] = 0x3f80;  // 1
  y.as<uint16_t>()[0] = 0x3f81;  // its neighbour
  CHECK(difference(x, y, {}).empty());
  y.as<uint16_t>()[0] = 0x3f84;
  CHECK_FALSE(difference(x, y, {}).empty());
}

TEST_CASE("sizes have units") {
  CHECK(*parseBytes("2GiB") == uint64_t{2} << 30);
  CHECK(*parseBytes("1.5KB") == 1500);
  CHECK(*parseBytes("7") == 7);
  for (const char* bad : {"", "GiB", "1XB", "-1GB", "99999999999TiB"}) {
    CHECK_FALSE(parseBytes(bad).ok());
  }
}

}  // namespace
}  // namespace graphrun::cli
