// Every kind of misuse once: where it happened, what was got, what was expected.
#include <source_location>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tests/frontends/builder/loaded_model.h"

namespace graphrun::builder {
namespace {

using Catch::Contains;

struct Fixture {
  Graph g{"model"};
  Tensor x = g.input("x", ElementType::kF32, {Dim("N"), 3, 8, 8});
  Tensor m = g.input("m", ElementType::kF32, {4, 6});
  Tensor i = g.input("i", ElementType::kI64, {4, 6});
  Tensor open = reshape(m, g.input("s", ElementType::kI64, {Dim("R")}));  // of unknown rank

  /// The problems, without the heading.
  std::vector<std::string> problems() const {
    std::vector<std::string> lines = absl::StrSplit(g.status().message(), '\n');
    lines.erase(lines.begin());
    return lines;
  }
  /// The one problem.
  std::string problem() const {
    INFO(g.status().message());
    REQUIRE(g.status().code() == absl::StatusCode::kInvalidArgument);
    REQUIRE(problems().size() == 1);
    return problems()[0];
  }
};

/// The problem that one call on a fresh fixture makes.
template <typename Call>
std::string problemOf(Call call) {
  Fixture f;
  REQUIRE(f.g.status().ok());
  call(f);
  return f.problem();
}

TEST_CASE("a problem tells source line, operation, and what was got and expected") {
  Fixture f;
  Tensor filter = f.g.weight({8, 4, 3, 3}, init::heNormal());
  auto scope = f.g.scope("encoder");
  auto line = std::source_location::current().line() + 1;
  Tensor y = conv(f.x, filter);
  CHECK_FALSE(y.valid());
  CHECK_THAT(f.problem(),
             Contains(absl::StrCat("misuse_test.cpp:", line,
                                   ": conv 'encoder/conv_0': input has 3 "
                                   "channels, expected 4 (filter 8x4x3x3 with 1 groups); operands "
                                   "Nx3x8x8xf32, 8x4x3x3xf32")));
  CHECK_THAT(std::string(f.g.status().message()),
             Catch::StartsWith("graph 'model' has 1 problem:"));
}

TEST_CASE("a loss is one floating-point number, and so is what it is differentiated by") {
  CHECK_THAT(problemOf([](Fixture& f) { gradients(f.m, {f.m}); }),
             Contains("loss is of type") && Contains("expected one element of a floating-point "
                                                     "type; reduce it by gr.reduce"));
  CHECK_THAT(
      problemOf([](Fixture& f) { gradients(reduce(f.m, Reduction::kSum), {f.i}); }),
      Contains("differentiates by value 0 of type") && Contains("expected a floating-point type"));
}

TEST_CASE("the line of an operator is the caller's") {
  Fixture f;
  auto line = std::source_location::current().line() + 1;
  static_cast<void>(f.x + f.m);
  CHECK_THAT(f.problem(), Contains(absl::StrCat("misuse_test.cpp:", line, ": add 'add_0': ")) &&
                              Contains("Nx3x8x8 and 4x6 do not broadcast"));
}

TEST_CASE("all problems are reported together, what depends on them is skipped") {
  Fixture f;
  Tensor bad = matmul(f.m, f.m);
  Tensor more = relu(bad) + 1;
  CHECK_FALSE(more.valid());
  CHECK(splitEqually(bad, 0, 2).size() == 2);
  CHECK_FALSE(layers::dense(bad, 3).valid());
  f.g.output("y", more);
  static_cast<void>(logicalNot(f.m));
  std::vector<std::string> problems = f.problems();
  REQUIRE(problems.size() == 3);
  CHECK_THAT(problems[0], Contains("inner dims are 6 and 4"));
  CHECK_THAT(problems[1], Contains("operand has element type 'f32', expected bool"));
  CHECK_THAT(problems[2], Contains("5 calls on the results of these skipped"));
  absl::Status saved = f.g.save("/tmp/never-written.fb");
  CHECK(saved.message() == f.g.status().message());
}

TEST_CASE("tensors of two graphs do not mix") {
  Graph other("other");
  Tensor y = other.input("y", ElementType::kF32, {4, 6});
  CHECK_THAT(problemOf([&](Fixture& f) { f.m + y; }),
             Contains("add_0': operand 1 is a tensor of graph 'other', expected one of graph "
                      "'model'"));
  CHECK_THAT(problemOf([&](Fixture& f) { f.g.output("y", y); }),
             Contains("output 'y': is a tensor of graph 'other', expected one of graph 'model'"));
  CHECK(other.status().ok());
}

TEST_CASE("default-constructed tensors are reported where they meet a graph") {
  CHECK_THAT(problemOf([](Fixture& f) { f.m* Tensor(); }),
             Contains("operand 1 is a default-constructed tensor"));
  CHECK_THAT(problemOf([](Fixture& f) { f.g.output("y", relu(Tensor())); }),
             Contains("output 'y': is a default-constructed tensor, or the result of one"));
  CHECK(splitEqually(Tensor(), 0, 2).size() == 2);
  CHECK_FALSE(concat({}, 0).valid());
  CHECK_FALSE(layers::flatten(Tensor()).valid());
}

TEST_CASE("inputs") {
  auto input = [](const std::string& name, ElementType type, const std::vector<Dim>& dims) {
    return problemOf([&](Fixture& f) { CHECK_FALSE(f.g.input(name, type, dims).valid()); });
  };
  CHECK_THAT(input("x", ElementType::kF32, {1}),
             Contains("input 'x': has the name of another input"));
  CHECK_THAT(input("", ElementType::kF32, {1}), Contains("has no name"));
  CHECK_THAT(input("y", ElementType::kInvalid, {1}), Contains("has no element type"));
  CHECK_THAT(input("y", ElementType::kF32, {1, -2}),
             Contains("has the dim -2, expected at least 0"));
  CHECK_THAT(input("y", ElementType::kF32, {Dim("N + 1")}), Contains("has the dim 'N + 1'"));
  CHECK_THAT(input("y", ElementType::kF32, std::vector<Dim>(17, Dim(1))),
             Contains("is of rank 17, expected at most 16"));
}

TEST_CASE("outputs") {
  CHECK_THAT(problemOf([](Fixture& f) {
               f.g.output("y", f.x);
               f.g.output("y", f.m);
             }),
             Contains("output 'y': has the name of another output"));
  CHECK_THAT(problemOf([](Fixture& f) { f.g.output("", f.x); }), Contains("has no name"));
  Graph empty("empty");
  CHECK_THAT(std::string(empty.save("/tmp/never-written.fb").message()),
             Contains("graph 'empty' has no output"));
  CHECK(empty.status().ok());
}

TEST_CASE("names are new in their scope") {
  CHECK_THAT(problemOf([](Fixture& f) {
               static_cast<void>(relu(f.m, "act"));
               static_cast<void>(relu(f.m, "act"));
             }),
             Contains("relu 'act': has a name that is taken in this graph"));
}

TEST_CASE("constants") {
  CHECK_THAT(problemOf([](Fixture& f) { f.g.constant({1.0F}, {2, 3}, "c"); }),
             Contains("constant 'c': has 1 values, expected 6 for 2x3xf32"));
  CHECK_THAT(problemOf([](Fixture& f) { f.g.constant({1.0F}, {-1}); }),
             Contains("negative dim -1"));
  CHECK_THAT(problemOf([](Fixture& f) { f.g.constant(HostTensor()); }),
             Contains("invalid element type"));
  CHECK_THAT(problemOf([](Fixture& f) { f.g.weight({2}, init::ones(), ElementType::kI32); }),
             Contains("is a weight of 2xi32, expected a floating-point type"));
  CHECK_THAT(problemOf([](Fixture& f) { f.g.scalar(300, ElementType::kU8); }),
             Contains("the number 300 is no value of type u8"));
  CHECK_THAT(problemOf([](Fixture& f) { f.g.weight(std::vector<int64_t>(17, 1), init::ones()); }),
             Contains("rank 17"));
}

TEST_CASE("numbers that the element type does not have") {
  CHECK_THAT(problemOf([](Fixture& f) { f.i * 0.5; }),
             Contains("mul 'mul_0': the number 0.5 is no value of type i64"));
  CHECK_THAT(problemOf([](Fixture& f) { max(f.i, 1e30); }), Contains("is no value of type i64"));
  CHECK_THAT(problemOf([](Fixture& f) { where(less(f.m, 0), 1, 0); }),
             Contains("both choices are numbers, expected a tensor among them"));
}

TEST_CASE("types that do not fit") {
  CHECK_THAT(problemOf([](Fixture& f) { f.m + f.i; }),
             Contains("operands have element types 'f32' and 'i64', expected one type") &&
                 Contains("operands 4x6xf32, 4x6xi64"));
  CHECK_THAT(problemOf([](Fixture& f) { sigmoid(f.i); }),
             Contains("expected a floating-point type"));
  CHECK_THAT(problemOf([](Fixture& f) { cast(f.m, ElementType::kInvalid); }),
             Contains("cast_0': element type 0 is none of GraphRun's"));
  CHECK_THAT(problemOf([](Fixture& f) { fill(shape(f.m), 1, ElementType::kInvalid); }),
             Contains("element type 0"));
  CHECK_THAT(problemOf([](Fixture& f) { fill(shape(f.m), -1, ElementType::kU8); }),
             Contains("the number -1 is no value of type u8"));
}

TEST_CASE("axes") {
  CHECK_THAT(problemOf([](Fixture& f) { gather(f.m, {0}, -3); }),
             Contains("axis -3 is out of range for rank 2; operand 4x6xf32"));
  CHECK_THAT(problemOf([](Fixture& f) { gather(f.m, {0}, 2); }),
             Contains("axis 2 is out of range"));
  CHECK_THAT(problemOf([](Fixture& f) { squeeze(f.open, {-1}); }),
             Contains("axis -1 counts from the end, but the operand's rank is not known"));
  CHECK_THAT(problemOf([](Fixture& f) { reduce(f.m, Reduction::kSum, {.axes = {1, -1}}); }),
             Contains("axes must be ascending and unique"));
  CHECK_THAT(problemOf([](Fixture& f) { reduce(f.open, Reduction::kSum); }),
             Contains("reduces all axes of a tensor whose rank is not known"));
}

TEST_CASE("parts and ranges") {
  CHECK_THAT(problemOf([](Fixture& f) { split(f.m, 0, {}); }), Contains("sizes is empty"));
  CHECK_THAT(problemOf([](Fixture& f) { split(f.m, 0, {-1, 5}); }), Contains("negative entry"));
  CHECK_THAT(problemOf([](Fixture& f) { split(f.m, 0, {1, 1}); }), Contains("sizes add up to 2"));
  CHECK_THAT(problemOf([](Fixture& f) { splitEqually(f.m, 0, 0); }), Contains("parts is 0"));
  CHECK_THAT(problemOf([](Fixture& f) { slice(f.m, {.starts = {0, 0}, .ends = {1}}); }),
             Contains("differ in their number of entries, expected 2 each"));
  CHECK_THAT(problemOf([](Fixture& f) {
               Tensor starts = f.g.input("starts", ElementType::kI64, {Dim("K")});
               slice(f.m, {.starts = starts, .ends = starts});
             }),
             Contains("the number of starts is not known yet; give axes and steps"));
  CHECK_THAT(problemOf([](Fixture& f) { maxPool(f.x, {2, 2}, {.countIncludePad = true}); }),
             Contains("countIncludePad is set, which only avgPool knows"));
}

TEST_CASE("symbols keep their names in messages") {
  CHECK_THAT(problemOf([](Fixture& f) { squeeze(concat({f.x, f.x}, 0), {1}); }),
             Contains("dim 1 of (N * 2)x3x8x8 is 3, expected 1; operands (N * 2)x3x8x8xf32"));
}

TEST_CASE("layers") {
  CHECK_THAT(problemOf([](Fixture& f) { layers::conv2d(f.m, 8, {3, 3}); }),
             Contains("conv2d 'conv2d_0': input is 4x6xf32, expected 4 dims, N x C x H x W"));
  CHECK_THAT(problemOf([](Fixture& f) { layers::conv2d(f.x, 8, {3}); }),
             Contains("kernel has 1 entries, expected height and width"));
  CHECK_THAT(problemOf([](Fixture& f) { layers::conv2d(f.x, 8, {3, 3}, {.groups = 2}); }),
             Contains("input has 3 channels and the result 8, expected multiples of groups, 2"));
  CHECK_THAT(problemOf([](Fixture& f) { layers::conv2d(f.x, 8, {3, 3}, {.groups = 0}); }),
             Contains("groups is 0, expected at least 1"));
  CHECK_THAT(problemOf([](Fixture& f) { layers::dense(transpose(f.x, {1, 2, 3, 0}), 8); }),
             Contains("dim 3 of the input 3x8x8xNxf32 is N, expected a number"));
  CHECK_THAT(problemOf([](Fixture& f) { layers::dense(f.m, 0); }), Contains("units is 0"));
  CHECK_THAT(problemOf([](Fixture& f) { layers::globalAveragePool(f.m); }),
             Contains("expected a rank of at least 3"));
  CHECK_THAT(problemOf([](Fixture& f) { layers::flatten(f.open); }),
             Contains("input is *xf32, expected a rank of at least 1"));
  CHECK_THAT(problemOf([](Fixture& f) { layers::dense(f.i, 8); }),
             Contains("dense 'dense_0': input is 4x6xi64, expected a floating-point type"));
  CHECK_THAT(problemOf([](Fixture& f) { layers::recurrent(f.m, Cell::kGru, 8); }),
             Contains("input is 4x6xf32, expected 3 dims, N x T x C"));
  CHECK_THAT(problemOf([](Fixture& f) { layers::dropout(f.m, 1.0); }),
             Contains("rate is 1, expected at least 0 and below 1"));
  CHECK_THAT(problemOf([](Fixture& f) { layers::dropout(f.i, 0.5); }),
             Contains("dropout 'dropout_0': input is 4x6xi64, expected a floating-point type"));
}

TEST_CASE("a model that cannot be written says why") {
  Fixture f;
  f.g.output("y", f.x);
  absl::Status saved = f.g.save("/no/such/folder/model.fb");
  CHECK_FALSE(saved.ok());
  CHECK_THAT(std::string(saved.message()), Contains("/no/such/folder/model.fb"));
}

TEST_CASE("members of collectives have one type, and parts of one size") {
  CHECK_THAT(problemOf([](Fixture& f) { allReduce({f.m, f.i}); }),
             Contains("operands have types") && Contains("expected one type"));
  CHECK_THAT(problemOf([](Fixture& f) { reduceScatter({f.m, f.m, f.m}, 0); }),
             Contains("dim 0 is 4, expected a multiple of 3, the number of members"));
  Fixture f;
  CHECK(allGather({}, 0).empty());
  CHECK(f.g.status().ok());
}

TEST_CASE("positions") {
  CHECK_THAT(problemOf([](Fixture& f) { argMax(f.m, 2); }), Contains("axis 2 is out of range"));
  CHECK_THAT(problemOf([](Fixture& f) { argMin(f.m, -3); }), Contains("axis -3 is out of range"));
  CHECK_THAT(problemOf([](Fixture& f) { topK(f.m, 7); }),
             Contains("top_k 'top_k_0': k is 7, but dim 1 of the input is 6"));
  CHECK_THAT(problemOf([](Fixture& f) { topK(f.m, 1.5); }),
             Contains("k is 1.5, expected an integer"));
  CHECK_THAT(problemOf([](Fixture& f) { cumSum(f.m, 2); }), Contains("cumulative_0'"));
  CHECK_THAT(problemOf([](Fixture& f) { cumProd(f.m, -3); }), Contains("cumulative_0'"));
  CHECK_THAT(problemOf([](Fixture& f) { range(0, f.i); }), Contains("range 'range_0': limit"));
  CHECK_THAT(problemOf([](Fixture& f) { triu(shape(f.m)); }),
             Contains("triu 'triu_0': input is 2xi64, expected a rank of at least 2"));
  CHECK_THAT(problemOf([](Fixture& f) { tril(f.open); }), Contains("input is *xf32"));
  CHECK_THAT(problemOf([](Fixture& f) { oneHot(f.m, 3); }),
             Contains("oneHot 'oneHot_0': indices are 4x6xf32, expected integers"));
  CHECK_THAT(problemOf([](Fixture& f) { oneHot(f.i, 0); }), Contains("depth is 0"));
  CHECK_THAT(problemOf([](Fixture& f) { oneHot(f.i, 3, {.axis = 3}); }),
             Contains("axis 3 is out of range for a result of rank 3"));
}

TEST_CASE("gathering and scattering") {
  CHECK_THAT(problemOf([](Fixture& f) { gatherElements(f.m, f.m); }), Contains("indices"));
  CHECK_THAT(problemOf([](Fixture& f) { gatherNd(f.m, f.m); }), Contains("indices"));
  CHECK_THAT(problemOf([](Fixture& f) { scatterElements(f.m, f.i, f.i); }),
             Contains("scatter_elements_0'"));
  CHECK_THAT(problemOf([](Fixture& f) { scatterNd(f.m, f.i, f.m); }), Contains("scatter_nd_0'"));
}

TEST_CASE("parts by index that are not there") {
  CHECK_THAT(problemOf([](Fixture& f) { f.m[4]; }),
             Contains("part 'part_0': index 4 is out of range for dim 0 of 4x6xf32"));
  CHECK_THAT(problemOf([](Fixture& f) { f.m[{0, -7}]; }), Contains("index -7 is out of range"));
  CHECK_THAT(problemOf([](Fixture& f) { f.m[{0, 0, 0}]; }),
             Contains("has 3 indices for 4x6xf32, expected at most 2"));
  Fixture f;
  auto line = std::source_location::current().line() + 1;
  static_cast<void>(f.m[9]);
  CHECK_THAT(f.problem(), Contains(absl::StrCat("misuse_test.cpp:", line, ": ")));
}

TEST_CASE("the line of a comparison and of an assignment is the caller's") {
  Fixture f;
  auto line = std::source_location::current().line() + 1;
  static_cast<void>(f.m == f.i);
  f.m += f.x;
  std::vector<std::string> problems = f.problems();
  REQUIRE(problems.size() == 2);
  CHECK_THAT(problems[0], Contains(absl::StrCat("misuse_test.cpp:", line, ": equal")));
  CHECK_THAT(problems[1], Contains(absl::StrCat("misuse_test.cpp:", line + 1, ": add")));
}

TEST_CASE("equations") {
  CHECK_THAT(problemOf([](Fixture& f) { einsum("ij,jk->ik", {f.m}); }),
             Contains("einsum 'einsum_0': equation \"ij,jk->ik\" has 2 terms, expected one for "
                      "each of 1 inputs"));
  CHECK_THAT(problemOf([](Fixture& f) { einsum("ijk->i", {f.m}); }),
             Contains("equation has the term \"ijk\" for an input of rank 2"));
  CHECK_THAT(problemOf([](Fixture& f) { einsum("ij->k", {f.m}); }),
             Contains("has a dim in its result that no input has"));
  CHECK_THAT(problemOf([](Fixture& f) { einsum("i?->i", {f.m}); }), Contains("expected letters"));
  CHECK_THAT(problemOf([](Fixture& f) { einsum("ij,jk->ik", {f.m, f.m}); }),
             Contains("inner dims are 6 and 4"));
  CHECK_THAT(problemOf([](Fixture& f) { einsum("ij->ji", {f.open}); }),
             Contains("operand 0 is *xf32, expected a known rank"));
}

TEST_CASE("attention") {
  CHECK_THAT(problemOf([](Fixture& f) { attention(f.x, f.x, f.m); }), Contains("attention_0'"));
  CHECK_THAT(problemOf([](Fixture& f) {
               Tensor query = f.g.input("q", ElementType::kF32, {1, 1, 2, Dim("D")});
               attention(query, query, query);
             }),
             Contains("the query is 1x1x2xDxf32, whose last dim is no number; give a scale"));
}

TEST_CASE("branches") {
  auto one = [](const Tensor& x) { return [=] { return std::vector{x}; }; };
  CHECK_THAT(problemOf([&](Fixture& f) { ifElse(f.m, one(f.m), one(f.m)); }),
             Contains("if 'if_0': condition is"));
  CHECK_THAT(problemOf([&](Fixture& f) {
               ifElse(f.g.scalar(1, ElementType::kBool), one(f.m),
                      [&] { return std::vector{f.m, f.m}; });
             }),
             Contains("branches yield 1 and 2 values, expected as many"));
  CHECK_THAT(
      problemOf([&](Fixture& f) { ifElse(f.g.scalar(1, ElementType::kBool), one(f.m), one(f.i)); }),
      Contains("expected one element type"));
  CHECK_THAT(problemOf([&](Fixture& f) {
               ifElse(f.g.scalar(1, ElementType::kBool), one(f.m), one(Tensor()));
             }),
             Contains("result 0 of its body 'else' is a default-constructed tensor"));
}

TEST_CASE("loops") {
  auto body = [](const Tensor&, const std::vector<Tensor>& carried) {
    return Iteration{{carried[0] + 1.0}};
  };
  CHECK_THAT(problemOf([&](Fixture& f) { loop({f.m}, body); }),
             Contains("loop 'loop_0': never ends: it has no limit"));
  CHECK_THAT(problemOf([&](Fixture& f) { loop({f.m}, body, {.condition = f.m}); }),
             Contains("loop 'loop_0'"));
  auto grow = [](const Tensor&, const std::vector<Tensor>& carried) {
    return Iteration{{concat({carried[0], carried[0]}, 0)}};
  };
  CHECK_THAT(problemOf([&](Fixture& f) { loop({f.m}, grow, {.limit = 2}); }),
             Contains("carried tensor 0 is 4x6xf32 before and 8x6xf32 after an iteration"));
  auto lose = [](const Tensor&, const std::vector<Tensor>&) { return Iteration{{}}; };
  CHECK_THAT(problemOf([&](Fixture& f) { loop({f.m}, lose, {.limit = 2}); }),
             Contains("its body leaves 0 carried tensors, expected 1, as many as it gets"));
  Fixture changes;
  CHECK(loop({changes.m}, grow, {.limit = 2, .shapesChange = true}).carried[0].valid());
  CHECK(changes.g.status().ok());
}

TEST_CASE("what a body makes stays in it") {
  auto leak = [](Fixture& f) {
    Tensor inside;
    loop({f.m},
         [&](const Tensor&, const std::vector<Tensor>& carried) {
           inside = relu(carried[0]);
           return Iteration{{inside}};
         },
         {.limit = 2});
    return inside;
  };
  CHECK_THAT(problemOf([&](Fixture& f) { exp(leak(f)); }),
             Contains("exp_0': operand 0 was made in a body of loop 'loop_0'; outside of that it "
                      "is used only as one of that operation's results"));
  CHECK_THAT(problemOf([&](Fixture& f) { f.g.output("y", leak(f)); }),
             Contains("output 'y': was made in a body of loop 'loop_0'"));
  Fixture f;
  f.g.output("y", f.m);
  absl::Status saved;
  ifElse(
      f.g.scalar(1, ElementType::kBool),
      [&] {
        saved = f.g.save("/tmp/never-written.fb");
        return std::vector{f.m};
      },
      [&] { return std::vector{f.m}; });
  CHECK_THAT(std::string(saved.message()), Contains("is saved inside a body"));
}

TEST_CASE("scans") {
  auto body = [](const std::vector<Tensor>&, const std::vector<Tensor>& carried) {
    return Iteration{carried};
  };
  CHECK_THAT(problemOf([&](Fixture& f) { scan({f.m}, {f.m}, body, {.axis = 2}); }),
             Contains("scan 'scan_0': axis 2 is out of range for 4x6xf32"));
  CHECK_THAT(problemOf([&](Fixture& f) { scan({f.m, shape(f.m)}, {f.m}, body); }),
             Contains("scans 4x6xf32 and 2xi64 along axis 0, expected equal sizes"));
}

}  // namespace
}  // namespace graphrun::builder
