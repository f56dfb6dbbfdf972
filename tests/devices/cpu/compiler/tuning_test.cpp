// Kernels chosen by measurement: what is measured, kept and used.
#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/substitute.h"
#include "devices/cpu/base/onednn_layouts.h"
#include "devices/cpu/runtime/timings.h"
#include "devices/cpu/vectors/instructions.h"
#include "tests/devices/cpu/compiler/compiled.h"

namespace graphrun::devices::cpu {
namespace {

constexpr char kConvolution[] = R"(
func.func @f(%x: tensor<1x32x24x24xf32> {gr.name = "x"})
    -> (tensor<1x32x24x24xf32> {gr.name = "y"}) {
  %w = gr.constant dense<0.01> : tensor<32x32x3x3xf32> : tensor<32x32x3x3xf32>
  %y = gr.conv %x, %w {dilations = array<i64: 1, 1>, groups = 1 : i64, pads = array<i64: 1, 1, 1, 1>, strides = array<i64: 1, 1>}
    : (tensor<1x32x24x24xf32>, tensor<32x32x3x3xf32>) -> tensor<1x32x24x24xf32>
  return %y : tensor<1x32x24x24xf32>
})";

const Instruction& instructionOf(const Executable& executable, const std::string& operation) {
  for (const Instruction& instruction : executable.instructions) {
    if (instruction.operation == operation) {
      return instruction;
    }
  }
  throw std::runtime_error("no " + operation);
}

const Instruction& convolution(const Executable& executable) {
  return instructionOf(executable, "gr.conv");
}

/// Winograd's algorithm is tried where vectors are as wide as its blocks of channels.
bool triesWinograd() { return loopInstructions() == InstructionSet::kAvx512; }

TEST_CASE("without a budget nothing is measured") {
  Tuning tuning;
  compiled(kConvolution, tuning);
  CHECK_FALSE(tuning.complete);
  CHECK(Timings(tuning.timings).size() == 0);
}

TEST_CASE("ways to convolve are measured once, and the fastest is taken") {
  Tuning tuning;
  tuning.budgetNanos = 60'000'000'000;
  compiled(kConvolution, tuning);
  CHECK(tuning.complete);
  CHECK(Timings(tuning.timings).size() >= 2);

  SECTION("another compilation needs no budget") {
    Tuning again{tuning.timings};
    compiled(kConvolution, again);
    CHECK(again.complete);
  }
  SECTION("the timings decide") {
    // A line is a time and an instruction: make one way of the convolution free after the other.
    const std::string input = "f32[_x32x_x_]";
    std::vector<std::string> lines = absl::StrSplit(tuning.timings, '\n', absl::SkipEmpty());
    for (size_t free = 1; free < lines.size(); ++free) {
      std::string text = lines[0] + "\n";
      for (size_t i = 1; i < lines.size(); ++i) {
        absl::StrAppend(&text, i == free ? "0" : "1e9", lines[i].substr(lines[i].find('\t')), "\n");
      }
      Tuning edited{text};
      Executable executable = compiled(kConvolution, edited);
      CHECK(edited.complete);
      std::string layout = layoutName(convolution(executable).inputs[0].desc);
      CHECK(absl::StrContains(lines[free], input + layout + " "));
    }
  }
}

TEST_CASE("a short instruction is tried on one thread, and takes it where that is faster") {
  constexpr char kPool[] = R"(
    func.func @f(%x: tensor<1x32x12x12xf32>) -> tensor<1x32x6x6xf32> {
      %y = gr.max_pool %x {ceil_mode = false, dilations = array<i64: 1, 1>, kernel = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 2, 2>}
        : (tensor<1x32x12x12xf32>) -> tensor<1x32x6x6xf32>
      return %y : tensor<1x32x6x6xf32>
    })";
  Tuning tuning;
  tuning.budgetNanos = 60'000'000'000;
  compiled(kPool, tuning, 2);
  CHECK(tuning.complete);
  for (uint32_t fast : {1U, 2U}) {
    std::string text;
    for (absl::string_view line : absl::StrSplit(tuning.timings, '\n', absl::SkipEmpty())) {
      bool free = absl::StrContains(line, absl::StrCat(" x", fast, " "));
      size_t tab = line.find('\t');
      absl::StrAppend(&text,
                      tab == line.npos ? line : absl::StrCat(free ? "0" : "1e9", line.substr(tab)),
                      "\n");
    }
    Tuning edited{text};
    Executable executable = compiled(kPool, edited, 2);
    CHECK(edited.complete);
    CHECK(instructionOf(executable, "gr.max_pool").threads == (fast == 1 ? 1 : 0));
  }
}

TEST_CASE("a long instruction keeps all threads, and so does a device of one") {
  for (uint32_t threads : {1U, 2U}) {
    Tuning tuning;
    Executable executable = compiled(kConvolution, tuning, threads);
    CHECK(convolution(executable).threads == 0);
  }
}

TEST_CASE("of bytes the library's ways to convolve are tried") {
  if (!sumsBytesExactly()) {
    return;  // it declines
  }
  Tuning tuning;
  tuning.budgetNanos = 60'000'000'000;
  compiled(
      "func.func @f(%x: tensor<1x32x24x24xui8> {gr.name = \"x\"})\n"
      "    -> (tensor<1x32x24x24xi32> {gr.name = \"y\"}) {\n"
      "  %w = gr.constant dense<1> : tensor<32x32x3x3xi8> : tensor<32x32x3x3xi8>\n"
      "  %y = gr.conv %x, %w {dilations = array<i64: 1, 1>, groups = 1 : i64, pads = array<i64: 1, "
      "1, 1, 1>, strides = array<i64: 1, 1>} : (tensor<1x32x24x24xui8>, tensor<32x32x3x3xi8>) -> "
      "tensor<1x32x24x24xi32>\n"
      "  return %y : tensor<1x32x24x24xi32>\n}",
      tuning);
  CHECK(absl::StrContains(tuning.timings, "implementation=jit"));
}

TEST_CASE("numbers that a post-op calculates with are no part of a timing") {
  auto described = [](std::vector<PostOp> postOps) {
    Instruction instruction;
    instruction.operation = "gr.conv";
    instruction.postOps = std::move(postOps);
    return describeInstruction(instruction);
  };
  PostOp clip{PostOpKind::kEltwise, "gr.clip", -1, 1, {}};
  PostOp wider{PostOpKind::kEltwise, "gr.clip", -2, 2, {}};
  PostOp leaky{PostOpKind::kEltwise, "gr.leaky_relu", 0.1F, 0, {}};
  PostOp steep{PostOpKind::kEltwise, "gr.leaky_relu", 0.2F, 0, {}};
  CHECK(described({clip}) == described({wider}));
  CHECK(described({clip, clip}) != described({clip, wider}));
  CHECK(described({leaky}) != described({steep}));
}

TEST_CASE("algorithms that round more are tried only where that is allowed") {
  for (runtime::Numerics numerics : {runtime::Numerics::kFast, runtime::Numerics::kExact}) {
    Tuning tuning{"", 60'000'000'000, numerics};
    compiled(kConvolution, tuning);
    bool tried = absl::StrContains(tuning.timings, "algorithm=winograd");
    CHECK(tried == (numerics == runtime::Numerics::kFast && triesWinograd()));
    CHECK(tuning.complete);
  }
}

/// kConvolution with the weight of each tap of all channels; those of the first output channel are
/// `first` times as large.
std::string withTaps(const std::array<float, 9>& taps, float first = 1) {
  std::vector<float> weights;
  for (int64_t i = 0; i < int64_t{32} * 32 * 9; ++i) {
    weights.push_back(taps[i % 9] * (i < 32 * 9 ? first : 1));
  }
  absl::string_view bytes(reinterpret_cast<const char*>(weights.data()),
                          weights.size() * sizeof(float));
  return absl::StrReplaceAll(
      kConvolution,
      {{"dense<0.01>", absl::StrCat("dense<\"0x", absl::BytesToHexString(bytes), "\">")}});
}

TEST_CASE("weights tell which algorithms are exact enough, measured or not") {
  constexpr float kInfinite = std::numeric_limits<float>::infinity();
  const std::array<float, 9> even = {1, 1, 1, 1, 1, 1, 1, 1, 1};
  const std::array<float, 9> corner = {1, 0, 0, 0, 0, 0, 0, 0, 0};
  struct Filter {
    std::string module;
    bool fourByFour, twoByTwo;
  };
  const Filter filters[] = {{withTaps(even), true, true},
                            {withTaps(corner), false, true},
                            {withTaps(even, kInfinite), false, false},
                            {withTaps(even, 0x1p60F), false, false},
                            {withTaps(even, 0x1p-120F), true, true},
                            {withTaps(even, 0), true, true}};
  for (const Filter& filter : filters) {
    CAPTURE(&filter - filters);
    Tuning measured{"", 60'000'000'000};
    compiled(filter.module, measured);
    CHECK(measured.complete);
    CHECK(absl::StrContains(measured.timings, "winograd_4x4") ==
          (filter.fourByFour && triesWinograd()));
    CHECK(absl::StrContains(measured.timings, "winograd_2x2") ==
          (filter.twoByTwo && triesWinograd()));
    Tuning first;  // that of a first run: nothing was measured
    Executable estimated = compiled(filter.module, first);
    auto algorithm = attributeOr(convolution(estimated), "algorithm", std::string());
    REQUIRE(algorithm.ok());
    CHECK((filter.fourByFour || *algorithm != "winograd_4x4"));
    CHECK((filter.twoByTwo || algorithm->empty()));
  }
}

/// The kernel that a first run takes for a transposed convolution of stride 2 and no overhang.
std::string firstOfTransposed(std::array<int64_t, 2> channels, std::array<int64_t, 2> image,
                              int64_t kernel) {
  const std::string x =
      absl::StrCat("tensor<1x", channels[0], "x", image[0], "x", image[1], "xf32>");
  const std::string y =
      absl::StrCat("tensor<1x", channels[1], "x", 2 * image[0], "x", 2 * image[1], "xf32>");
  const std::string w =
      absl::StrCat("tensor<", channels[0], "x", channels[1], "x", kernel, "x", kernel, "xf32>");
  Tuning first;
  return instructionOf(compiled(absl::Substitute(R"(
func.func @f(%x: $0 {gr.name = "x"}) -> ($1 {gr.name = "y"}) {
  %w = gr.constant dense<0.01> : $2 : $2
  %y = gr.conv_transpose %x, %w {dilations = array<i64: 1, 1>, groups = 1 : i64, output_padding = array<i64: 0, 0>, output_shape = array<i64>, pads = array<i64: $3, $3, $3, $3>, strides = array<i64: 2, 2>} : ($0, $2) -> $1
  return %y : $1
})",
                                                 x, y, w, kernel / 2 - 1),
                                first),
                       "gr.conv_transpose")
      .kernel;
}

TEST_CASE("a first run does not sum few positions of many channels in planes") {
  // One strip, for one thread; the product has work for all of them.
  std::string kernel = firstOfTransposed({512, 256}, {8, 8}, 4);
  CHECK(kernel != "plane_deconv");
  CHECK((kernel == "panel_deconv") == (loopInstructions() == InstructionSet::kAvx512));
}

TEST_CASE("a first run knows what spreading the products of a transposed convolution takes") {
  // Measured on one thread: 0.33 ms, planes 0.84; planes 0.10 ms, the product 0.16; 0.20 and 0.30.
  CHECK(firstOfTransposed({512, 24}, {14, 14}, 4) == "deconv_product");
  CHECK(firstOfTransposed({24, 1}, {96, 192}, 2) == "plane_deconv");
  CHECK(firstOfTransposed({16, 16}, {64, 64}, 4) == "plane_deconv");
}

TEST_CASE("timings of another filter do not bring back an algorithm that its weights exclude") {
  if (!triesWinograd()) {
    return;  // there is none to bring back
  }
  Tuning even{"", 60'000'000'000};
  compiled(kConvolution, even);
  std::string tempting;
  for (absl::string_view line : absl::StrSplit(even.timings, '\n', absl::SkipEmpty())) {
    size_t tab = line.find('\t');
    bool free = absl::StrContains(line, "winograd_4x4");
    absl::StrAppend(&tempting,
                    tab == line.npos ? line : absl::StrCat(free ? "0" : "1e9", line.substr(tab)),
                    "\n");
  }
  REQUIRE(absl::StrContains(tempting, "\n0\t"));
  auto algorithmOf = [&](const std::string& module) {
    Tuning tuning{tempting};
    Executable executable = compiled(module, tuning);
    return attributeOr(convolution(executable), "algorithm", std::string()).value();
  };
  CHECK(algorithmOf(kConvolution) == "winograd_4x4");
  CHECK(algorithmOf(withTaps({0, 0, 1, 0, 0, 0, 0, 0, 0})) != "winograd_4x4");
}

TEST_CASE("a deterministic choice measures nothing and believes no timings") {
  Tuning measured{"", 60'000'000'000, runtime::Numerics::kExact};
  compiled(kConvolution, measured);
  Tuning tuning{"", 60'000'000'000, runtime::Numerics::kDeterministic};
  Executable first = compiled(kConvolution, tuning);
  CHECK(tuning.complete);
  CHECK(Timings(tuning.timings).size() == 0);
  std::string opposite;
  for (absl::string_view line : absl::StrSplit(measured.timings, '\n')) {
    size_t tab = line.find('\t');
    absl::StrAppend(&opposite, tab == line.npos ? line : absl::StrCat("1", line.substr(tab)), "\n");
  }
  Tuning misled{opposite, 0, runtime::Numerics::kDeterministic};
  Executable second = compiled(kConvolution, misled);
  CHECK(convolution(first).inputs[0].desc == convolution(second).inputs[0].desc);
}

/// The instructions and layouts of a convolution whose packed weights would be padded by megabytes,
/// on a device of `memoryBytes`.
std::string instructionsWithin(uint64_t memoryBytes, runtime::Numerics numerics) {
  constexpr char kPadded[] = R"(
func.func @f(%x: tensor<1x16384x1x1xf32> {gr.name = "x"})
    -> (tensor<1x17x1x1xf32> {gr.name = "y"}) {
  %w = gr.constant dense<0.01> : tensor<17x16384x3x3xf32> : tensor<17x16384x3x3xf32>
  %y = gr.conv %x, %w {dilations = array<i64: 1, 1>, groups = 1 : i64, pads = array<i64: 1, 1, 1, 1>, strides = array<i64: 1, 1>}
    : (tensor<1x16384x1x1xf32>, tensor<17x16384x3x3xf32>) -> tensor<1x17x1x1xf32>
  return %y : tensor<1x17x1x1xf32>
})";
  Tuning tuning{"", 0, numerics};
  std::string instructions;
  for (const Instruction& instruction : compiled(kPadded, tuning, 1, memoryBytes).instructions) {
    absl::StrAppend(&instructions, describeInstruction(instruction), "\n");
  }
  return instructions;
}

TEST_CASE("a limit of memory changes no deterministic choice") {
  using runtime::Numerics;
  constexpr uint64_t kTooLittle = 1;                  // so that what needs the least is chosen
  if (loopInstructions() != InstructionSet::kSse2) {  // so far as weights are packed by vectors
    CHECK(instructionsWithin(kTooLittle, Numerics::kExact) !=
          instructionsWithin(0, Numerics::kExact));
  }
  CHECK(instructionsWithin(kTooLittle, Numerics::kDeterministic) ==
        instructionsWithin(0, Numerics::kDeterministic));
}

TEST_CASE("timings survive as text, and damage only loses lines") {
  Instruction instruction;
  instruction.operation = "gr.relu";
  instruction.inputs = {{0, {runtime::ElementType::kF32, {2, 3}}}};
  instruction.outputs = instruction.inputs;
  Timings timings;
  timings.add(instruction, "kernel", 1, 1500);
  timings.add(instruction, "kernel", 2, 800);
  timings.add(instruction, "wrong", 1, INFINITY);
  std::string text = timings.text();

  Timings again(text);
  CHECK(again.find(instruction, "kernel", 1) == 1500);
  CHECK(again.find(instruction, "kernel", 2) == 800);
  CHECK(std::isinf(*again.find(instruction, "wrong", 1)));
  CHECK_FALSE(again.find(instruction, "kernel", 4));
  instruction.inputs[0].desc.dims = {3, 2};
  CHECK_FALSE(again.find(instruction, "kernel", 1));

  CHECK(Timings("graphrun timings 1\n" + text.substr(text.find('\n') + 1)).size() == 0);
  CHECK(Timings(absl::StrReplaceAll(text, {{"1500\t", "-1\t"}})).size() == 2);
  CHECK(Timings(absl::StrReplaceAll(text, {{"1500\t", "x"}})).size() == 2);
  CHECK(Timings(text.substr(0, text.size() / 2)).size() <= 2);
}

TEST_CASE("what was measured for a shape tells the time of shapes near it") {
  auto convolution = [](int64_t batch, int64_t channels, int64_t width) {
    auto tensor = [&](std::vector<int64_t> dims) {
      return Argument{0, {runtime::ElementType::kF32, std::move(dims)}};
    };
    Instruction instruction;
    instruction.operation = "gr.conv";
    instruction.inputs = {tensor({batch, channels, width, width}), tensor({8, channels, 3, 3})};
    instruction.inputs[1].desc.any = true;
    instruction.outputs = {tensor({batch, 8, width, width})};
    return instruction;
  };
  Timings timings;
  timings.add(convolution(1, 16, 28), "kernel", 1, 1000);
  CHECK(timings.find(convolution(2, 16, 28), "kernel", 1).value_or(0) ==
        Approx(2000).epsilon(1e-3));
  CHECK(timings.find(convolution(1, 16, 40), "kernel", 1).value_or(0) ==
        Approx(2041).epsilon(1e-3));
  CHECK_FALSE(timings.find(convolution(5, 16, 28), "kernel", 1));
  CHECK_FALSE(timings.find(convolution(1, 16, 56), "kernel", 1));
  CHECK_FALSE(timings.find(convolution(1, 32, 28), "kernel", 1));
  // The nearest one counts.
  timings.add(convolution(4, 16, 28), "kernel", 1, 3000);
  CHECK(timings.find(convolution(5, 16, 28), "kernel", 1).value_or(0) ==
        Approx(3750).epsilon(1e-3));
  CHECK(timings.size() == 2);
  CHECK(Timings(timings.text()).size() == 2);
}

TEST_CASE("what was not asked for longest is forgotten first") {
  Timings timings;
  Instruction instruction;
  instruction.operation = "gr.relu";
  for (size_t i = 0; i < Timings::kMostInstructions + 10; ++i) {
    timings.add(instruction, absl::StrCat("kernel", i), 1, 1);
  }
  timings.find(instruction, "kernel3", 1);
  Timings kept(timings.text());
  CHECK(kept.size() == Timings::kMostInstructions);
  CHECK(kept.find(instruction, "kernel3", 1));
  CHECK_FALSE(kept.find(instruction, "kernel4", 1));
}

}  // namespace
}  // namespace graphrun::devices::cpu
