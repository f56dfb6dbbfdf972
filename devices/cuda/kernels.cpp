#include "devices/cuda/kernels.h"

#include "devices/cuda/cublaslt_matmul.h"
#include "devices/cuda/cudnn_attention.h"
#include "devices/cuda/cudnn_byte_product.h"
#include "devices/cuda/cudnn_convolution.h"
#include "devices/cuda/cudnn_pool.h"
#include "devices/cuda/nccl_collective.h"
#include "devices/cuda/simple_kernels.h"
#include "runtime/base/status.h"

namespace graphrun::devices::cuda {
namespace {

constexpr KernelEntry kKernels[] = {
    {"cublaslt.matmul", "gr.matmul", chooseProduct, createProduct, true},
    {"cudnn.byte_matmul", "gr.matmul", chooseByteProduct, createWith<planByteProduct>, true},
    {"cudnn.conv", "gr.conv", chooseConvolution, createWith<planConvolution>, true},
    {"cudnn.deconv", "gr.conv_transpose", chooseConvolution, createWith<planConvolution>, true},
    {"cudnn.max_pool", "gr.max_pool", choosePool, createWith<planPool>, true},
    {"cudnn.avg_pool", "gr.avg_pool", choosePool, createWith<planPool>, true},
    {"cudnn.attention", "gr.attention", chooseFusedAttention, createWith<planFusedAttention>, true},
    {"nccl.collective", "gr.collective_member", chooseCollective, createCollective},
    {"generated", "", chooseGenerated, createGenerated},
    {"copy", "", chooseCopy, createCopy},
};

}  // namespace

absl::Span<const KernelEntry> kernels() { return kKernels; }

const KernelEntry* findKernel(absl::string_view name) {
  for (const KernelEntry& entry : kKernels) {
    if (entry.name == name) {
      return &entry;
    }
  }
  return nullptr;
}

absl::StatusOr<size_t> planOf(const Step& step) {
  GR_ASSIGN_OR_RETURN(int64_t plan, attributeOr<int64_t>(step, "plan", 0));
  if (plan < 0 || plan >= static_cast<int64_t>(kMostPlans)) {
    return absl::InvalidArgumentError(
        absl::StrCat(step.label, ": plan ", plan, ", expected 0 to ", kMostPlans - 1));
  }
  return static_cast<size_t>(plan);
}

std::vector<Candidate> candidates(const Step& step) {
  std::vector<Candidate> result;
  for (const KernelEntry& entry : kKernels) {
    if (entry.operation == step.operation && !step.operation.empty()) {
      result.push_back({&entry, entry.choose(step)});
    }
  }
  return result;
}

}  // namespace graphrun::devices::cuda
