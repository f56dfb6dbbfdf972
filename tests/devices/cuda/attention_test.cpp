// Attention through cuDNN over the simulator: what it computes is what the CPU computes; what it
// declines.
#include "tests/devices/cuda/attention_instructions.h"
#include "tests/devices/cuda/cudnn_runner.h"

namespace graphrun::devices::cuda {
namespace {

void checkBoth(AttentionCase c) {
  for (ElementType type : {ElementType::kF16, ElementType::kBF16}) {
    c.type = type;
    checkInstruction(instructionOf(c));
  }
}

/// N x H x S x D out of N x S x `columns`, from column `first` on.
HostTensor headsOf(const HostTensor& packed, const AttentionCase& c, size_t first, size_t columns) {
  std::vector<double> from = cpu::values(packed), to;
  auto rows = static_cast<size_t>(c.rows), width = static_cast<size_t>(c.width);
  for (size_t n = 0; n < static_cast<size_t>(c.batch); ++n) {
    for (size_t head = 0; head < static_cast<size_t>(c.heads); ++head) {
      for (size_t row = 0; row < rows; ++row) {
        auto begin = from.begin() +
                     static_cast<std::ptrdiff_t>((n * rows + row) * columns + first + head * width);
        to.insert(to.end(), begin, begin + c.width);
      }
    }
  }
  return cpu::tensor(c.type, {c.batch, c.heads, c.rows, c.width}, to);
}

std::string whyDeclined(const AttentionCase& c) {
  std::vector<Candidate> found = candidates(instructionOf(c));
  REQUIRE(found.size() == 1);
  return std::string(found[0].choice.status().message());
}

}  // namespace

TEST_CASE("cuDNN's attention is what the CPU computes", "[cudnn]") {
  checkBoth({});
  checkBoth({.keys = 9, .valueWidth = 24});
  checkBoth({.batch = 1, .heads = 1, .keyHeads = 1, .rows = 1, .keys = 1});
  checkBoth({.heads = 6, .keyHeads = 2, .keys = 3});
}

TEST_CASE("cuDNN's attention hides the keys that follow", "[cudnn]") {
  checkBoth({.causal = true});
  checkBoth({.rows = 3, .keys = 7, .causal = true});
  checkBoth({.rows = 7, .keys = 3, .causal = true});
}

TEST_CASE("cuDNN's attention adds a mask that broadcasts", "[cudnn]") {
  for (const std::vector<int64_t>& mask :
       {Dims{5, 7}, Dims{2, 1, 1, 7}, Dims{1, 4, 5, 7}, Dims{2, 4, 5, 7}, Dims{7}}) {
    CAPTURE(mask);
    checkBoth({.keys = 7, .mask = mask});
    checkBoth({.keys = 7, .mask = mask, .wideMask = true, .causal = true});
  }
}

TEST_CASE("cuDNN's attention reads and writes heads of packed tensors", "[cudnn]") {
  for (const AttentionCase& packed :
       {AttentionCase{.packed = true},
        AttentionCase{.batch = 1, .rows = 1, .causal = true, .packed = true}}) {
    AttentionCase apart = packed;
    apart.packed = false;
    apart.keys = packed.rows;
    Tensors inputs = randomInputs(instructionOf(packed));
    Tensors heads;
    for (size_t i = 0; i < 3; ++i) {
      heads.push_back(headsOf(inputs[i], packed, i * 64, 192));
    }
    CudnnFixture gpu;
    HostTensor made =
        headsOf(runInstruction(gpu, instructionOf(packed), inputs).value(), packed, 0, 64);
    HostTensor expected = runInstruction(gpu, instructionOf(apart), heads).value();
    CHECK(cpu::values(made) == cpu::values(expected));
  }
}

TEST_CASE("equal instructions share a plan, on memory of their own", "[cudnn]") {
  CudnnFixture gpu;
  ListedWeights none;
  auto loaded = [&](const AttentionCase& c) {
    return load(gpu, compile(instructionOf(c)).value(), none).value();
  };
  const AttentionCase usual;
  Tensors inputs = randomInputs(instructionOf(usual));
  HostTensor alone = runInstruction(gpu, instructionOf(usual), inputs).value();
  CHECK(testing::cudnnPlansMade() == 1);
  auto first = loaded(usual);  // the other one is gone
  CHECK(testing::cudnnPlansMade() == 2);
  auto same = loaded(usual);
  HostTensor shared = runInstruction(gpu, instructionOf(usual), inputs).value();
  CHECK(testing::cudnnPlansMade() == 2);
  CHECK(cpu::values(shared) == cpu::values(alone));
  auto longer = loaded({.keys = 9});
  auto causal = loaded({.causal = true});
  CHECK(testing::cudnnPlansMade() == 4);
}

TEST_CASE("what cuDNN has no attention for is declined with the reason", "[cudnn]") {
  CHECK_THAT(whyDeclined({.type = ElementType::kF32}), Catch::Contains("of f16 or bf16"));
  CHECK_THAT(whyDeclined({.width = 12}), Catch::Contains("multiples of 8 up to 256, not 12"));
  CHECK_THAT(whyDeclined({.valueWidth = 264}), Catch::Contains("not 264"));
  CHECK_THAT(whyDeclined({.rows = 0}), Catch::Contains("of nothing"));
  CHECK_THAT(whyDeclined({.mask = {5, 1}}), Catch::Contains("for each key"));
  CHECK_THAT(whyDeclined({.heads = 6, .keyHeads = 4}), Catch::Contains("no multiple"));
  Instruction turned = instructionOf({.rows = 16, .packed = true});
  auto& views = std::get<std::vector<int64_t>>(turned.attributes["views"]);
  std::swap(views[5 + 3], views[5 + 4]);  // the key's rows are neighbours
  CHECK_THAT(std::string(candidates(turned)[0].choice.status().message()),
             Catch::Contains("8 neighbours at once"));
}

}  // namespace graphrun::devices::cuda
