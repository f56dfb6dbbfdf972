// Fuzz target: partitions of a Plan, as a worker compiles them. What the format's checks let pass
// must be refused by the dialect or by the device's compiler, or become an executable.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/base/tensor.h"
#include "runtime/compiler_loader/compiler_api.h"
#include "runtime/format/plan_file.h"
#include "tests/runtime/format/samples.h"

extern "C" const GrCompilerApi* grCompilerApi();

namespace graphrun::format {
namespace {

constexpr size_t kMaxWeightBytes = 1 << 20;

/// Weights of zeros, of the size that the plan says; none where that is large.
int32_t zeros(void* context, uint32_t index, GrBytes* out) {
  static const std::vector<uint64_t> memory(kMaxWeightBytes / sizeof(uint64_t) + 1);
  const WeightEntry& entry = *static_cast<const PlanFile*>(context)->plan().weights()->Get(index);
  const auto element = static_cast<runtime::ElementType>(entry.type()->element());
  std::vector<int64_t> dims;
  if (entry.type()->dims() != nullptr && !entry.splat()) {
    dims.assign(entry.type()->dims()->begin(), entry.type()->dims()->end());
  }
  absl::StatusOr<size_t> bytes = runtime::checkedByteSize(element, dims);
  if (!bytes.ok() || *bytes > kMaxWeightBytes) {
    return static_cast<int32_t>(absl::StatusCode::kUnavailable);
  }
  *out = {reinterpret_cast<const uint8_t*>(memory.data()), *bytes};
  return 0;
}

int32_t noCode(void*, const char*, GrBytes*) {
  return static_cast<int32_t>(absl::StatusCode::kNotFound);
}

void compile(const PlanFile& file, absl::Span<const uint8_t> bytes, uint32_t index) {
  GrPartition task = {};
  task.plan = {bytes.data(), bytes.size()};
  task.index = index;
  task.fingerprint = "fuzzed";
  task.readWeight = zeros;
  task.findCode = noCode;
  task.storeCode = [](void*, const char*, GrBytes) {};
  task.context = const_cast<PlanFile*>(&file);
  task.threads = 1;
  GrTuning tuning = {};
  GrBuffer executable = {};
  grCompilerApi()->compilePartition(&task, &tuning, &executable);
  grCompilerApi()->release(&executable);
  grCompilerApi()->release(&tuning.measured);
}

}  // namespace
}  // namespace graphrun::format

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  graphrun::format::AlignedBytes bytes({data, size});
  auto file = graphrun::format::PlanFile::parse(bytes.span());
  if (file.ok()) {
    const auto* partitions = (*file)->plan().partitions();
    for (uint32_t i = 0; partitions != nullptr && i < partitions->size(); ++i) {
      graphrun::format::compile(**file, bytes.span(), i);
    }
  }
  return 0;
}
