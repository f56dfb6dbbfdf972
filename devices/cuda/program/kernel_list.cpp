#include "devices/cuda/program/kernel_list.h"

#include "devices/cuda/cublaslt/cublaslt_matmul.h"
#include "devices/cuda/cudnn/cudnn_attention.h"
#include "devices/cuda/cudnn/cudnn_byte_product.h"
#include "devices/cuda/cudnn/cudnn_convolution.h"
#include "devices/cuda/cudnn/cudnn_pool.h"
#include "devices/cuda/kernels/simple_kernels.h"
#include "devices/cuda/nccl/nccl_collective.h"

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

std::vector<Candidate> candidates(const Instruction& instruction) {
  std::vector<Candidate> result;
  for (const KernelEntry& entry : kKernels) {
    if (entry.operation == instruction.operation && !instruction.operation.empty()) {
      result.push_back({&entry, entry.choose(instruction)});
    }
  }
  return result;
}

}  // namespace graphrun::devices::cuda
