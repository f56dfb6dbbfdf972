// Reductions whose lines threads share.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <limits>

#include "devices/cpu/base/kernel.h"
#include "devices/cpu/base/onednn_layouts.h"
#include "devices/cpu/onednn/onednn_primitive.h"
#include "devices/cpu/runtime/kernel_list.h"
#include "tests/devices/cpu/instruction_runner.h"

namespace graphrun::devices::cpu {
namespace {

struct Kind {
  const char* name;
  float start;
  float (*apply)(float, float);
};

constexpr float kInfinity = std::numeric_limits<float>::infinity();
const Kind kKinds[] = {
    {"sum", 0, [](float a, float b) { return a + b; }},
    {"mean", 0, [](float a, float b) { return a + b; }},
    {"prod", 1, [](float a, float b) { return a * b; }},
    {"max", -kInfinity, [](float a, float b) { return a > b || a != a ? a : b; }},
    {"min", kInfinity, [](float a, float b) { return a < b || a != a ? a : b; }},
};

/// outer x dim x inner floats that become outer x inner.
struct Lines {
  int64_t outer, dim, inner;
  int64_t count() const { return outer * dim * inner; }
};

/// The parts of a line, one after the other: what they come to.
std::vector<float> partsOf(const Kind& kind, const float* x, int64_t length, int64_t stride) {
  const int64_t parts = std::max<int64_t>(1, (length + 1023) / 1024);
  const int64_t most = parts == 1 ? length : (length + 4 * parts - 1) / (4 * parts) * 4;
  auto at = [&](int64_t i) { return x[i * stride]; };
  std::vector<float> results;
  for (int64_t part = 0; part < parts; ++part) {
    int64_t i = std::min(length, part * most);
    const int64_t end = std::min(length, i + most);
    float all = kind.start;
    for (; i + 4 <= end; i += 4) {
      all = kind.apply(all,
                       kind.apply(kind.apply(at(i), at(i + 1)), kind.apply(at(i + 2), at(i + 3))));
    }
    for (; i < end; ++i) {
      all = kind.apply(all, at(i));
    }
    results.push_back(all);
  }
  return results;
}

float combined(const Kind& kind, const std::vector<float>& parts) {
  float all = parts[0];
  for (size_t i = 1; i < parts.size(); ++i) {
    all = kind.apply(all, parts[i]);
  }
  return all;
}

/// A line whose elements follow each other: sixteen lines side by side, and what is left.
float lanesCombined(const Kind& kind, const float* x, int64_t length) {
  std::array<float, 16> lanes;
  for (int64_t j = 0; j < 16; ++j) {
    float& lane = lanes[static_cast<size_t>(j)];
    lane = combined(kind, partsOf(kind, x + j, length / 16, 16));
    if (j < length % 16) {
      lane = kind.apply(lane, x[length / 16 * 16 + j]);
    }
  }
  for (size_t half = 8; half > 0; half /= 2) {
    for (size_t j = 0; j < half; ++j) {
      lanes[j] = kind.apply(lanes[j], lanes[j + half]);
    }
  }
  return lanes[0];
}

/// One element after the other, in the order that the kernel promises.
std::vector<float> inOrder(const Kind& kind, const Lines& lines, const float* x) {
  const float factor =
      kind.name == std::string("mean") ? 1.0F / static_cast<float>(lines.dim) : 1.0F;
  std::vector<float> results;
  for (int64_t o = 0; o < lines.outer; ++o) {
    for (int64_t i = 0; i < lines.inner; ++i) {
      const float* line = x + o * lines.dim * lines.inner + i;
      results.push_back(factor * (lines.inner == 1 ? lanesCombined(kind, line, lines.dim)
                                                   : combined(kind, partsOf(kind, line, lines.dim,
                                                                            lines.inner))));
    }
  }
  return results;
}

/// What a kernel for so many threads leaves.
struct Reduced {
  std::vector<float> results;
  std::vector<float> scratch;  ///< NaN where it was not written
  int64_t pieces = 0;          ///< that threads share
};

Reduced reduceBy(int threads, const Kind& kind, const Lines& lines, std::vector<float>& x) {
  ScopedThreads scoped(threads);
  Instruction instruction;
  instruction.operation = "gr.reduce";
  instruction.attributes = {
      {"kind", std::string(kind.name)}, {"axes", Dims{1}}, {"keepdims", true}};
  instruction.inputs = {{0, {ElementType::kF32, {lines.outer, lines.dim, lines.inner}}}};
  instruction.outputs = {{1, {ElementType::kF32, {lines.outer, 1, lines.inner}}}};
  const KernelEntry* entry = findKernel("reduce");
  absl::StatusOr<LayoutChoice> choice = entry->choose(instruction);
  REQUIRE(choice.ok());
  const auto bytes = static_cast<int64_t>(choice->scratchBytes);
  Reduced reduced;
  reduced.pieces = choice->parts;
  reduced.results.resize(static_cast<size_t>(lines.outer * lines.inner));
  reduced.scratch.assign(choice->scratchBytes / sizeof(float),
                         std::numeric_limits<float>::quiet_NaN());
  if (bytes > 0) {
    instruction.scratch = {2, {ElementType::kU8, {bytes}}};
  }
  OneDnn onednn;
  KernelContext context{onednn};
  auto kernel = createKernel(*entry, instruction, context);
  REQUIRE(kernel.ok());
  void* const buffers[] = {x.data(), reduced.results.data(), reduced.scratch.data()};
  REQUIRE((*kernel)->run(buffers) == 0);
  return reduced;
}

bool sameBits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

std::vector<float> randomFloats(const Kind& kind, int64_t count) {
  std::mt19937 random(static_cast<uint32_t>(count));
  // Products stay near 1.
  const bool product = kind.name == std::string("prod");
  std::uniform_real_distribution<float> uniform(product ? 0.999F : -1, product ? 1.001F : 1);
  std::vector<float> x(static_cast<size_t>(count));
  std::generate(x.begin(), x.end(), [&] { return uniform(random); });
  return x;
}

}  // namespace

TEST_CASE("results of few long lines have the same bits by any number of threads") {
  for (const Lines& lines : {Lines{1, 20000, 32},
                             {1, 100003, 1},
                             {3, 40000, 1},
                             {1, 2100, 600},
                             {2, 1500, 37},
                             {1, 40, 2000},
                             {7, 1025, 9},
                             {1, 33000, 1}}) {
    for (const Kind& kind : kKinds) {
      CAPTURE(lines.outer, lines.dim, lines.inner, kind.name);
      std::vector<float> x = randomFloats(kind, lines.count());
      std::vector<float> expected = inOrder(kind, lines, x.data());
      for (int threads : {1, 2, 3, 4, 64}) {
        CAPTURE(threads);
        CHECK(sameBits(reduceBy(threads, kind, lines, x).results, expected));
      }
    }
  }
}

TEST_CASE("threads share the parts of lines where there are too few lines for them") {
  const Kind& sum = kKinds[0];
  const Lines lines{1, 20000, 32};
  std::vector<float> x = randomFloats(sum, lines.count());
  Reduced alone = reduceBy(1, sum, lines, x);
  CHECK(alone.pieces == 1);
  CHECK(alone.scratch.empty());
  Reduced shared = reduceBy(2, sum, lines, x);
  CHECK(shared.pieces == 20);
  REQUIRE(shared.scratch.size() >= 20U * 32U);
  for (int64_t column = 0; column < lines.inner; ++column) {
    std::vector<float> parts = partsOf(sum, x.data() + column, lines.dim, lines.inner);
    REQUIRE(parts.size() == 20);
    const size_t width = shared.scratch.size() / parts.size();
    for (size_t part = 0; part < parts.size(); ++part) {
      CAPTURE(column, part);
      CHECK(shared.scratch[part * width + static_cast<size_t>(column)] == parts[part]);
    }
  }
  // Enough lines for all, or too little to share.
  for (const Lines& other : {Lines{64, 20000, 1}, {1, 16000, 1}}) {
    std::vector<float> zeros(static_cast<size_t>(other.count()));
    CHECK(reduceBy(4, sum, other, zeros).scratch.empty());
  }
}

TEST_CASE("a NaN in one of the parts that threads share is the largest and the smallest") {
  for (const Kind& kind : {kKinds[3], kKinds[4]}) {
    for (const Lines& lines : {Lines{1, 5000, 8}, {1, 70000, 1}}) {
      for (int64_t position : {int64_t{0}, lines.dim / 2, lines.dim - 1}) {
        CAPTURE(kind.name, lines.inner, position);
        std::vector<float> x = randomFloats(kind, lines.count());
        x[static_cast<size_t>(position * lines.inner)] = std::numeric_limits<float>::quiet_NaN();
        CHECK(std::isnan(reduceBy(2, kind, lines, x).results[0]));
      }
    }
  }
}

}  // namespace graphrun::devices::cpu
