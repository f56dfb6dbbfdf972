#include "tests/devices/cuda/compiler/operation_case.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tests/devices/cuda/compiler/ptxas.h"

namespace graphrun::devices::cuda {

namespace {

/// Each element is the expected one (NaN, infinity), or within `tolerance` of it (see
/// cpu::distance); those of reduced types have the same bits. What is rounded to bf16 is held to a
/// norm instead.
bool isClose(const cpu::HostTensor& got, const cpu::HostTensor& expected, double tolerance) {
  if (!(got.spec() == expected.spec()) || runtime::isReduced(got.spec().type)) {
    return got.spec() == expected.spec() &&
           std::memcmp(got.data(), expected.data(), got.byteSize()) == 0;
  }
  if (got.spec().type == runtime::ElementType::kBF16 && tolerance > 0) {
    return cpu::normDistance(got, expected) <= std::min(tolerance, cpu::kBFloat16Norm);
  }
  std::vector<double> x = cpu::values(got), y = cpu::values(expected);
  return std::equal(x.begin(), x.end(), y.begin(), [&](double a, double b) {
    return a == b || (std::isnan(a) && std::isnan(b)) ||
           std::fabs(a - b) <= tolerance * (1 + std::fabs(b));
  });
}

}  // namespace

std::string function(const std::string& op, const std::vector<std::string>& operands,
                     const std::vector<std::string>& types, const std::vector<std::string>& results,
                     const std::string& constants) {
  std::vector<std::string> arguments;
  for (size_t i = 0; i < operands.size(); ++i) {
    if (!operands[i].starts_with("%c")) {
      arguments.push_back(absl::StrCat(operands[i], ": ", types[i]));
    }
  }
  size_t attributes = op.find(' ');
  std::string list = absl::StrJoin(results, ", ");
  return absl::StrCat("func.func @f(", absl::StrJoin(arguments, ", "), ") -> (", list, ") {\n",
                      constants, "\n  %0", results.size() > 1 ? ":" : "",
                      results.size() > 1 ? absl::StrCat(results.size()) : "", " = \"gr.",
                      op.substr(0, attributes), "\"(", absl::StrJoin(operands, ", "), ")",
                      attributes == std::string::npos ? "" : op.substr(attributes), " : (",
                      absl::StrJoin(types, ", "), ") -> (", list, ")\n  return ",
                      results.size() > 1 ? "%0#0" : "%0", results.size() > 1 ? ", %0#1" : "",
                      results.size() > 2 ? ", %0#2" : "", " : ", list, "\n}");
}

std::string ints(const std::string& name, const std::string& values, size_t count) {
  std::string type = absl::StrCat("tensor<", count, "xi64>");
  return absl::StrCat("  ", name, " = gr.constant dense<", values, "> : ", type, " : ", type, "\n");
}

void check(const std::string& text, double tolerance, bool whole, cpu::Tensors operands) {
  INFO(text);
  KernelCase kernels(text);
  operands = operands.empty() ? kernels.operands(1, whole) : std::move(operands);
  cpu::Tensors got = kernels.interpreted(operands);
  cpu::Tensors expected = kernels.expected(operands);
  REQUIRE(got.size() == expected.size());
  for (size_t i = 0; i < got.size(); ++i) {
    CAPTURE(i);
    REQUIRE(isClose(got[i], expected[i], tolerance));
  }
  for (size_t i = 0; hasPtxas() && i < kernels.plan().launches.size(); ++i) {
    constexpr int kCapabilities[] = {80, 90, 100};
    int capability = kCapabilities[text.size() % 3];  // in turns, as each takes its time
    requireAssembles(kernels.ptx(capability, i), capability);
  }
}

KernelError complaintOf(const std::string& text, cpu::Tensors operands) {
  INFO(text);
  KernelCase kernels(text);
  kernels.interpreted(operands);
  return kernels.error();
}

}  // namespace graphrun::devices::cuda
