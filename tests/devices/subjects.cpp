// The product's devices. A new device adds a row.
#include "tests/devices/subjects.h"

#include <iterator>

#include "negate_ptx.h"

namespace graphrun::devices::testing {
namespace {

std::vector<uint8_t> cudaNegation(const Device& device) {
  Executable e = negation(device);
  e.instructions[0].kernel = "generated";
  e.instructions[0].symbol = "negate";
  e.instructions[0].sizes = {4};
  e.instructions[0].grid = {1, 1, 1};
  e.instructions[0].block = {32, 1, 1};
  e.code.assign(std::begin(kNegatePtx), std::end(kNegatePtx));
  return writeExecutable(e);
}

}  // namespace

std::vector<Subject> subjects() {
  return {
      {{"test/cpu:0", "cpu", 0, {}, 0}, {}, cpuNegation},
      {{"test/cuda:0", "cuda", 0, {}, 0}, {}, cudaNegation},
      {{"test/null:0", "null", 0, {}, 0},
       {{"load", "the null device runs no operation: it is the skeleton to copy"}}},
  };
}

}  // namespace graphrun::devices::testing
