// NVIDIA's own cuDNN, told of a GPU that is not there: for every instruction that the kernels take
// it must have a plan within the bound that `choose` tells. Engines that are compiled for their
// graph need a driver, so what only they compute is asked of the simulated library alone.
#include "devices/cuda/cudnn/cudnn_byte_product.h"
#include "devices/cuda/cudnn/cudnn_convolution.h"
#include "devices/cuda/cudnn/cudnn_pool.h"
#include "tests/devices/cuda/cudnn_instructions.h"
#include "tests/devices/cuda/vendor/told_gpu.h"

namespace graphrun::devices::cuda {
namespace {

absl::StatusOr<KernelChoice> choose(const Instruction& instruction) {
  return instruction.attributes.contains("kernel") ? choosePool(instruction)
                                                   : chooseConvolution(instruction);
}

Argument scratchOf(const KernelChoice& choice) {
  return {7, {runtime::ElementType::kU8, {static_cast<int64_t>(choice.scratchBytes)}, {}, false}};
}

/// Plans the instruction as the loader does, with the scratch memory that `choose` asks for.
absl::Status plan(const ToldGpu& gpu, const WindowCase& c) {
  Instruction instruction = instructionOf(c);
  bool pools = !c.kernel.empty();
  absl::StatusOr<KernelChoice> choice = choose(instruction);
  if (!choice.ok()) {
    return choice.status();
  }
  instruction.scratch = scratchOf(*choice);
  std::vector<CUdeviceptr> addresses(8, 4096);
  CudnnInstruction known{instruction, addresses};
  return (pools ? planPool(known, gpu.target) : planConvolution(known, gpu.target)).status();
}

std::vector<WindowCase> convolutions() {
  return {
      {"gr.conv", {8, 64, 56, 56}, {64, 64, 3, 3}, {8, 64, 56, 56}, {}, {}, {}, {1, 1, 1, 1}},
      {"gr.conv", {1, 3, 224, 224}, {64, 3, 7, 7}, {1, 64, 112, 112}, {}, {2, 2}, {}, {3, 3, 3, 3}},
      {"gr.conv", {1, 256, 56, 56}, {512, 256, 1, 1}, {1, 512, 28, 28}, {}, {2, 2}},
      {"gr.conv", {1, 96, 56, 56}, {96, 1, 3, 3}, {1, 96, 56, 56}, {}, {}, {}, {1, 1, 1, 1}, 96},
      {"gr.conv", {1, 128, 28, 28}, {128, 4, 3, 3}, {1, 128, 28, 28}, {}, {}, {}, {1, 1, 1, 1}, 32},
      {"gr.conv", {1, 64, 28, 28}, {64, 64, 3, 3}, {1, 64, 28, 28}, {}, {}, {2, 2}, {2, 2, 2, 2}},
      {"gr.conv", {1, 64, 28, 28}, {64, 64, 3, 3}, {1, 64, 14, 14}, {}, {2, 2}, {}, {0, 0, 1, 1}},
      {"gr.conv", {1, 16, 9, 9}, {8, 16, 3, 2}, {1, 8, 11, 9}, {}, {}, {}, {3, 0, 1, 1}},
      {"gr.conv", {2, 64, 100}, {32, 64, 5}, {2, 32, 100}, {}, {}, {}, {2, 2}},
      {"gr.conv", {1, 7, 15, 13}, {5, 7, 3, 3}, {1, 5, 13, 11}},
      {"gr.conv", {1, 16, 8, 28, 28}, {32, 16, 3, 3, 3}, {1, 32, 6, 26, 26}},
  };
}

std::vector<WindowCase> transposedConvolutions() {
  return {
      {"gr.conv_transpose",
       {1, 64, 28, 28},
       {64, 32, 4, 4},
       {1, 32, 56, 56},
       {},
       {2, 2},
       {},
       {1, 1, 1, 1}},
      {"gr.conv_transpose", {1, 64, 28, 28}, {64, 32, 2, 2}, {1, 32, 56, 56}, {}, {2, 2}},
      {"gr.conv_transpose",
       {1, 64, 28, 28},
       {64, 8, 3, 3},
       {1, 32, 28, 28},
       {},
       {},
       {},
       {1, 1, 1, 1},
       4},
      {"gr.conv_transpose", {1, 64, 28}, {64, 32, 4}, {1, 32, 56}, {}, {2}, {}, {1, 1}},
      {"gr.conv_transpose", {1, 16, 8, 8, 8}, {16, 8, 2, 2, 2}, {1, 8, 16, 16, 16}, {}, {2, 2, 2}},
  };
}

std::vector<WindowCase> pools() {
  std::vector<WindowCase> cases;
  for (std::string operation : {"gr.max_pool", "gr.avg_pool"}) {
    cases.push_back(
        {operation, {1, 64, 112, 112}, {}, {1, 64, 56, 56}, {3, 3}, {2, 2}, {}, {1, 1, 1, 1}});
    cases.push_back({operation, {2, 5, 15, 15}, {}, {2, 5, 7, 7}, {2, 2}, {2, 2}});
    cases.push_back({operation, {1, 8, 40}, {}, {1, 8, 20}, {2}, {2}});
    cases.push_back({operation, {1, 8, 8, 8, 8}, {}, {1, 8, 4, 4, 4}, {2, 2, 2}, {2, 2, 2}});
    cases.push_back({operation, {1, 8, 9, 9}, {}, {1, 8, 5, 5}, {2, 2}, {2, 2}, {}, {0, 0, 1, 1}});
  }
  return cases;
}

/// Each in the types that there are, and in these layouts; what the kernels decline is passed over
/// if it may be.
void planAll(const ToldGpu& gpu, const std::vector<WindowCase>& cases,
             const std::vector<bool>& layouts = {false, true}, bool mayDecline = false) {
  using runtime::ElementType;
  for (WindowCase c : cases) {
    for (bool channelsLast : layouts) {
      for (bool tf32 : {false, true}) {
        for (ElementType type : {ElementType::kF32, ElementType::kF16, ElementType::kBF16}) {
          if (tf32 && type != ElementType::kF32) {
            continue;
          }
          c.channelsLast = channelsLast;
          c.tf32 = tf32;
          c.type = type;
          CAPTURE(c.operation, c.input, c.filter, c.kernel, channelsLast, tf32,
                  runtime::elementTypeName(type));
          if (!mayDecline || choose(instructionOf(c)).ok()) {
            CHECK(plan(gpu, c).ToString() == "OK");
          }
        }
      }
    }
  }
}

}  // namespace

TEST_CASE("cuDNN has plans for convolutions", "[cudnn]") {
  ToldGpu gpu(GENERATE(80, 90, 100));
  if (gpu.target.api == nullptr) {
    return;
  }
  planAll(gpu, convolutions());
  planAll(gpu, transposedConvolutions());
}

TEST_CASE("cuDNN has plans for convolutions of bytes", "[cudnn]") {
  ToldGpu gpu(GENERATE(80, 86, 89, 90, 100, 120));
  if (gpu.target.api == nullptr) {
    return;
  }
  for (WindowCase c : convolutions()) {
    c.ofBytes = c.channelsLast = true;
    CAPTURE(c.input, c.filter);
    CHECK(plan(gpu, c).ToString() == "OK");
  }
}

TEST_CASE("cuDNN has plans for products of bytes", "[cudnn]") {
  ToldGpu gpu(GENERATE(80, 86, 89, 90, 100, 120));
  if (gpu.target.api == nullptr) {
    return;
  }
  struct Case {
    int64_t rows, depth, columns;
  };
  for (auto [rows, depth, columns] :
       {Case{1, 64, 10}, {1, 2048, 1000}, {5, 33, 13}, {128, 768, 3072}, {8192, 4096, 11008}}) {
    CAPTURE(rows, depth, columns);
    Instruction instruction = byteProduct({rows, depth}, {columns, depth}, {rows, columns});
    absl::StatusOr<KernelChoice> choice = chooseByteProduct(instruction);
    REQUIRE(choice.ok());
    instruction.scratch = scratchOf(*choice);
    CHECK(planByteProduct({instruction, std::vector<CUdeviceptr>(8, 4096)}, gpu.target)
              .status()
              .ToString() == "OK");
  }
}

TEST_CASE("cuDNN has plans for convolutions with a bias, a tensor added and relu", "[cudnn]") {
  ToldGpu gpu(90);
  if (gpu.target.api == nullptr) {
    return;
  }
  std::vector<WindowCase> cases;
  for (WindowCase c : convolutions()) {
    c.bias = true;
    cases.push_back(c);
    c.postOps = {eltwise("gr.relu")};
    cases.push_back(c);
  }
  planAll(gpu, cases);
}

TEST_CASE("cuDNN has plans for pools of dense tensors", "[cudnn]") {
  ToldGpu gpu(90);
  if (gpu.target.api == nullptr) {
    return;
  }
  planAll(gpu, pools(), {false}, /*mayDecline=*/true);  // bf16
}

TEST_CASE("cuDNN has plans for what is fused with the channels last", "[.driver]") {
  ToldGpu gpu(90);
  REQUIRE(gpu.target.api != nullptr);
  std::vector<WindowCase> cases;
  WindowCase c = convolutions()[0];
  for (const char* name :
       {"gr.relu", "gr.leaky_relu", "gr.elu", "gr.swish", "gr.gelu", "gelu_tanh", "gr.sigmoid",
        "gr.tanh", "gr.softplus", "gr.abs", "gr.sqrt", "gr.exp", "gr.log"}) {
    c.postOps = {eltwise(name, 0.5F)};
    cases.push_back(c);
  }
  for (PostOpKind kind : {PostOpKind::kBinaryAdd, PostOpKind::kBinaryMul, PostOpKind::kBinaryMax,
                          PostOpKind::kBinaryMin, PostOpKind::kBinarySub, PostOpKind::kBinaryDiv}) {
    c.postOps = {binary(kind, c.result)};
    cases.push_back(c);
  }
  for (WindowCase other :
       {convolutions()[3], transposedConvolutions()[0], transposedConvolutions()[2]}) {
    other.bias = true;
    other.postOps = {eltwise("gr.swish", 1)};
    cases.push_back(other);
  }
  planAll(gpu, cases, {true}, true);
}

TEST_CASE("cuDNN has plans for pools with the channels last", "[.driver]") {
  ToldGpu gpu(90);
  REQUIRE(gpu.target.api != nullptr);
  planAll(gpu, pools(), {true}, /*mayDecline=*/true);
}

}  // namespace graphrun::devices::cuda
