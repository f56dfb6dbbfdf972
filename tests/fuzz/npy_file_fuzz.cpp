// Fuzz target: .npy files, read as they are and as tensors of a reduced type.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "runtime/base/npy.h"

namespace {

/// What is accepted has all the bytes that its shape says.
void read(absl::Span<const uint8_t> bytes, graphrun::runtime::ElementType expected) {
  auto tensor = graphrun::runtime::parseNpy(bytes, "fuzzed", expected);
  if (!tensor.ok()) {
    return;
  }
  uint64_t sum = 0;
  if (tensor->spec().type == graphrun::runtime::ElementType::kString) {
    for (const std::string& text : tensor->strings()) {
      sum += text.size();
    }
    if (sum > 4 * bytes.size()) {  // UTF-8 takes no more than UTF-32, bytes no more than they are
      std::abort();
    }
    return;
  }
  const auto* data = static_cast<const uint8_t*>(tensor->data());
  for (size_t i = 0; i < tensor->byteSize(); ++i) {
    sum += data[i];
  }
  if (tensor->byteSize() > bytes.size() || sum > 255 * uint64_t{tensor->byteSize()}) {
    std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  read({data, size}, graphrun::runtime::ElementType::kInvalid);
  read({data, size}, graphrun::runtime::ElementType::kF4E2M1);
  return 0;
}
