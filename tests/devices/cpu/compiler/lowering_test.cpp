// What the compiler makes of a partition, step by step.
#include <algorithm>
#include <catch2/catch.hpp>
#include <set>
#include <string>

#include "devices/cpu/vectors/instructions.h"
#include "tests/devices/cpu/compiler/compiled.h"

namespace graphrun::devices::cpu {
namespace {

/// Two sums of a product and a residual, the first of which is the second's residual; `between` is
/// what is done with the first one in between.
std::string twoSums(const std::string& between) {
  std::string group =
      " attributes {kind = \"matmul\"} {\n"
      "  ^bb0(%p: tensor<16x16xf32>, %q: tensor<16x16xf32>, %r: tensor<16x16xf32>):\n"
      "    %m = gr.matmul %p, %q : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>\n"
      "    %s = gr.add %m, %r : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>\n"
      "    gr.yield %s : tensor<16x16xf32>\n"
      "  } : (tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>\n";
  return "func.func @f(%x: tensor<16x16xf32> {gr.name = \"x\"})\n"
         "    -> (tensor<16x16xf32> {gr.name = \"y\"}) {\n"
         "  %e = gr.exp %x : (tensor<16x16xf32>) -> tensor<16x16xf32>\n"
         "  %a = gr.group(%x, %x, %e)" +
         group + between + "  %b = gr.group(%e, %x, %a)" + group +
         "  %y = gr.exp %b : (tensor<16x16xf32>) -> tensor<16x16xf32>\n"
         "  return %y : tensor<16x16xf32>\n}";
}

std::vector<const Instruction*> products(const Executable& executable) {
  std::vector<const Instruction*> instructions;
  for (const Instruction& instruction : executable.instructions) {
    if (instruction.operation == "gr.matmul") {
      instructions.push_back(&instruction);
    }
  }
  REQUIRE(instructions.size() == 2);
  return instructions;
}

TEST_CASE("a residual that nothing reads again is added in place") {
  Executable executable = compiled(twoSums(""));
  auto instructions = products(executable);
  CHECK(instructions[1]->outputs[0].buffer == instructions[0]->outputs[0].buffer);
}

TEST_CASE("a residual that its product reads is not overwritten") {
  Executable executable = compiled(
      "func.func @f(%x: tensor<16x16xf32> {gr.name = \"x\"})\n"
      "    -> (tensor<16x16xf32> {gr.name = \"y\"}) {\n"
      "  %e = gr.exp %x : (tensor<16x16xf32>) -> tensor<16x16xf32>\n"
      "  %a = gr.group(%e, %x) attributes {kind = \"matmul\"} {\n"
      "  ^bb0(%p: tensor<16x16xf32>, %q: tensor<16x16xf32>):\n"
      "    %m = gr.matmul %p, %q : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>\n"
      "    %s = gr.add %m, %p : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>\n"
      "    gr.yield %s : tensor<16x16xf32>\n"
      "  } : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>\n"
      "  %y = gr.exp %a : (tensor<16x16xf32>) -> tensor<16x16xf32>\n"
      "  return %y : tensor<16x16xf32>\n}");
  const Instruction& product = executable.instructions[1];
  REQUIRE(product.operation == "gr.matmul");
  CHECK(product.outputs[0].buffer != product.inputs[0].buffer);
}

TEST_CASE("a residual that was sent keeps its memory until the step has ended") {
  Executable executable =
      compiled(twoSums("  gr.send %a {edge = 0 : i64} : (tensor<16x16xf32>) -> ()\n"));
  auto instructions = products(executable);
  CHECK(instructions[1]->outputs[0].buffer != instructions[0]->outputs[0].buffer);
}

TEST_CASE("weights of f32 are rounded to bf16 where they are packed, in no instruction") {
  Executable executable = compiled(
      "func.func @f(%x: tensor<2x2xbf16> {gr.name = \"x\"}) -> (tensor<2x2xbf16> {gr.name = "
      "\"y\"}) {\n"
      "  %w = gr.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32> : tensor<2x2xf32>\n"
      "  %n = gr.cast %w {to = bf16} : (tensor<2x2xf32>) -> tensor<2x2xbf16>\n"
      "  %y = gr.matmul %x, %n {transpose_rhs = true} : (tensor<2x2xbf16>, tensor<2x2xbf16>) -> "
      "tensor<2x2xbf16>\n"
      "  return %y : tensor<2x2xbf16>\n}");
  REQUIRE(executable.instructions.size() == 1);
  const Buffer& weights = executable.buffers[executable.instructions[0].inputs[1].buffer];
  CHECK(weights.desc.type == runtime::ElementType::kBF16);
  REQUIRE(weights.source);
  CHECK(weights.source->type == runtime::ElementType::kF32);
}

TEST_CASE("what quantises sums of bytes is their scales and how they are stored") {
  Executable executable = compiled(
      "func.func @f(%x: tensor<4x8xui8> {gr.name = \"x\"}, %z: tensor<f32> {gr.name = \"z\"})\n"
      "    -> (tensor<4x8xui8> {gr.name = \"y\"}) {\n"
      "  %w = gr.constant dense<3> : tensor<8x8xi8> : tensor<8x8xi8>\n"
      "  %b = gr.constant dense<[1, 2, 3, 4, 5, 6, 7, 8]> : tensor<8xi32> : tensor<8xi32>\n"
      "  %s = gr.constant dense<[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]> : tensor<8xf32> : "
      "tensor<8xf32>\n"
      "  %y = gr.group(%x, %w, %b, %s, %z) attributes {kind = \"matmul\"} {\n"
      "  ^bb0(%p: tensor<4x8xui8>, %q: tensor<8x8xi8>, %c: tensor<8xi32>, %t: tensor<8xf32>, %k: "
      "tensor<f32>):\n"
      "    %half = gr.constant dense<2.0> : tensor<f32> : tensor<f32>\n"
      "    %zero = gr.constant dense<128.0> : tensor<f32> : tensor<f32>\n"
      "    %0 = gr.matmul %p, %q : (tensor<4x8xui8>, tensor<8x8xi8>) -> tensor<4x8xi32>\n"
      "    %1 = gr.add %0, %c : (tensor<4x8xi32>, tensor<8xi32>) -> tensor<4x8xi32>\n"
      "    %2 = gr.cast %1 {to = f32} : (tensor<4x8xi32>) -> tensor<4x8xf32>\n"
      "    %3 = gr.mul %2, %t : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>\n"
      "    %4 = gr.mul %3, %k : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>\n"
      "    %5 = gr.div %4, %half : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>\n"
      "    %6 = gr.round %5 : (tensor<4x8xf32>) -> tensor<4x8xf32>\n"
      "    %7 = gr.add %6, %zero : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>\n"
      "    %8 = gr.clip %7 {low = 0.0 : f64, high = 255.0 : f64} : (tensor<4x8xf32>) -> "
      "tensor<4x8xf32>\n"
      "    %9 = gr.cast %8 {to = ui8} : (tensor<4x8xf32>) -> tensor<4x8xui8>\n"
      "    gr.yield %9 : tensor<4x8xui8>\n"
      "  } : (tensor<4x8xui8>, tensor<8x8xi8>, tensor<8xi32>, tensor<8xf32>, tensor<f32>) -> "
      "tensor<4x8xui8>\n"
      "  return %y : tensor<4x8xui8>\n}");
  if (!sumsBytesExactly()) {
    return;  // the operations stand alone
  }
  REQUIRE(executable.instructions.size() == 1);
  const Instruction& instruction = executable.instructions[0];
  CHECK(instruction.inputs.size() == 3);
  CHECK(std::get<std::vector<double>>(instruction.attributes.at("scales")) ==
        std::vector<double>{1, 2, 3, 4, 5, 6, 7, 8});
  REQUIRE(instruction.postOps.size() == 2);
  CHECK(instruction.postOps[0].kind == PostOpKind::kBinaryMul);
  CHECK(instruction.postOps[1].algorithm == "linear");
  CHECK(instruction.postOps[1].alpha == 0.5F);
  CHECK(instruction.postOps[1].beta == 128);
}

/// "%name = gr.concat …" of f32 tensors along dim 1; `dims` are those of the operands.
std::string concat(const std::string& name, const std::string& operands, const std::string& types,
                   const std::string& result) {
  return "  %" + name + " = gr.concat " + operands + " {axis = 1 : i64} : (" + types + ") -> " +
         result + "\n";
}

/// Concatenations of %a = exp(x), %b = sqrt(x), `batch` x 4 x 16 each, and what is returned.
Executable concatenated(int batch, const std::string& concats, const std::string& result) {
  std::string n = std::to_string(batch);
  std::string type = "tensor<" + n + "x4x16xf32>";
  return compiled("func.func @f(%x: " + type + " {gr.name = \"x\"})\n    -> (" + result +
                  " {gr.name = \"y\"}) {\n  %a = gr.exp %x : (" + type + ") -> " + type +
                  "\n  %b = gr.sqrt %x : (" + type + ") -> " + type + "\n" + concats +
                  "  %y = gr.neg %c : (" + result + ") -> " + result + "\n  return %y : " + result +
                  "\n}");
}

std::vector<std::string> operationsOf(const Executable& executable) {
  std::vector<std::string> names;
  for (const Instruction& instruction : executable.instructions) {
    names.push_back(instruction.operation);
  }
  return names;
}

const std::string kOne = "tensor<1x4x16xf32>";
const std::string kTwo = "tensor<1x8x16xf32>";
using Names = std::vector<std::string>;

TEST_CASE("operands of a concatenation are written where they lie in its result") {
  Executable executable = concatenated(1, concat("c", "%a, %b", kOne + ", " + kOne, kTwo), kTwo);
  CHECK(operationsOf(executable) == Names{"gr.exp", "gr.sqrt", "gr.neg"});
  uint64_t first = executable.buffers[executable.instructions[0].outputs[0].buffer].offset;
  CHECK(executable.buffers[executable.instructions[1].outputs[0].buffer].offset == first + 256);
  CHECK(executable.buffers[executable.instructions[2].inputs[0].buffer].offset == first);
}

TEST_CASE("a concatenation that leaves the partition is copied once, to where it leaves") {
  Executable executable =
      compiled("func.func @f(%x: " + kOne + ", %y: " + kOne + ") -> " + kTwo + " {\n" +
               concat("c", "%x, %y", kOne + ", " + kOne, kTwo) + "  return %c : " + kTwo + "\n}");
  REQUIRE(executable.instructions.size() == 1);
  CHECK(executable.instructions[0].kernel == "concat");
}

TEST_CASE("so are those of a concatenation that is concatenated") {
  Executable executable =
      concatenated(1,
                   concat("d", "%a, %b", kOne + ", " + kOne, kTwo) +
                       concat("c", "%d, %b", kTwo + ", " + kOne, "tensor<1x12x16xf32>"),
                   "tensor<1x12x16xf32>");
  // %b is in two places: one of them is a copy.
  CHECK(operationsOf(executable) == Names{"gr.exp", "gr.sqrt", "reorder", "gr.neg"});
}

TEST_CASE("an operand that comes twice, or from outside, is copied") {
  Executable twice = concatenated(1, concat("c", "%a, %a", kOne + ", " + kOne, kTwo), kTwo);
  CHECK(operationsOf(twice) == Names{"gr.exp", "gr.sqrt", "reorder", "gr.neg"});
  Executable outside = concatenated(1, concat("c", "%a, %x", kOne + ", " + kOne, kTwo), kTwo);
  CHECK(operationsOf(outside) == Names{"gr.exp", "gr.sqrt", "reorder", "gr.neg"});
}

TEST_CASE("operands that do not lie together in the result are copied") {
  Executable executable = concatenated(
      2, concat("c", "%a, %b", "tensor<2x4x16xf32>, tensor<2x4x16xf32>", "tensor<2x8x16xf32>"),
      "tensor<2x8x16xf32>");
  CHECK(operationsOf(executable) == Names{"gr.exp", "gr.sqrt", "gr.concat", "gr.neg"});
}

/// exp(x), or x itself, of `batch` x 8 x 16 split in two along dim 1; both parts are returned, one
/// of them negated.
Executable split(int batch, bool ofInput) {
  std::string n = std::to_string(batch);
  std::string whole = "tensor<" + n + "x8x16xf32>", part = "tensor<" + n + "x4x16xf32>";
  std::string parts = "(" + part + ", " + part + ")";
  return compiled("func.func @f(%x: " + whole + " {gr.name = \"x\"})\n    -> (" + part +
                  " {gr.name = \"y\"}, " + part + " {gr.name = \"z\"}) {\n  %a = gr.exp %x : (" +
                  whole + ") -> " + whole + "\n  %p:2 = gr.split " + (ofInput ? "%x" : "%a") +
                  " {axis = 1 : i64, sizes = array<i64: 4, 4>} : (" + whole + ") -> " + parts +
                  "\n  %y = gr.neg %p#1 : (" + part + ") -> " + part +
                  "\n  return %y, %p#0 : " + part + ", " + part + "\n}");
}

TEST_CASE("the parts of a split are read where they lie in its operand") {
  Executable executable = split(1, false);
  CHECK(operationsOf(executable) == Names{"gr.exp", "gr.neg", "copy"});
  uint64_t first = executable.buffers[executable.instructions[0].outputs[0].buffer].offset;
  CHECK(executable.buffers[executable.instructions[1].inputs[0].buffer].offset == first + 256);
  CHECK(executable.buffers[executable.instructions[2].inputs[0].buffer].offset == first);
}

TEST_CASE("the parts of an input, or that do not lie together, are copied") {
  CHECK(operationsOf(split(1, true)) == Names{"gr.exp", "gr.split", "gr.neg"});
  CHECK(operationsOf(split(2, false)) == Names{"gr.exp", "gr.split", "gr.neg"});
}

/// The kernel of the one instruction that computes `operation`.
std::string kernelOf(const Executable& executable, const std::string& operation) {
  auto instruction = std::find_if(executable.instructions.begin(), executable.instructions.end(),
                                  [&](const Instruction& s) { return s.operation == operation; });
  REQUIRE(instruction != executable.instructions.end());
  return instruction->kernel;
}

TEST_CASE("constant scales of a resize are known to its kernel") {
  Executable executable = compiled(
      "func.func @f(%x: tensor<1x2x4x4xf32> {gr.name = \"x\"})\n"
      "    -> (tensor<1x2x8x8xf32> {gr.name = \"y\"}) {\n"
      "  %s = gr.constant dense<[1.0, 1.0, 2.0, 2.0]> : tensor<4xf32> : tensor<4xf32>\n"
      "  %y = gr.resize %x scales %s {mode = \"linear\", coordinates = \"half_pixel\",\n"
      "      rounding = \"floor\"} : (tensor<1x2x4x4xf32>, tensor<4xf32>)\n"
      "      -> tensor<1x2x8x8xf32>\n"
      "  return %y : tensor<1x2x8x8xf32>\n}");
  CHECK(kernelOf(executable, "gr.resize") == "resize");
}

TEST_CASE("a mean over the spatial dims of a dense tensor is a reduction") {
  Executable executable = compiled(
      "func.func @f(%x: tensor<1x2x4x4xf32> {gr.name = \"x\"})\n"
      "    -> (tensor<1x2x1x1xf32> {gr.name = \"y\"}) {\n"
      "  %y = \"gr.reduce\"(%x) <{kind = \"mean\", axes = array<i64: 2, 3>, keepdims = true}>\n"
      "      : (tensor<1x2x4x4xf32>) -> tensor<1x2x1x1xf32>\n"
      "  return %y : tensor<1x2x1x1xf32>\n}");
  CHECK(kernelOf(executable, "gr.reduce") == "reduce");
}

TEST_CASE("an attention reads a packed projection through strides, as one instruction") {
  Executable executable = compiled(R"(func.func @f(%x: tensor<1x4x12xf32> {gr.name = "x"})
      -> (tensor<1x4x4xf32> {gr.name = "y"}) {
    %y = gr.group (%x) attributes {kind = "attention"} {
    ^bb0(%a: tensor<1x4x12xf32>):
      %heads = gr.constant dense<[1, 4, 2, 2]> : tensor<4xi64> : tensor<4xi64>
      %joined = gr.constant dense<[1, 4, 4]> : tensor<3xi64> : tensor<3xi64>
      %p:3 = gr.split %a {axis = 2 : i64, sizes = array<i64: 4, 4, 4>} : (tensor<1x4x12xf32>) -> (tensor<1x4x4xf32>, tensor<1x4x4xf32>, tensor<1x4x4xf32>)
      %0 = gr.reshape %p#0, %heads : (tensor<1x4x4xf32>, tensor<4xi64>) -> tensor<1x4x2x2xf32>
      %1 = gr.reshape %p#1, %heads : (tensor<1x4x4xf32>, tensor<4xi64>) -> tensor<1x4x2x2xf32>
      %2 = gr.reshape %p#2, %heads : (tensor<1x4x4xf32>, tensor<4xi64>) -> tensor<1x4x2x2xf32>
      %q = gr.transpose %0 {permutation = array<i64: 0, 2, 1, 3>} : (tensor<1x4x2x2xf32>) -> tensor<1x2x4x2xf32>
      %k = gr.transpose %1 {permutation = array<i64: 0, 2, 1, 3>} : (tensor<1x4x2x2xf32>) -> tensor<1x2x4x2xf32>
      %v = gr.transpose %2 {permutation = array<i64: 0, 2, 1, 3>} : (tensor<1x4x2x2xf32>) -> tensor<1x2x4x2xf32>
      %b = gr.attention %q, %k, %v : (tensor<1x2x4x2xf32>, tensor<1x2x4x2xf32>, tensor<1x2x4x2xf32>) -> tensor<1x2x4x2xf32>
      %t = gr.transpose %b {permutation = array<i64: 0, 2, 1, 3>} : (tensor<1x2x4x2xf32>) -> tensor<1x4x2x2xf32>
      %r = gr.reshape %t, %joined : (tensor<1x4x2x2xf32>, tensor<3xi64>) -> tensor<1x4x4xf32>
      gr.yield %r : tensor<1x4x4xf32>
    } : (tensor<1x4x12xf32>) -> tensor<1x4x4xf32>
    return %y : tensor<1x4x4xf32>
  })");
  REQUIRE(executable.instructions.size() == 1);
  auto views = attribute<std::vector<int64_t>>(executable.instructions[0], "views");
  REQUIRE(views.ok());
  // First element, then strides of batch (of one: any), heads, rows and columns, for query, key,
  // value and result.
  CHECK(*views ==
        std::vector<int64_t>{0, 1, 2, 12, 1, 4, 1, 2, 12, 1, 8, 1, 2, 12, 1, 0, 1, 2, 4, 1});
}

/// A sum of a transposed matrix, in the middle of a group.
std::string transposedInside(const std::string& size) {
  std::string type = "tensor<" + size + "x" + size + "xf32>";
  return "func.func @f(%x: " + type + " {gr.name = \"x\"}, %z: " + type +
         " {gr.name = \"z\"}) -> (" + type +
         " {gr.name = \"y\"}) {\n%0 = gr.group(%x, %z) attributes {kind = \"map\"} {\n^bb0(%a: " +
         type + ", %b: " + type + "):\n%1 = gr.exp %a : (" + type + ") -> " + type +
         "\n%2 = gr.transpose %1 {permutation = array<i64: 1, 0>} : (" + type + ") -> " + type +
         "\n%3 = gr.add %2, %b : (" + type + ", " + type + ") -> " + type + "\n%4 = gr.abs %3 : (" +
         type + ") -> " + type + "\ngr.yield %4 : " + type + "\n} : (" + type + ", " + type +
         ") -> " + type + "\nreturn %0 : " + type + "\n}";
}

TEST_CASE("a map that would go from line to line is taken apart at its transposition") {
  Executable large = compiled(transposedInside("64"));
  REQUIRE(large.instructions.size() == 3);
  CHECK(large.instructions[0].kernel == "generated");  // the exponential
  CHECK(large.instructions[1].operation == "gr.transpose");
  CHECK(large.instructions[1].kernel != "generated");
  CHECK(large.instructions[2].kernel == "generated");  // sum and absolute value
  CHECK(compiled(transposedInside("16")).instructions.size() == 1);
}

/// `count` groups of twelve operations, each of another form.
std::string manyForms(int count) {
  constexpr int kMembers = 12;
  std::string type = "tensor<4xf32>";
  std::string text =
      "func.func @f(%x: " + type + " {gr.name = \"x\"}) -> (" + type + " {gr.name = \"y\"}) {\n";
  std::string last = "x";
  for (int i = 0; i < count; ++i) {
    std::string group = "g" + std::to_string(i);
    text += "%" + group + " = gr.group(%" + last +
            ") attributes {kind = \"map\"} {\n^bb0(%v0: " + type + "):\n";
    for (int k = 0; k < kMembers; ++k) {
      text += "%v" + std::to_string(k + 1) + " = gr." + ((i >> k) % 2 == 0 ? "exp" : "neg") +
              " %v" + std::to_string(k) + " : (" + type + ") -> " + type + "\n";
    }
    text += "gr.yield %v" + std::to_string(kMembers) + " : " + type + "\n} : (" + type + ") -> " +
            type + "\n";
    last = group;
  }
  return text + "return %" + last + " : " + type + "\n}";
}

TEST_CASE("thousands of groups of other forms share the kernels of their operations") {
  auto kernelsOf = [](const Executable& executable) {
    std::set<std::string> symbols;
    for (const Instruction& instruction : executable.instructions) {
      CHECK(instruction.kernel == "generated");
      symbols.insert(instruction.symbol);
    }
    return symbols.size();
  };
  Executable few = compiled(manyForms(40));
  CHECK(few.instructions.size() == 40);
  CHECK(kernelsOf(few) == 40);
  Executable many = compiled(manyForms(400));
  CHECK(many.instructions.size() > 400);
  CHECK(kernelsOf(many) <= 90);
}

}  // namespace
}  // namespace graphrun::devices::cpu
