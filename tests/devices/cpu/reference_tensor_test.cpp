#include <catch2/catch.hpp>

#include "tests/devices/cpu/instruction_runner.h"

namespace graphrun::devices::cpu {
namespace {

using Values = std::vector<double>;

const ElementType kEverySize[] = {ElementType::kF64, ElementType::kF32, ElementType::kBF16,
                                  ElementType::kI8};

Values run(const std::string& name, const Attributes& attributes, TensorSpec output,
           Tensors inputs) {
  auto got = tryRun(name, attributes, {std::move(output)}, std::move(inputs));
  INFO(name << ": " << got.status());
  REQUIRE(got.ok());
  return values((*got)[0]);
}

}  // namespace

TEST_CASE("reshape, squeeze and unsqueeze keep the elements") {
  CHECK(run("gr.reshape", {}, {ElementType::kF32, {3, 2}},
            list(f32({2, 3}, {1, 2, 3, 4, 5, 6}), i64({2}, {3, -1}))) == Values{1, 2, 3, 4, 5, 6});
  CHECK(run("gr.squeeze", {{"axes", Dims{0}}}, {ElementType::kF32, {2}},
            list(f32({1, 2}, {1, 2}))) == Values{1, 2});
  CHECK(run("gr.unsqueeze", {{"axes", Dims{0}}}, {ElementType::kF32, {1, 2}},
            list(f32({2}, {1, 2}))) == Values{1, 2});
}

TEST_CASE("transpose, expand and tile of every element size") {
  for (ElementType type : kEverySize) {
    HostTensor x = tensor(type, {2, 3}, {1, 2, 3, 4, 5, 6});
    CHECK(run("gr.transpose", {{"permutation", Dims{1, 0}}}, {type, {3, 2}}, list(x.clone())) ==
          Values{1, 4, 2, 5, 3, 6});
    CHECK(run("gr.expand", {}, {type, {2, 2, 2}},
              list(tensor(type, {2, 1}, {7, 8}), i64({3}, {2, 1, 2}))) ==
          Values{7, 7, 8, 8, 7, 7, 8, 8});
    CHECK(run("gr.tile", {}, {type, {2, 6}}, list(x.clone(), i64({2}, {1, 2}))) ==
          Values{1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6});
  }
  CHECK(!tryRun("gr.transpose", {{"permutation", Dims{0, 0}}}, {{ElementType::kF32, {2, 2}}},
                list(f32({2, 2}, {1, 2, 3, 4})))
             .ok());
}

TEST_CASE("concat and split are inverse") {
  for (ElementType type : kEverySize) {
    CHECK(run("gr.concat", {{"axis", int64_t{1}}}, {type, {2, 3}},
              list(tensor(type, {2, 1}, {1, 4}), tensor(type, {2, 2}, {2, 3, 5, 6}))) ==
          Values{1, 2, 3, 4, 5, 6});
    auto parts =
        tryRun("gr.split", {{"axis", int64_t{1}}, {"sizes", Dims{1, 2}}},
               {{type, {2, 1}}, {type, {2, 2}}}, list(tensor(type, {2, 3}, {1, 2, 3, 4, 5, 6})));
    REQUIRE(parts.ok());
    CHECK(values((*parts)[0]) == Values{1, 4});
    CHECK(values((*parts)[1]) == Values{2, 3, 5, 6});
  }
  CHECK(!tryRun("gr.concat", {{"axis", int64_t{0}}}, {{ElementType::kF32, {3}}},
                list(f32({1}, {1}), f32({1}, {2})))
             .ok());
}

TEST_CASE("slice takes ranges with steps, and its positions are read at run time") {
  auto slice = [](Dims out, Values starts, Values ends, Values axes, Values steps) {
    auto n = static_cast<int64_t>(starts.size());
    return tryRun("gr.slice", {}, {{ElementType::kF32, std::move(out)}},
                  list(f32({2, 4}, {1, 2, 3, 4, 5, 6, 7, 8}), i64({n}, starts), i64({n}, ends),
                       i64({n}, axes), i64({n}, steps)));
  };
  CHECK(values((*slice({2, 2}, {1}, {3}, {1}, {1}))[0]) == Values{2, 3, 6, 7});
  CHECK(values((*slice({2, 2}, {-1}, {-5}, {-1}, {-2}))[0]) == Values{4, 2, 8, 6});
  CHECK(values((*slice({1, 2}, {1, 0}, {1000, 4}, {0, 1}, {1, 3}))[0]) == Values{5, 8});
  CHECK(values((*slice({2, 0}, {3}, {1}, {1}, {1}))[0]).empty());
  auto other = slice({2, 2}, {0}, {3}, {1}, {1});
  CHECK(other.status().message().find("another shape") != std::string::npos);
  CHECK(!slice({2, 4}, {0}, {3}, {2}, {1}).ok());
  CHECK(!slice({2, 4}, {0}, {3}, {1}, {0}).ok());
  auto extreme = slice({2, 1}, {3}, {-9223372036854775807.0}, {1}, {-9223372036854775807.0});
  CHECK(values((*extreme)[0]) == Values{4, 8});
}

TEST_CASE("pad in every mode, and cropping") {
  auto pad = [](const std::string& mode, Dims out, Values pads) {
    auto n = static_cast<int64_t>(pads.size());
    return tryRun("gr.pad", {{"mode", mode}}, {{ElementType::kF32, std::move(out)}},
                  list(f32({3}, {1, 2, 3}), i64({n}, pads), f32({}, {9})));
  };
  CHECK(values((*pad("constant", {6}, {1, 2}))[0]) == Values{9, 1, 2, 3, 9, 9});
  CHECK(values((*pad("edge", {6}, {1, 2}))[0]) == Values{1, 1, 2, 3, 3, 3});
  CHECK(values((*pad("reflect", {7}, {2, 2}))[0]) == Values{3, 2, 1, 2, 3, 2, 1});
  CHECK(values((*pad("wrap", {7}, {2, 2}))[0]) == Values{2, 3, 1, 2, 3, 1, 2});
  CHECK(values((*pad("constant", {3}, {-1, 1}))[0]) == Values{2, 3, 9});
  CHECK(!pad("constant", {6}, {1, 1}).ok());
  CHECK(!pad("mirror", {6}, {1, 2}).ok());
  CHECK(!pad("constant", {6}, {1}).ok());
  CHECK(run("gr.pad", {{"mode", std::string("constant")}}, {ElementType::kI8, {3, 3}},
            list(tensor(ElementType::kI8, {1, 2}, {5, 6}), i64({4}, {1, 0, 1, 1}),
                 tensor(ElementType::kI8, {}, {0}))) == Values{0, 0, 0, 5, 6, 0, 0, 0, 0});
}

TEST_CASE("gather picks rows, and an index out of range is an error with a message") {
  for (ElementType type : kEverySize) {
    CHECK(run("gr.gather", {{"axis", int64_t{1}}}, {type, {2, 1, 2}},
              list(tensor(type, {2, 3}, {1, 2, 3, 4, 5, 6}), i64({1, 2}, {2, -3}))) ==
          Values{3, 1, 6, 4});
  }
  for (double bad : {3.0, -4.0}) {
    auto got = tryRun("gr.gather", {{"axis", int64_t{0}}}, {{ElementType::kF32, {2, 2}}},
                      list(f32({3}, {1, 2, 3}), tensor(ElementType::kI32, {2, 2}, {0, 1, bad, 9})));
    CHECK(absl::IsInvalidArgument(got.status()));
    CHECK(got.status().message().find(absl::StrCat(
              "index ", static_cast<int>(bad),
              " at [1, 0] of the indices is out of range, expected -3 to 2")) != std::string::npos);
  }
}

TEST_CASE("shape and fill") {
  CHECK(run("gr.shape", {}, {ElementType::kI64, {2}}, list(f32({2, 3}, {1, 2, 3, 4, 5, 6}))) ==
        Values{2, 3});
  CHECK(run("gr.shape", {{"start", int64_t{-1}}}, {ElementType::kI64, {1}},
            list(f32({2, 3}, {1, 2, 3, 4, 5, 6}))) == Values{3});
  CHECK(run("gr.fill", {}, {ElementType::kI32, {2, 2}},
            list(i64({2}, {2, 2}), tensor(ElementType::kI32, {1}, {7}))) == Values{7, 7, 7, 7});
}

}  // namespace graphrun::devices::cpu
