// IDX files, whole and damaged.
#include "runtime/data/idx_file.h"

#include <random>

#include "runtime/data/gzip.h"
#include "tests/runtime/data/made_files.h"

namespace graphrun::runtime {
namespace {

using Catch::Matchers::Contains;

std::string errorOf(const Bytes& bytes) {
  auto tensor = parseIdx(bytes, "x.idx");
  return tensor.ok() ? "ok" : std::string(tensor.status().message());
}

const Bytes kSmall = idx(0x08, {2, 3}, {1, 2, 3, 4, 5, 255});

TEST_CASE("a file is read plain, compressed, and in several members") {
  const Bytes twice = gzip(Bytes(kSmall.begin(), kSmall.begin() + 9)) +
                      gzip(Bytes(kSmall.begin() + 9, kSmall.end())) + gzip({});
  for (const Bytes& bytes : {kSmall, gzip(kSmall), twice}) {
    auto tensor = parseIdx(bytes, "x.idx");
    INFO(tensor.status().message());
    REQUIRE(tensor.ok());
    CHECK(tensor->spec().toString() == "2x3xu8");
    CHECK(tensor->as<uint8_t>()[5] == 255);
  }
}

TEST_CASE("elements of several bytes are big-endian") {
  auto shorts = parseIdx(idx(0x0b, {2}, {0xff, 0xfe, 1, 0}), "x");
  REQUIRE(shorts.ok());
  CHECK(shorts->as<int16_t>()[0] == -2);
  CHECK(shorts->as<int16_t>()[1] == 256);
  auto ints = parseIdx(idx(0x0c, {1}, {0, 0, 1, 2}), "x");
  REQUIRE(ints.ok());
  CHECK(ints->as<int32_t>()[0] == 258);
  auto floats = parseIdx(idx(0x0d, {1}, {0x3f, 0x80, 0, 0}), "x");
  REQUIRE(floats.ok());
  CHECK(floats->as<float>()[0] == 1);
  auto doubles = parseIdx(idx(0x0e, {1}, {0xc0, 0, 0, 0, 0, 0, 0, 0}), "x");
  REQUIRE(doubles.ok());
  CHECK(doubles->as<double>()[0] == -2);
  CHECK(parseIdx(idx(0x09, {1}, {0x80}), "x")->as<int8_t>()[0] == -128);
}

TEST_CASE("what is no IDX file, or not as long as it says, is refused") {
  CHECK_THAT(errorOf({}), Contains("IDX file 'x.idx': header ends after 0 bytes, expected 4"));
  CHECK_THAT(errorOf({0x89, 'P', 'N', 'G'}),
             Contains("begins with 89 50 4e 47, expected 00 00, a type"));
  CHECK_THAT(errorOf({0, 0, 0x0a, 1}), Contains("begins with 00 00 0a 01"));
  CHECK_THAT(errorOf({0, 0, 8, 0}), Contains("has 0 dims, expected 1 to 8"));
  CHECK_THAT(errorOf({0, 0, 8, 255}), Contains("has 255 dims, expected 1 to 8"));
  CHECK_THAT(errorOf({0, 0, 8, 2, 0, 0, 0, 1}), Contains("header ends after 8 bytes, expected 12"));
  CHECK_THAT(errorOf(kSmall + Bytes{7}),
             Contains("goes on behind the 6 bytes of data") && Contains("2x3xu8"));
  CHECK_THAT(errorOf(gzip(kSmall + Bytes{7})), Contains("goes on behind the 6 bytes"));
  CHECK_THAT(errorOf(gzip({0, 0, 8, 1, 0, 0, 0, 9, 1})),
             Contains("has 1 bytes of data, expected 9 (9xu8)"));
  for (size_t size = 0; size < kSmall.size(); ++size) {
    CHECK(errorOf({kSmall.begin(), kSmall.begin() + static_cast<ptrdiff_t>(size)}) != "ok");
  }
}

TEST_CASE("dims that overflow, or promise more than a file can hold, allocate nothing") {
  const Bytes huge = idx(0x0e, {UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX}, {});
  CHECK_THAT(errorOf(huge), Contains("IDX file 'x.idx': "));
  const Bytes large = idx(0x08, {1U << 30, 1U << 10}, {1});
  CHECK_THAT(errorOf(large), Contains("header promises 1099511627776 bytes of data") &&
                                 Contains("holds at most 1; the file is truncated"));
  CHECK_THAT(errorOf(gzip(large)), Contains("header promises 1099511627776 bytes"));
}

TEST_CASE("a bomb is not decompressed beyond what its header says") {
  const Bytes bomb = gzip(idx(0x08, {4}, Bytes(size_t{64} << 20)));
  REQUIRE(bomb.size() < 100'000);
  CHECK_THAT(errorOf(bomb), Contains("goes on behind the 4 bytes of data"));
}

TEST_CASE("nothing compresses to less than the bound says") {
  const Bytes zeros(size_t{16} << 20);
  CHECK(mostInflated(gzip(zeros).size()) >= zeros.size());
}

TEST_CASE("damaged and truncated compression is refused") {
  const Bytes whole = gzip(kSmall);
  for (size_t size = 2; size < whole.size(); ++size) {
    CHECK_THAT(errorOf({whole.begin(), whole.begin() + static_cast<ptrdiff_t>(size)}),
               Contains("the file is truncated"));
  }
  Bytes checksum = whole;
  checksum[whole.size() - 8] ^= 1;
  CHECK_THAT(errorOf(checksum), Contains("compressed data are damaged at byte") &&
                                    Contains("incorrect data check") &&
                                    Contains("get the file again"));
  CHECK_THAT(errorOf(whole + Bytes{1, 2, 3}), Contains("compressed data are damaged"));
  std::mt19937 random(3);
  for (int i = 0; i < 5'000; ++i) {
    Bytes bytes = i % 2 == 0 ? whole : kSmall;
    for (int k = 0; k < 3; ++k) {
      bytes[random() % bytes.size()] = static_cast<uint8_t>(random());
    }
    parseIdx(bytes, "x").status().IgnoreError();  // must only not crash
  }
}

TEST_CASE("a file that is not there says so") {
  CHECK(absl::IsNotFound(readIdx("/no/such/file.idx").status()));
}

}  // namespace
}  // namespace graphrun::runtime
