// Of every attention that the kernel takes NVIDIA's own cuDNN makes a plan, for each kind of GPU,
// within the bound that `choose` tells. It compiles its engines for that, which takes about half a
// second each.
#include "devices/cuda/cudnn/cudnn_attention.h"
#include "tests/devices/cuda/attention_instructions.h"
#include "tests/devices/cuda/vendor/told_gpu.h"

namespace graphrun::devices::cuda {
namespace {

using runtime::ElementType;

/// Plans the instruction as the loader does.
absl::Status plan(const ToldGpu& gpu, const AttentionCase& c) {
  Instruction instruction = instructionOf(c);
  absl::StatusOr<KernelChoice> choice = chooseFusedAttention(instruction);
  if (!choice.ok()) {
    return choice.status();
  }
  auto scratch = static_cast<int64_t>(choice->scratchBytes);
  instruction.scratch = Argument{5, {ElementType::kU8, {scratch}, {}, false}};
  std::vector<CUdeviceptr> addresses(6, 4096);
  return planFusedAttention({instruction, addresses}, gpu.target).status();
}

void planAll(int capability, const std::vector<AttentionCase>& cases) {
  ToldGpu gpu(capability);
  if (gpu.target.api == nullptr) {
    return;
  }
  for (const AttentionCase& c : cases) {
    CAPTURE(capability, c.heads, c.keyHeads, c.rows, c.keys, c.width, c.valueWidth, c.mask,
            c.wideMask, c.causal, c.packed, runtime::elementTypeName(c.type));
    CHECK(plan(gpu, c).ToString() == "OK");
  }
}

/// BERT's with its mask, GPT-2's, one that takes a step, and one whose heads share keys.
std::vector<AttentionCase> usual() {
  return {
      {.batch = 1, .heads = 12, .rows = 128, .width = 64, .mask = {1, 1, 1, 128}, .packed = true},
      {.heads = 12,
       .rows = 100,
       .width = 64,
       .causal = true,
       .packed = true,
       .type = ElementType::kF16},
      {.heads = 8, .keyHeads = 8, .rows = 1, .keys = 77, .width = 128, .valueWidth = 128},
      {.heads = 8,
       .keyHeads = 2,
       .rows = 33,
       .keys = 33,
       .width = 80,
       .valueWidth = 80,
       .causal = true},
  };
}

std::vector<AttentionCase> all() {
  std::vector<AttentionCase> cases;
  for (int64_t width : {8, 24, 40, 64, 96, 128, 160, 192, 256}) {
    for (ElementType type : {ElementType::kF16, ElementType::kBF16}) {
      for (bool causal : {false, true}) {
        cases.push_back({.rows = 197,
                         .keys = 197,
                         .width = width,
                         .valueWidth = width,
                         .causal = causal,
                         .type = type});
      }
    }
    cases.push_back({.width = width, .valueWidth = 256});
    cases.push_back({.width = 256, .valueWidth = width, .mask = {5}});
  }
  for (const std::vector<int64_t>& mask :
       {std::vector<int64_t>{7}, {5, 7}, {2, 1, 1, 7}, {1, 4, 5, 7}, {2, 4, 5, 7}, {2, 4, 1, 7}}) {
    for (bool wide : {false, true}) {
      cases.push_back({.keys = 7, .mask = mask, .wideMask = wide});
      cases.push_back(
          {.heads = 4, .keyHeads = 1, .keys = 7, .mask = mask, .wideMask = wide, .causal = true});
    }
  }
  cases.push_back({.batch = 1, .heads = 1, .keyHeads = 1, .rows = 1, .keys = 1});
  cases.push_back({.rows = 1, .keys = 65, .mask = {65}, .causal = true});
  cases.push_back({.batch = 8,
                   .heads = 32,
                   .keyHeads = 8,
                   .rows = 16384,
                   .keys = 16384,
                   .width = 128,
                   .valueWidth = 128,
                   .causal = true});
  return cases;
}

}  // namespace

TEST_CASE("cuDNN has plans for the attention of usual models", "[cudnn]") {
  planAll(GENERATE(80, 90, 100), usual());
}

TEST_CASE("cuDNN has plans for every attention that the kernel takes", "[.slow]") {
  planAll(GENERATE(80, 86, 89, 90, 100, 103, 120, 121), all());
}

}  // namespace graphrun::devices::cuda
