// Quantised residual blocks: what becomes part of the products' instructions, against each
// operation alone.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <optional>
#include <random>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "devices/cpu/vectors/instructions.h"
#include "passes/pipelines.h"
#include "tests/devices/cpu/compiler/compiled.h"
#include "tests/devices/cpu/instruction_runner.h"

namespace graphrun::devices::cpu {
namespace {

constexpr PostOpKind kSum = PostOpKind::kSum;
constexpr PostOpKind kAdd = PostOpKind::kBinaryAdd;

/// How bytes stand for floats.
struct Scale {
  double scale = 1;
  int zero = 0;
};

/// The text of a function on f32 images that quantises and dequantises around each operation.
class Graph {
 public:
  Graph(int64_t channels, std::string byte)
      : channels_(channels),
        shape_(absl::StrCat("1x", channels, "x7x7x")),
        byte_(std::move(byte)) {}

  std::string quantize(const std::string& value, Scale by) {
    double low = byte_ == "ui8" ? 0 : -128;
    std::string y = alone("gr.div", value, by.scale);
    y = named("gr.round " + y, f32(), f32());
    y = alone("gr.add", y, by.zero);
    y = named(
        absl::StrCat("gr.clip ", y, " {low = ", low, ".0 : f64, high = ", low + 255, ".0 : f64}"),
        f32(), f32());
    return named(absl::StrCat("gr.cast ", y, " {to = ", byte_, "}"), f32(), tensor(byte_));
  }
  std::string dequantize(const std::string& value, Scale by) {
    std::string y = named(absl::StrCat("gr.cast ", value, " {to = f32}"), tensor(byte_), f32());
    return alone("gr.mul", alone("gr.sub", y, by.zero), by.scale);
  }
  /// Of random weights with a scale a channel.
  std::string convolve(const std::string& value, int64_t kernel, int64_t groups) {
    std::string dims =
        absl::StrCat(channels_, "x", channels_ / groups, "x", kernel, "x", kernel, "x");
    std::vector<int> elements(channels_ * channels_ / groups * kernel * kernel);
    std::generate(elements.begin(), elements.end(), [&] { return int(random_() % 255) - 127; });
    std::vector<std::string> scales;
    for (int64_t c = 0; c < channels_; ++c) {
      scales.push_back(absl::StrCat("[[[", 0.005 + 1e-5 * static_cast<double>(c), "]]]"));
    }
    std::string bytes = "tensor<" + dims + "i8>";
    std::string w = constant("\"0x" + hexOf(elements) + "\"", bytes);
    std::string s = constant("[" + absl::StrJoin(scales, ", ") + "]",
                             absl::StrCat("tensor<", channels_, "x1x1x1xf32>"));
    std::string floats = "tensor<" + dims + "f32>";
    w = named("gr.cast " + w + " {to = f32}", bytes, floats);
    w = named("gr.mul " + w + ", " + s, absl::StrCat(floats, ", tensor<", channels_, "x1x1x1xf32>"),
              floats);
    int64_t pad = kernel / 2;
    return named(
        absl::StrCat("gr.conv ", value, ", ", w,
                     " {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = "
                     "array<i64: ",
                     pad, ", ", pad, ", ", pad, ", ", pad, ">, groups = ", groups, " : i64}"),
        f32() + ", " + floats, f32());
  }
  std::string add(const std::string& a, const std::string& b) {
    return named("gr.add " + a + ", " + b, f32() + ", " + f32(), f32());
  }
  std::string relu(const std::string& value) { return named("gr.relu " + value, f32(), f32()); }

  std::string function(const std::string& result) const {
    return absl::StrCat("func.func @f(%x: ", f32(), " {gr.name = \"x\"}) -> (", tensor(byte_),
                        " {gr.name = \"y\"}) {\n", body_, "  return ", result, " : ", tensor(byte_),
                        "\n}");
  }

 private:
  std::string tensor(const std::string& element) const {
    return "tensor<" + shape_ + element + ">";
  }
  std::string f32() const { return tensor("f32"); }
  std::string named(const std::string& op, const std::string& from, const std::string& to) {
    std::string name = absl::StrCat("%v", next_++);
    absl::StrAppend(&body_, "  ", name, " = ", op, " : (", from, ") -> ", to, "\n");
    return name;
  }
  std::string constant(const std::string& elements, const std::string& type) {
    std::string name = absl::StrCat("%v", next_++);
    absl::StrAppend(&body_, "  ", name, " = gr.constant dense<", elements, "> : ", type, " : ",
                    type, "\n");
    return name;
  }
  std::string alone(const std::string& op, const std::string& value, double number) {
    std::string n = constant(absl::StrFormat("%.8f", number), "tensor<f32>");
    return named(op + " " + value + ", " + n, f32() + ", tensor<f32>", f32());
  }
  static std::string hexOf(const std::vector<int>& bytes) {
    std::string text;
    for (int byte : bytes) {
      absl::StrAppendFormat(&text, "%02X", static_cast<uint8_t>(byte));
    }
    return text;
  }

  int64_t channels_;
  std::string shape_, byte_, body_;
  std::mt19937 random_{7};
  int next_ = 0;
};

struct Block {
  const char* what;
  int64_t channels = 16;
  int64_t kernel = 1;
  int64_t groups = 1;
  const char* byte = "ui8";
  bool relu = false;
  bool twoConvolutions = false;
  bool readAgain = false;  ///< the residual, by a second sum
  /// In place where the residual is of the result's type and nothing reads it in the end but the
  /// sum, not even the convolution. Nothing: the sum stays alone, since the library has no such
  /// post-operations.
  std::optional<PostOpKind> sum = kAdd;
};

/// conv(h) + h, or the sum of two convolutions, each in bytes of its own scale and zero point.
std::string textOf(const Block& block) {
  Graph g(block.channels, block.byte);
  int low = block.byte == std::string("ui8") ? 0 : -128;
  int64_t depth = block.channels / block.groups * block.kernel * block.kernel;
  double deviation = std::sqrt(static_cast<double>(depth)) * 0.4;
  Scale in{0.008, low + 120}, hidden{deviation / 61.7, low + 131};
  Scale left{deviation / 23.9, low + 117}, out{deviation / 31.3, low + (block.relu ? 0 : 90)};
  std::string x = g.dequantize(g.quantize("%x", in), in);
  auto quantized = [&](const std::string& value, Scale by) {
    return g.dequantize(g.quantize(value, by), by);
  };
  std::string h = quantized(g.convolve(x, block.kernel, block.groups), hidden);
  std::string other = block.twoConvolutions ? quantized(g.convolve(x, 1, 1), left) : h;
  std::string sum = g.add(quantized(g.convolve(h, block.kernel, block.groups), left), other);
  std::string y = g.quantize(block.relu ? g.relu(sum) : sum, out);
  if (block.readAgain) {
    y = g.quantize(g.add(g.dequantize(y, out), h), left);
  }
  return g.function(y);
}

Executable executableOf(const std::string& text, bool fusion) {
  mlir::MLIRContext context;
  context.loadDialect<ir::GRDialect, mlir::func::FuncDialect>();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  REQUIRE(module);
  passes::GroupOptions options;
  options.fusion = fusion;
  REQUIRE(mlir::succeeded(passes::simplifyAndGroup(*module, options)));
  Tuning tuning;
  Executable executable = compiled(*module, tuning, static_cast<uint32_t>(testDevice().threads()));
  executable.fingerprint = testDevice().fingerprint();
  return executable;
}

bool hasPostOp(const Instruction& instruction, PostOpKind kind) {
  return std::any_of(instruction.postOps.begin(), instruction.postOps.end(),
                     [&](const PostOp& op) { return op.kind == kind; });
}

}  // namespace

TEST_CASE("a quantised sum is part of its convolution, rounded as by each operation alone") {
  if (!sumsBytesExactly()) {
    return;  // there are no products of bytes
  }
  const Block block = GENERATE(
      Block{"identity"}, Block{"signed", 16, 3, 1, "i8"},
      Block{"relu", 32, 3, 1, "ui8", true, false, false, kSum},
      Block{"two convolutions", 48, 3, 1, "ui8", false, true, false, kSum},
      Block{"signed, two convolutions", 48, 1, 1, "i8", false, true},
      Block{"relu to signed", 48, 1, 1, "i8", true, true, false, std::nullopt},
      Block{"depthwise", 32, 3, 32, "ui8", true, false, false, kSum},
      Block{"groups", 32, 3, 2, "ui8", false, false, false, kSum}, Block{"few channels", 5, 1},
      Block{"read again", 16, 3, 1, "ui8", false, false, true, kAdd});
  INFO(block.what);
  Executable whole = executableOf(textOf(block), true);
  const Instruction& last = *std::find_if(
      whole.instructions.rbegin(), whole.instructions.rend(),
      [](const Instruction& instruction) { return instruction.operation == "gr.conv"; });
  CHECK(hasPostOp(last, kSum) == (block.sum == kSum));
  CHECK(hasPostOp(last, kAdd) == (block.sum == kAdd));
  std::mt19937 random(1);
  Tensors inputs;
  inputs.push_back(randomTensor({1, block.channels, 7, 7}, random));
  auto got = runExecutable(whole, inputs);
  auto expected = runExecutable(executableOf(textOf(block), false), inputs);
  INFO(got.status() << expected.status());
  REQUIRE((got.ok() && expected.ok()));
  std::vector<double> y = values((*got)[0]), alone = values((*expected)[0]);
  size_t apart = 0;
  for (size_t i = 0; i < y.size(); ++i) {
    REQUIRE(std::abs(y[i] - alone[i]) <= 1);
    apart += y[i] != alone[i] ? 1 : 0;
  }
  CHECK(apart * 100 <= y.size());  // ties, which the zero point may turn
  auto [least, most] = std::minmax_element(alone.begin(), alone.end());
  CHECK(*most - *least > 80);
}

}  // namespace graphrun::devices::cpu
