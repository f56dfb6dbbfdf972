#include "tests/devices/cuda/compiler/interpreted_kernel.h"

#include <catch2/catch.hpp>
#include <cstring>

#include "devices/cuda/kernels/kernel_errors.h"
#include "tests/devices/cuda/simulator/ptx_execution.h"

namespace graphrun::devices::cuda {
namespace {

namespace ptx = graphrun::testing::ptx;

/// Tensors are this far apart, so that what is beyond one is in none.
constexpr uint64_t kApart = uint64_t{1} << 40;

/// A tensor's address on the device, by its index among operands and results.
uint64_t addressOf(size_t index) { return (index + 1) * kApart; }

std::vector<uint8_t> parametersOf(const KernelLaunch& launch, const KernelMemory& memory) {
  std::vector<uint8_t> bytes(launch.arguments.size() * sizeof(uint64_t));
  size_t tables = memory.operands.size(), results = tables + memory.tables.size();
  size_t first[] = {0, tables, results, results + memory.results.size()};  // by kind
  for (size_t i = 0; i < launch.arguments.size(); ++i) {
    using Kind = KernelArgument::Kind;
    auto value = static_cast<uint64_t>(launch.arguments[i].value);
    if (launch.arguments[i].kind == Kind::kStep) {
      value = errorBase(0);
    } else if (launch.arguments[i].kind == Kind::kErrors) {
      value = addressOf(results + memory.results.size() + memory.scratch.size());
    } else if (launch.arguments[i].kind != Kind::kInteger) {
      value = addressOf(value + first[static_cast<size_t>(launch.arguments[i].kind)]);
    }
    std::memcpy(bytes.data() + i * sizeof(value), &value, sizeof(value));
  }
  return bytes;
}

ptx::Program programOf(const std::string& text, const std::string& symbol) {
  auto module = ptx::parse(text);
  REQUIRE(module.status().ToString() == "OK");
  for (const ptx::Kernel& kernel : module->kernels) {
    if (kernel.name == symbol) {
      auto program = ptx::compile(kernel);
      REQUIRE(program.status().ToString() == "OK");
      return *std::move(program);
    }
  }
  FAIL("no kernel " << symbol);
  return {};
}

}  // namespace

void interpretKernel(const std::string& ptx, const KernelLaunch& launch,
                     const KernelMemory& memory) {
  INFO(ptx);
  std::vector<Bytes> tensors = memory.operands;
  for (const auto* more : {&memory.tables, &memory.results, &memory.scratch}) {
    tensors.insert(tensors.end(), more->begin(), more->end());
  }
  tensors.push_back(memory.errors);
  ptx::Launch run;
  run.sharedBytes = launch.sharedBytes;
  std::copy_n(std::begin(launch.grid), 3, run.grid.begin());
  std::copy_n(std::begin(launch.block), 3, run.block.begin());
  run.parameters = parametersOf(launch, memory);
  run.find = [&](uint64_t address) {
    uint64_t index = address / kApart - 1;
    if (index >= tensors.size()) {
      return ptx::Allocation();
    }
    uint64_t begin = addressOf(index);
    return ptx::Allocation{begin, begin + tensors[index].size(), tensors[index].data()};
  };
  auto fault = ptx::run(programOf(ptx, launch.symbol), run);
  REQUIRE((fault ? fault->message : "OK") == "OK");
}

}  // namespace graphrun::devices::cuda
