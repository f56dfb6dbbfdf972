#include "devices/cpu/result_pass.h"

#include <algorithm>

#include "devices/cpu/onednn_layouts.h"
#include "devices/cpu/parallel.h"
#include "devices/cpu/wide.h"

namespace graphrun::devices::cpu {
namespace {

absl::Status declined(absl::string_view what) {
  return absl::UnimplementedError(absl::StrCat("behind the library's part of a step: ", what));
}

/// The elements fill the tensor's memory, but for what lies beyond its dims.
absl::StatusOr<int64_t> elementsOf(const TensorDesc& desc) {
  GR_ASSIGN_OR_RETURN(Blocking blocking, blockingOf(desc));
  int64_t elements = TensorDesc{desc.type, blocking.paddedDims}.spec().elementCount();
  return blocking.extent() == elements ? absl::StatusOr<int64_t>(elements)
                                       : declined("a result with gaps");
}

}  // namespace

absl::StatusOr<ResultPass> ResultPass::make(const Step& step, size_t first) {
  const TensorDesc& result = step.outputs[0].desc;
  Step behind = step;
  behind.postOps.erase(behind.postOps.begin(),
                       behind.postOps.begin() + static_cast<int64_t>(first));
  bool known = std::all_of(behind.postOps.begin(), behind.postOps.end(),
                           [](const PostOp& op) { return op.kind == PostOpKind::kEltwise; });
  if (!known || result.type != runtime::ElementType::kF32) {
    return declined("functions of f32 alone");
  }
  ResultPass pass;
  GR_ASSIGN_OR_RETURN(pass.ops_, RowPostOps::make(behind));
  pass.buffer_ = step.outputs[0].buffer;
  if (result.any) {
    return pass;
  }
  GR_ASSIGN_OR_RETURN(pass.elements_, elementsOf(result));
  float zero = 0;
  pass.ops_.apply(nullptr, nullptr, 0, 0, 1, &zero);
  return zero == 0 || !hasPadding(result) ? absl::StatusOr<ResultPass>(pass)
                                          : declined("padding that does not stay 0");
}

void ResultPass::run(void* const* buffers) const {
  constexpr int64_t kRow = 4096;  // stays in a first-level cache from one function to the next
  auto* data = static_cast<float*>(buffers[buffer_]);
  parallelRanges(elements_, [&](int64_t begin, int64_t end) {
    runWide([&] {
      for (int64_t i = begin; i < end; i += kRow) {
        ops_.apply(buffers, data, 0, i, std::min(kRow, end - i), data + i);
      }
    });
  });
}

}  // namespace graphrun::devices::cpu
