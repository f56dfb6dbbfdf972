// Fuzz target: IDX files, plain and compressed. What is accepted has as many bytes as its dims say.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "runtime/data/idx_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  auto tensor = graphrun::runtime::parseIdx({data, size}, "fuzzed.idx");
  if (tensor.ok() && tensor->byteSize() != tensor->spec().byteSize()) {
    std::abort();
  }
  return 0;
}
