#include "runtime/base/npy.h"

#include <catch2/catch.hpp>
#include <cstdio>
#include <cstring>
#include <string>

#include "absl/strings/str_cat.h"

namespace graphrun::runtime {
namespace {

using Catch::Matchers::Contains;

// A file of format `version` with `dict` as its header and `data` behind it.
std::vector<uint8_t> npy(const std::string& dict, const std::string& data, uint8_t version = 1) {
  std::string file = std::string("\x93NUMPY", 6);
  file += {static_cast<char>(version), 0, static_cast<char>(dict.size() & 0xff),
           static_cast<char>(dict.size() >> 8)};
  if (version > 1) {
    file += std::string(2, '\0');
  }
  file += dict + data;
  return {file.begin(), file.end()};
}

std::string dictOf(const std::string& descr, const std::string& order, const std::string& shape) {
  return absl::StrCat("{'descr': '", descr, "', 'fortran_order': ", order, ", 'shape': ", shape,
                      ", }   \n");
}

std::string errorOf(const std::vector<uint8_t>& file) {
  auto tensor = parseNpy(file, "x.npy");
  return tensor.ok() ? "ok" : std::string(tensor.status().message());
}

template <typename T>
std::string raw(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

TEST_CASE("every element type and rank is written and read back") {
  std::string path = absl::StrCat(std::tmpnam(nullptr), ".npy");
  for (uint8_t i = 1; i < kElementTypeCount; ++i) {
    for (const std::vector<int64_t>& dims :
         {std::vector<int64_t>{}, {3}, {2, 3}, {0, 4}, {2, 1, 3, 2}}) {
      if (elementSize(static_cast<ElementType>(i)) == 0) {
        continue;  // a number that is kept
      }
      HostTensor tensor(TensorSpec{static_cast<ElementType>(i), dims});
      for (size_t b = 0; b < tensor.byteSize(); ++b) {
        static_cast<uint8_t*>(tensor.data())[b] = b % 2;
      }
      REQUIRE(writeNpy(path, tensor) == absl::OkStatus());
      auto read = readNpy(path, tensor.spec().type);
      REQUIRE(read.status() == absl::OkStatus());
      CHECK(read->spec() == tensor.spec());
      CHECK((tensor.byteSize() == 0 ||
             std::memcmp(read->data(), tensor.data(), tensor.byteSize()) == 0));
    }
  }
  std::remove(path.c_str());
  CHECK(absl::IsNotFound(readNpy(path).status()));
  CHECK_FALSE(writeNpy("/absent/x.npy", HostTensor(TensorSpec{ElementType::kF32, {}})).ok());
}

TEST_CASE("a file of a reduced type is read only where one is expected") {
  std::string path = absl::StrCat(std::tmpnam(nullptr), ".npy");
  HostTensor tensor(TensorSpec{ElementType::kU8, {2}});
  tensor.as<uint8_t>()[0] = 0xf3;
  HostTensor quads(TensorSpec{ElementType::kI4, {2}});
  quads.as<uint8_t>()[0] = 0xf3;
  REQUIRE(writeNpy(path, quads) == absl::OkStatus());
  auto read = readNpy(path, ElementType::kI4);
  REQUIRE(read.status() == absl::OkStatus());
  CHECK(read->as<uint8_t>()[0] == 3);  // the bits above an element's are cleared
  CHECK_THAT(std::string(readNpy(path).status().message()),
             Catch::Contains("dtype is '|V1'") && Catch::Contains("tensor of one of them"));
  CHECK_FALSE(readNpy(path, ElementType::kF32).ok());
  std::remove(path.c_str());
}

// Files written by NumPy 2.
TEST_CASE("files of NumPy are read") {
  auto read = [](const std::string& name) {
    return readNpy(absl::StrCat(GRAPHRUN_NPY_FILES, "/", name, ".npy"));
  };
  auto plain = read("c_order_f32");
  REQUIRE(plain.status() == absl::OkStatus());
  CHECK(plain->spec().toString() == "2x3xf32");
  CHECK(plain->as<float>()[4] == 4.0F);
  auto fortran = read("fortran_i64");
  REQUIRE(fortran.status() == absl::OkStatus());
  CHECK(fortran->spec().toString() == "2x3x4xi64");
  for (int64_t i = 0; i < 24; ++i) {
    CHECK(fortran->as<int64_t>()[static_cast<size_t>(i)] == i);
  }
  auto big = read("big_endian_f16");
  REQUIRE(big.status() == absl::OkStatus());
  CHECK(big->as<uint16_t>()[3] == 0x4200);  // 3.0
  auto scalar = read("scalar_bool");
  REQUIRE(scalar.status() == absl::OkStatus());
  CHECK(scalar->spec().toString() == "bool");
  CHECK(scalar->as<uint8_t>()[0] == 1);
  CHECK(read("version2_u8")->spec().toString() == "5xu8");
}

TEST_CASE("texts are read from both of NumPy's types and written as bytes") {
  std::string folder = GRAPHRUN_NPY_FILES;
  auto texts = readNpy(absl::StrCat(folder, "/text.npy"));
  REQUIRE(texts.status() == absl::OkStatus());
  CHECK(texts->spec().type == ElementType::kString);
  std::u32string wide = {U'a', U'\u00e9', U'\u20ac', U'\U0001f600', 0, 0};
  std::string data(reinterpret_cast<const char*>(wide.data()), wide.size() * sizeof(char32_t));
  auto read = parseNpy(npy(dictOf("<U3", "False", "(2,)"), data), "x");
  REQUIRE(read.status() == absl::OkStatus());
  CHECK(read->strings()[0] == "a\u00e9\u20ac");
  CHECK(read->strings()[1] == "\U0001f600");
  std::string path = absl::StrCat(std::tmpnam(nullptr), ".npy");
  REQUIRE(writeNpy(path, *read) == absl::OkStatus());
  auto again = readNpy(path);
  std::remove(path.c_str());
  REQUIRE(again.status() == absl::OkStatus());
  CHECK(again->strings() == read->strings());
  CHECK_THAT(errorOf(npy(dictOf("<U1", "False", "(1,)"), std::string(4, '\x7f'))),
             Contains("which is no character"));
  CHECK_THAT(errorOf(npy(dictOf("<U3", "False", "(9,)"), data)), Contains("bytes of data"));
  CHECK_THAT(errorOf(npy(dictOf("<U99999999", "False", "(1,)"), data)), Contains("characters"));
}

TEST_CASE("the header is the one that NumPy writes") {
  std::vector<uint8_t> header = npyHeader(TensorSpec{ElementType::kF32, {3}});
  CHECK(header.size() % 64 == 0);
  std::string text(header.begin() + 10, header.end());
  CHECK_THAT(text, Catch::Matchers::StartsWith(
                       "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }"));
  CHECK(text.back() == '\n');
}

TEST_CASE("Fortran order becomes row-major") {
  // Columns of [[1 2 3] [4 5 6]].
  auto file = npy(dictOf("<i4", "True", "(2, 3)"), raw<int32_t>({1, 4, 2, 5, 3, 6}), 2);
  auto tensor = parseNpy(file, "x");
  REQUIRE(tensor.status() == absl::OkStatus());
  std::vector<int32_t> values(tensor->as<int32_t>().begin(), tensor->as<int32_t>().end());
  CHECK(values == std::vector<int32_t>{1, 2, 3, 4, 5, 6});
  // Three dims: element (i, j, k) of shape (2, 3, 2) lies at i + 2 j + 6 k.
  std::vector<uint8_t> data(12);
  for (uint8_t i = 0; i < 12; ++i) {
    data[i] = i;
  }
  auto cube = parseNpy(npy(dictOf("|u1", "True", "(2, 3, 2)"), raw(data)), "x");
  REQUIRE(cube.ok());
  for (uint8_t i = 0; i < 12; ++i) {
    CHECK(cube->as<uint8_t>()[i] == i / 6 + 2 * (i / 2 % 3) + 6 * (i % 2));
  }
  CHECK(errorOf(npy(dictOf("|u1", "True", "(0, 3)"), "")) == "ok");
}

TEST_CASE("big-endian numbers and odd bools are set right") {
  auto big = parseNpy(npy(dictOf(">i2", "False", "(2,)"), std::string("\x01\x02\xff\xfe", 4)), "x");
  REQUIRE(big.ok());
  CHECK(big->as<int16_t>()[0] == 0x102);
  CHECK(big->as<int16_t>()[1] == -2);
  auto bools = parseNpy(npy(dictOf("|b1", "False", "(3,)"), std::string("\x00\x01\x07", 3)), "x");
  REQUIRE(bools.ok());
  CHECK(bools->as<uint8_t>()[2] == 1);
}

TEST_CASE("headers as other writers spell them are read") {
  CHECK(errorOf(npy("{\"shape\":(1,),\"descr\":\"=f4\",\"fortran_order\":False}", "abcd", 3)) ==
        "ok");
  CHECK(errorOf(npy(dictOf("<f8", "False", "(1L,)"), "abcdefgh")) == "ok");
}

TEST_CASE("hostile and foreign headers are refused") {
  auto shaped = [](const std::string& shape) {
    return errorOf(npy(dictOf("<f4", "False", shape), ""));
  };
  CHECK_THAT(errorOf({}), Contains("array 'x.npy': it is not a .npy file"));
  CHECK_THAT(errorOf(npy("", "", 4)), Contains("version is 4.0"));
  CHECK_THAT(errorOf(npy("", "")), Contains("header has '', expected '{'"));
  CHECK_THAT(errorOf(npy(dictOf("<U5", "False", "(1,)"), "")),
             Contains("expected 20 for 1xstring"));
  CHECK_THAT(errorOf(npy(dictOf("|O", "False", "(1,)"), "")), Contains("dtype is '|O'"));
  CHECK_THAT(errorOf(npy(dictOf("<f4", "Maybe", "(1,)"), "")), Contains("fortran_order is 'Maybe"));
  CHECK_THAT(shaped("(-1,)"), Contains("shape has the dim '-1"));
  CHECK_THAT(shaped("(99999999999999999999,)"), Contains("expected a number below 2^63"));
  CHECK_THAT(shaped("(9223372036854775807,)"), Contains("2^62"));
  CHECK_THAT(shaped("(4294967296, 4294967296)"), Contains("2^62"));
  CHECK_THAT(shaped("(1000000000000,)"), Contains("0 bytes of data, expected 4000000000000"));
  CHECK_THAT(shaped("(1 2)"), Contains("expected ')'"));
  // Texts without characters take nothing from the file.
  CHECK(errorOf(npy(dictOf("<U0", "False", "(3,)"), "")) == "ok");
  CHECK_THAT(errorOf(npy(dictOf("<U0", "False", "(288230376151711743,)"), "")),
             Contains("texts of no character, expected at most"));
  CHECK_THAT(errorOf(npy(dictOf("|S0", "False", "(1048577,)"), "")),
             Contains("1048577 texts of no character"));
  CHECK_THAT(shaped("[1]"), Contains("expected '('"));
  std::string many = "(";
  for (int i = 0; i < 33; ++i) {
    many += "1,";
  }
  CHECK_THAT(shaped(many + ")"), Contains("more than 32 dims"));
  CHECK_THAT(errorOf(npy("{'descr': '<f4'}", "")), Contains("header lacks one of"));
  CHECK_THAT(errorOf(npy("{'descr': '<f4', 'descr': '<f4'}", "")), Contains("'descr' twice"));
  CHECK_THAT(errorOf(npy("{'x': 1}", "")), Contains("the key 'x'"));
  CHECK_THAT(errorOf(npy(dictOf("<f4", "False", "()") + "x", "abcd")), Contains("goes on after"));
  CHECK_THAT(errorOf(npy(dictOf("<f4", "False", "()"), "abcde")), Contains("5 bytes of data"));
}

TEST_CASE("a truncated file is refused at every length") {
  std::vector<uint8_t> file = npy(dictOf("<f4", "False", "(2, 2)"), std::string(16, 'a'), 2);
  REQUIRE(errorOf(file) == "ok");
  for (size_t length = 0; length < file.size(); ++length) {
    std::vector<uint8_t> cut(file.begin(), file.begin() + static_cast<ptrdiff_t>(length));
    cut.shrink_to_fit();
    CAPTURE(length);
    REQUIRE(errorOf(cut) != "ok");
  }
}

}  // namespace
}  // namespace graphrun::runtime
