#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <numeric>

#include "tests/devices/cpu/instruction_runner.h"

namespace graphrun::devices::cpu {
namespace {

using Values = std::vector<double>;

const ElementType kNumbers[] = {ElementType::kF64,  ElementType::kF32, ElementType::kF16,
                                ElementType::kBF16, ElementType::kI64, ElementType::kI32,
                                ElementType::kI16,  ElementType::kI8,  ElementType::kU64,
                                ElementType::kU32,  ElementType::kU16, ElementType::kU8};

std::vector<Values> runAll(const std::string& name, const Attributes& attributes,
                           const std::vector<TensorSpec>& outputs, Tensors inputs) {
  auto got = tryRun(name, attributes, outputs, std::move(inputs));
  INFO(name << ": " << got.status());
  REQUIRE(got.ok());
  std::vector<Values> all;
  for (const HostTensor& result : *got) {
    all.push_back(values(result));
  }
  return all;
}

Values run(const std::string& name, const Attributes& attributes, TensorSpec output,
           Tensors inputs) {
  return runAll(name, attributes, {std::move(output)}, std::move(inputs))[0];
}

TensorSpec i64s(Dims dims) { return {ElementType::kI64, std::move(dims)}; }

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

}  // namespace

TEST_CASE("range in every type, up and down, and of another length than planned") {
  for (ElementType type : kNumbers) {
    auto scalar = [&](double x) { return tensor(type, {}, {x}); };
    CHECK(run("gr.range", {}, {type, {3}}, list(scalar(1), scalar(8), scalar(3))) ==
          Values{1, 4, 7});
  }
  auto down = [](Dims dims, double limit, double delta) {
    return tryRun("gr.range", {}, {i64s(std::move(dims))},
                  list(i64({}, {5}), i64({}, {limit}), i64({}, {delta})));
  };
  CHECK(values((*down({3}, -1, -2))[0]) == Values{5, 3, 1});
  CHECK(values((*down({0}, 9, -2))[0]).empty());
  CHECK(down({2}, -1, -2).status().message().find("another length") != std::string::npos);
  CHECK(down({0}, 5, 0).status().message().find("delta is 0") != std::string::npos);
}

TEST_CASE("gather_elements of rows that are longer, and shorter, than what is read at once") {
  auto [rows, columns, axis] = GENERATE(
      table<int64_t, int64_t, int64_t>({{3, 700, 1}, {3, 256, 0}, {900, 5, 1}, {70, 7, 0}}));
  ElementType type = GENERATE(ElementType::kI64, ElementType::kI32);
  CAPTURE(rows, columns, axis);
  int64_t dim = axis == 0 ? rows : columns;
  Values x(static_cast<size_t>(rows * columns)), picks(x.size()), expected;
  std::iota(x.begin(), x.end(), 0);
  for (int64_t i = 0; i < rows * columns; ++i) {
    int64_t pick = (i * 31 + 7) % (2 * dim) - dim;
    picks[static_cast<size_t>(i)] = static_cast<double>(pick);
    int64_t at = pick < 0 ? pick + dim : pick;
    expected.push_back(
        static_cast<double>(axis == 0 ? at * columns + i % columns : i / columns * columns + at));
  }
  auto inputs = [&] {
    return list(tensor(ElementType::kF32, {rows, columns}, x),
                tensor(type, {rows, columns}, picks));
  };
  TensorSpec out{ElementType::kF32, {rows, columns}};
  CHECK(run("gr.gather_elements", {{"axis", axis}}, out, inputs()) == expected);
  picks.back() = static_cast<double>(dim);
  CHECK_FALSE(tryRun("gr.gather_elements", {{"axis", axis}}, {out}, inputs()).ok());
}

TEST_CASE("gather_elements along each axis") {
  for (ElementType type : kNumbers) {
    HostTensor x = tensor(type, {2, 3}, {1, 2, 3, 4, 5, 6});
    CHECK(run("gr.gather_elements", {{"axis", int64_t{1}}}, {type, {2, 2}},
              list(x.clone(), i64({2, 2}, {2, -3, 0, 1}))) == Values{3, 1, 4, 5});
    CHECK(run("gr.gather_elements", {{"axis", int64_t{0}}}, {type, {1, 3}},
              list(x.clone(), i64({1, 3}, {1, 0, -1}))) == Values{4, 2, 6});
  }
  auto bad = tryRun("gr.gather_elements", {{"axis", int64_t{0}}}, {{ElementType::kF32, {1}}},
                    list(f32({3}, {1, 2, 3}), i64({1}, {3})));
  CHECK(bad.status().message().find("index 3 at [0] of the indices is out of range, expected -3 to "
                                    "2") != std::string::npos);
  bad = tryRun("gr.gather_nd", {}, {{ElementType::kF32, {2}}},
               list(f32({2, 3}, {1, 2, 3, 4, 5, 6}), i64({2, 2}, {1, 2, 0, -4})));
  CHECK(
      bad.status().message().find("index -4 at [1, 1] of the indices is out of range, expected -3 "
                                  "to 2") != std::string::npos);
}

TEST_CASE("gather_nd picks elements and slices, in batches") {
  HostTensor x = f32({2, 2, 2}, {0, 1, 2, 3, 4, 5, 6, 7});
  CHECK(run("gr.gather_nd", {}, {ElementType::kF32, {2}},
            list(x.clone(), i64({2, 3}, {0, 0, 1, 1, 0, -1}))) == Values{1, 5});
  CHECK(run("gr.gather_nd", {}, {ElementType::kF32, {2, 2}},
            list(x.clone(), i64({2, 2}, {0, 1, 1, 0}))) == Values{2, 3, 4, 5});
  CHECK(run("gr.gather_nd", {{"batch_dims", int64_t{1}}}, {ElementType::kF32, {2, 2}},
            list(x.clone(), i64({2, 1}, {1, 0}))) == Values{2, 3, 4, 5});
  CHECK(!tryRun("gr.gather_nd", {}, {{ElementType::kF32, {1, 2, 2}}},
                list(x.clone(), i64({1, 1}, {2})))
             .ok());
}

TEST_CASE("scatter_elements writes, and joins by every reduction") {
  auto scatter = [](ElementType type, const std::string& reduction, Values updates) {
    return run("gr.scatter_elements", {{"axis", int64_t{1}}, {"reduction", reduction}},
               {type, {1, 4}},
               list(tensor(type, {1, 4}, {1, 2, 3, 4}), i64({1, 3}, {1, 1, -1}),
                    tensor(type, {1, 3}, updates)));
  };
  for (ElementType type : kNumbers) {
    CHECK(scatter(type, "none", {7, 8, 9}) == Values{1, 8, 3, 9});
    CHECK(scatter(type, "add", {5, 6, 7}) == Values{1, 13, 3, 11});
    CHECK(scatter(type, "mul", {2, 3, 4}) == Values{1, 12, 3, 16});
    CHECK(scatter(type, "min", {1, 5, 0}) == Values{1, 1, 3, 0});
    CHECK(scatter(type, "max", {1, 5, 6}) == Values{1, 5, 3, 6});
  }
  CHECK(std::isnan(scatter(ElementType::kF32, "max", {1, kNan, 6})[1]));
  CHECK(run("gr.scatter_elements", {{"axis", int64_t{0}}, {"reduction", std::string("add")}},
            {ElementType::kBool, {2}},
            list(tensor(ElementType::kBool, {2}, {0, 1}), i64({2}, {0, 1}),
                 tensor(ElementType::kBool, {2}, {1, 1}))) == Values{1, 1});
}

TEST_CASE("scatter_nd writes slices") {
  auto scatter = [](const std::string& reduction) {
    return run("gr.scatter_nd", {{"reduction", reduction}}, {ElementType::kI32, {3, 2}},
               list(tensor(ElementType::kI32, {3, 2}, {1, 2, 3, 4, 5, 6}), i64({2, 1}, {-1, 0}),
                    tensor(ElementType::kI32, {2, 2}, {7, 8, 9, 10})));
  };
  CHECK(scatter("none") == Values{9, 10, 3, 4, 7, 8});
  CHECK(scatter("add") == Values{10, 12, 3, 4, 12, 14});
  CHECK(!tryRun("gr.scatter_nd", {{"reduction", std::string("sub")}}, {{ElementType::kI32, {1}}},
                list(tensor(ElementType::kI32, {1}, {1}), i64({1, 1}, {0}),
                     tensor(ElementType::kI32, {1}, {1})))
             .ok());
}

TEST_CASE("non_zero gives the indices and their number") {
  for (ElementType type : kNumbers) {
    CHECK(runAll("gr.non_zero", {}, {i64s({2, 4}), i64s({1})},
                 list(tensor(type, {2, 2}, {1, 0, 3, 4}))) ==
          std::vector<Values>{{0, 1, 1, 0, 0, 0, 1, 0}, {3}});
  }
  CHECK(runAll("gr.non_zero", {}, {i64s({0, 1}), i64s({1})}, list(f32({}, {2})))[1] == Values{1});
}

TEST_CASE("unique elements and slices, sorted or in order of occurrence") {
  auto unique = [](bool sorted, Dims dims, int64_t axis, const Values& x) {
    int64_t along = dims[static_cast<size_t>(axis)];
    return runAll(
        "gr.unique", {{"axis", axis}, {"sorted", sorted}},
        {{ElementType::kF32, dims}, i64s({along}), i64s({along}), i64s({along}), i64s({1})},
        list(f32(dims, x)));
  };
  CHECK(unique(false, {6}, 0, {2, 1, 1, 3, 4, 3}) ==
        std::vector<Values>{
            {2, 1, 3, 4, 0, 0}, {0, 1, 3, 4, 0, 0}, {0, 1, 1, 2, 3, 2}, {1, 2, 2, 1, 0, 0}, {4}});
  CHECK(unique(true, {6}, 0, {2, 1, 1, 3, 4, 3}) ==
        std::vector<Values>{
            {1, 2, 3, 4, 0, 0}, {1, 0, 3, 4, 0, 0}, {1, 0, 0, 2, 3, 2}, {2, 1, 2, 1, 0, 0}, {4}});
  CHECK(unique(true, {2, 4, 2}, 1, {1, 1, 0, 1, 2, 1, 0, 1, 1, 1, 0, 1, 2, 1, 0, 1}) ==
        std::vector<Values>{{0, 1, 1, 1, 2, 1, 0, 0, 0, 1, 1, 1, 2, 1, 0, 0},
                            {1, 0, 2, 0},
                            {1, 0, 2, 0},
                            {2, 1, 1, 0},
                            {3}});
  CHECK(unique(true, {3}, 0, {kNan, 1, kNan})[4] == Values{2});
}

TEST_CASE("top_k along each axis, ties by index, and another k than planned") {
  for (ElementType type : kNumbers) {
    HostTensor x = tensor(type, {2, 3}, {1, 5, 5, 4, 2, 6});
    CHECK(runAll("gr.top_k", {{"axis", int64_t{1}}}, {{type, {2, 2}}, i64s({2, 2})},
                 list(x.clone(), i64({1}, {2}))) ==
          std::vector<Values>{{5, 5, 6, 4}, {1, 2, 2, 0}});
    CHECK(runAll("gr.top_k", {{"axis", int64_t{0}}, {"largest", false}},
                 {{type, {1, 3}}, i64s({1, 3})},
                 list(x.clone(), i64({1}, {1}))) == std::vector<Values>{{1, 2, 5}, {0, 1, 0}});
  }
  auto other = tryRun("gr.top_k", {{"axis", int64_t{0}}}, {{ElementType::kF32, {1}}, i64s({1})},
                      list(f32({2}, {1, 2}), i64({1}, {2})));
  CHECK(other.status().message().find("another one than was planned") != std::string::npos);
  CHECK(runAll("gr.top_k", {{"axis", int64_t{0}}}, {{ElementType::kF32, {2}}, i64s({2})},
               list(f32({3}, {1, kNan, 2}), i64({1}, {2})))[1] == Values{1, 2});
}

TEST_CASE("top_k of long lines") {
  std::mt19937 random(3);
  for (bool largest : {true, false}) {
    for (int64_t k : {1, 5, 70}) {
      CAPTURE(largest, k);
      // Few values, so that many are equal.
      Values x(500);
      std::generate(x.begin(), x.end(), [&] { return static_cast<double>(random() % 97); });
      Values order(x.size());
      std::iota(order.begin(), order.end(), 0);
      std::stable_sort(order.begin(), order.end(), [&](double a, double b) {
        double u = x[static_cast<size_t>(a)], v = x[static_cast<size_t>(b)];
        return largest ? u > v : u < v;
      });
      order.resize(static_cast<size_t>(k));
      CHECK(runAll("gr.top_k", {{"axis", int64_t{0}}, {"largest", largest}},
                   {{ElementType::kF32, {k}}, i64s({k})},
                   list(f32({500}, x), i64({1}, {static_cast<double>(k)})))[1] == order);
    }
  }
}

TEST_CASE("arg_reduce takes the first or last of equal elements") {
  auto arg = [](const std::string& kind, bool last, Values x) {
    auto n = static_cast<int64_t>(x.size());
    return run("gr.arg_reduce", {{"kind", kind}, {"axis", int64_t{0}}, {"last", last}}, i64s({1}),
               list(f32({n}, x)))[0];
  };
  CHECK(arg("max", false, {1, 7, 3, 7}) == 1);
  CHECK(arg("max", true, {1, 7, 3, 7}) == 3);
  CHECK(arg("min", false, {4, 2, 2, 3}) == 1);
  CHECK(arg("min", true, {4, 2, 2, 3}) == 2);
  CHECK(arg("max", false, {1, kNan, 3, kNan}) == 1);
  CHECK(arg("min", true, {1, kNan, 3, kNan}) == 3);
}

TEST_CASE("arg_reduce of long lines and of lines side by side") {
  // Few values, so that many are equal, and sometimes a NaN, which is better than any number.
  std::mt19937 random(31);
  for (auto [dim, inner] : {std::pair<int64_t, int64_t>{64, 1}, {1000, 1}, {130, 1}, {21, 300}}) {
    std::vector<double> x(static_cast<size_t>(dim * inner));
    for (double& value : x) {
      value = random() % 200 == 0 ? kNan : static_cast<double>(random() % 9);
    }
    for (bool largest : {false, true}) {
      for (bool last : {false, true}) {
        CAPTURE(dim, inner, largest, last);
        Values expected;
        for (int64_t line = 0; line < inner; ++line) {
          int64_t best = 0;
          for (int64_t i = 1; i < dim; ++i) {
            double a = x[static_cast<size_t>(best * inner + line)];
            double b = x[static_cast<size_t>(i * inner + line)];
            bool same = a == b || (std::isnan(a) && std::isnan(b));
            bool better = std::isnan(b) || (largest ? b > a : b < a);
            best = (same ? last : better) ? i : best;
          }
          expected.push_back(static_cast<double>(best));
        }
        auto got = run(
            "gr.arg_reduce",
            {{"kind", std::string(largest ? "max" : "min")}, {"axis", int64_t{0}}, {"last", last}},
            i64s({inner}), list(f32({dim, inner}, x)));
        CHECK(got == expected);
      }
    }
  }
}

TEST_CASE("running sums and products") {
  auto running = [](ElementType type, const std::string& kind, bool exclusive, bool reverse) {
    return run("gr.cumulative", {{"kind", kind}, {"exclusive", exclusive}, {"reverse", reverse}},
               {type, {2, 3}}, list(tensor(type, {2, 3}, {1, 2, 3, 4, 5, 6}), i64({}, {-1})));
  };
  for (ElementType type : kNumbers) {
    CHECK(running(type, "sum", false, false) == Values{1, 3, 6, 4, 9, 15});
    CHECK(running(type, "sum", true, false) == Values{0, 1, 3, 0, 4, 9});
    CHECK(running(type, "sum", false, true) == Values{6, 5, 3, 15, 11, 6});
    CHECK(running(type, "prod", true, true) == Values{6, 3, 1, 30, 6, 1});
  }
  CHECK(!tryRun("gr.cumulative", {{"kind", std::string("sum")}}, {{ElementType::kF32, {1}}},
                list(f32({1}, {1}), i64({}, {1})))
             .ok());
}

TEST_CASE("determinants") {
  CHECK(run("gr.det", {}, {ElementType::kF32, {2}},
            list(f32({2, 2, 2}, {1, 2, 3, 4, 0, 2, 3, 0}))) == Values{-2, -6});
  CHECK(run("gr.det", {}, {ElementType::kF64, {}},
            list(tensor(ElementType::kF64, {3, 3}, {1, 2, 3, 2, 4, 6, 0, 1, 1}))) == Values{0});
}

TEST_CASE("boxes that overlap better ones are left out") {
  auto select = [](int64_t bound, double most, double overlap, double score) {
    return tryRun("gr.non_max_suppression", {}, {i64s({bound, 3}), i64s({1})},
                  list(f32({1, 4, 4}, {0, 0, 1, 1, 0, 0.1, 1, 1.1, 1, 11, 0, 10, 0, 100, 1, 101}),
                       f32({1, 1, 4}, {0.9, 0.75, 0.95, 0.3}), i64({1}, {most}),
                       f32({1}, {overlap}), f32({1}, {score})));
  };
  auto taken = select(4, 3, 0.5, 0.0);
  REQUIRE(taken.ok());
  CHECK(values((*taken)[0]) == Values{0, 0, 2, 0, 0, 0, 0, 0, 3, 0, 0, 0});
  CHECK(values((*taken)[1]) == Values{3});
  CHECK(values((*select(4, 2, 0.9, 0.0))[1]) == Values{2});
  CHECK(values((*select(4, 4, 0.9, 0.0))[1]) == Values{4});
  CHECK(values((*select(4, 4, 0.5, 0.5))[1]) == Values{2});
  CHECK(select(1, 3, 0.5, 0.0).status().message().find("above its bound") != std::string::npos);
}

TEST_CASE("random numbers are Philox4x32-10, the same in any type and split") {
  auto random = [](ElementType type, const std::string& kind, double a, double b, int64_t n) {
    return run("gr.random", {{"kind", kind}, {"a", a}, {"b", b}, {"seed", int64_t{0}}}, {type, {n}},
               list(i64({1}, {static_cast<double>(n)})));
  };
  // The known answer for counter 0 and key 0: 6627e8d5 e169c58d bc57ac4c 9b00dbd8.
  Values u = random(ElementType::kF64, "uniform", 0, 1, 3);
  CHECK(u[0] == std::ldexp(static_cast<double>(0xe169c58d6627e8d5ULL >> 11), -53));
  CHECK(u[1] == std::ldexp(static_cast<double>(0x9b00dbd8bc57ac4cULL >> 11), -53));
  CHECK(random(ElementType::kF32, "uniform", 0, 1, 1)[0] ==
        std::ldexp(static_cast<double>(0xe169c58d6627e8d5ULL >> 40), -24));
  constexpr int64_t kMany = 100000;
  for (ElementType type : {ElementType::kF32, ElementType::kF16, ElementType::kBF16}) {
    Values many = random(type, "uniform", 0, 1, kMany);
    double sum = 0;
    for (double x : many) {
      REQUIRE((x >= 0 && x < 1));
      sum += x;
    }
    CHECK(std::fabs(sum / kMany - 0.5) < 0.01);
  }
  double sum = 0;
  double squares = 0;
  for (double x : random(ElementType::kF32, "normal", 3, 2, kMany)) {
    sum += x;
    squares += x * x;
  }
  double mean = sum / kMany;
  CHECK(std::fabs(mean - 3) < 0.03);
  CHECK(std::fabs(squares / kMany - mean * mean - 4) < 0.08);
}

// Expected values: Philox4x32-10 written down in Python, which gives the three known answers.
TEST_CASE("the step is the upper half of a random number's counter") {
  auto random = [](int64_t step) {
    Tensors inputs = list(i64({1}, {4}), i64({}, {0}));
    inputs[1].as<int64_t>()[0] = step;
    return run("gr.random",
               {{"kind", std::string("uniform")}, {"a", 0.0}, {"b", 1.0}, {"seed", int64_t{0}}},
               {ElementType::kF64, {4}}, std::move(inputs));
  };
  CHECK(random(0)[0] == std::ldexp(static_cast<double>(0xe169c58d6627e8d5ULL >> 11), -53));
  CHECK(random(5) ==
        Values{0.6647489580318171, 0.10628212277869065, 0.10688818580896453, 0.2368232817597924});
  CHECK(random((int64_t{7} << 32) + 9) ==
        Values{0.5093490886528416, 0.6525576393229269, 0.778728062286761, 0.6036820392323355});
  CHECK(random(-1) ==
        Values{0.5070871046832655, 0.32457449408969585, 0.20942631568332282, 0.6331820143302321});
}

}  // namespace graphrun::devices::cpu
