// Fuzz target: model.fb. Every input is read as it is, and again behind right checksums, which no
// fuzzer would guess.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "runtime/format/model_file.h"
#include "tests/runtime/format/samples.h"

namespace graphrun::format {
namespace {

void read(absl::Span<const uint8_t> input) {
  AlignedBytes bytes(input);
  auto file = ModelFile::fromBytes(bytes.span(), "fuzzed");
  if (!file.ok()) {
    return;
  }
  // What is accepted must be safe to walk as a whole.
  (*file)->verifyWeights().IgnoreError();
  GraphT graph;
  (*file)->graph().UnPackTo(&graph);
  for (size_t i = 0; i < (*file)->weightCount(); ++i) {
    (*file)->weightSpec(i);
  }
}

}  // namespace
}  // namespace graphrun::format

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::vector<uint8_t> file(data, data + size);
  graphrun::format::read(file);
  if (size >= sizeof(graphrun::format::FileHeader)) {
    std::memcpy(file.data(), graphrun::format::FileHeader::kMagic, 8);
    graphrun::format::repairChecksums(absl::MakeSpan(file));
    graphrun::format::read(file);
  }
  return 0;
}
