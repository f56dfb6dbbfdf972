#include "devices/cpu/runtime/kernel_list.h"

#include "devices/cpu/backward/batch_norm_kernel.h"
#include "devices/cpu/backward/layer_norm_backward_kernel.h"
#include "devices/cpu/backward/plane_filter_kernel.h"
#include "devices/cpu/backward/point_filter_kernel.h"
#include "devices/cpu/backward/pool_backward_kernel.h"
#include "devices/cpu/backward/recurrent_backward_kernel.h"
#include "devices/cpu/backward/recurrent_sums_kernel.h"
#include "devices/cpu/backward/softmax_backward_kernel.h"
#include "devices/cpu/base/onednn_layouts.h"
#include "devices/cpu/base/simple_kernels.h"
#include "devices/cpu/kernels/attention_kernel.h"
#include "devices/cpu/kernels/concat_kernel.h"
#include "devices/cpu/kernels/deconv_kernel.h"
#include "devices/cpu/kernels/deform_kernel.h"
#include "devices/cpu/kernels/instance_norm_kernel.h"
#include "devices/cpu/kernels/lstm_kernel.h"
#include "devices/cpu/kernels/pad_kernel.h"
#include "devices/cpu/kernels/panel_deconv_kernel.h"
#include "devices/cpu/kernels/plane_conv_kernel.h"
#include "devices/cpu/kernels/plane_deconv_kernel.h"
#include "devices/cpu/kernels/reduce_kernel.h"
#include "devices/cpu/kernels/resize_kernel.h"
#include "devices/cpu/kernels/softmax_kernel.h"
#include "devices/cpu/kernels/transpose_kernel.h"
#include "devices/cpu/kernels/winograd_kernel.h"
#include "devices/cpu/onednn/onednn_kernels.h"
#include "devices/cpu/onednn/row_images.h"
#include "devices/cpu/reference/reference.h"

namespace graphrun::devices::cpu {
namespace {

/// Does `operation` belong to one of the gr operations that a kernel is for?
struct Row {
  KernelEntry entry;
  absl::Span<const absl::string_view> operations;
};

constexpr absl::string_view kConv[] = {"gr.conv"};
constexpr absl::string_view kDeconv[] = {"gr.conv_transpose"};
constexpr absl::string_view kConvBackwardFilter[] = {"gr.conv_backward_filter"};
constexpr absl::string_view kDeform[] = {"gr.deform_conv"};
constexpr absl::string_view kMatMul[] = {"gr.matmul"};
constexpr absl::string_view kPool[] = {"gr.max_pool", "gr.avg_pool", "gr.reduce"};
constexpr absl::string_view kReduce[] = {"gr.reduce"};
constexpr absl::string_view kSoftmax[] = {"gr.softmax"};
constexpr absl::string_view kLrn[] = {"gr.lrn"};
constexpr absl::string_view kLayerNorm[] = {"gr.layer_norm"};
constexpr absl::string_view kPoolBackward[] = {"gr.max_pool_backward", "gr.avg_pool_backward"};
constexpr absl::string_view kSoftmaxBackward[] = {"gr.softmax_backward"};
constexpr absl::string_view kLayerNormBackward[] = {"gr.layer_norm_backward"};
constexpr absl::string_view kBatchNormTraining[] = {"gr.batch_norm_training"};
constexpr absl::string_view kBatchNormBackward[] = {"gr.batch_norm_backward"};
constexpr absl::string_view kResize[] = {"gr.resize"};
constexpr absl::string_view kRecurrent[] = {"gr.recurrent"};
constexpr absl::string_view kRecurrentBackward[] = {"gr.recurrent_backward"};
constexpr absl::string_view kConcat[] = {"gr.concat"};
constexpr absl::string_view kInstanceNorm[] = {"gr.instance_norm"};
constexpr absl::string_view kPad[] = {"gr.pad"};
constexpr absl::string_view kAttention[] = {"gr.attention"};
constexpr absl::string_view kReorder[] = {"reorder", "gr.transpose"};
constexpr absl::string_view kBinary[] = {"gr.add", "gr.sub", "gr.mul",
                                         "gr.div", "gr.min", "gr.max"};
constexpr absl::string_view kEltwise[] = {"gr.relu", "gr.leaky_relu", "gr.abs",
                                          "gr.sqrt", "gr.clip",       "gr.round"};

template <PlanFunction plan>
constexpr KernelEntry primitive(absl::string_view name) {
  return {name, chooseWith<plan>, createWith<plan>};
}

template <PlanFunction plan>
absl::StatusOr<LayoutChoice> chooseOnRows(const Instruction& instruction) {
  GR_ASSIGN_OR_RETURN(std::optional<Instruction> rows, onRows(instruction));
  if (!rows) {
    return choosePrimitive(instruction, plan);
  }
  GR_ASSIGN_OR_RETURN(LayoutChoice choice, choosePrimitive(*rows, plan));
  return fromRows(instruction, std::move(choice));
}

template <PlanFunction plan>
absl::StatusOr<std::unique_ptr<Kernel>> createOnRows(const Instruction& instruction,
                                                     KernelContext& context) {
  GR_ASSIGN_OR_RETURN(std::optional<Instruction> rows, onRows(instruction));
  return createPrimitive(rows ? *rows : instruction, context, plan);
}

/// A primitive that takes images of one row in place of those along one dim.
template <PlanFunction plan>
constexpr KernelEntry convolution(absl::string_view name) {
  return {name, chooseOnRows<plan>, createOnRows<plan>};
}

/// For one operation the order of the rows is the order of preference.
constexpr Row kRows[] = {
    {{"winograd", chooseWinograd, createWinograd}, kConv},
    {{"plane_conv", choosePlaneConv, createPlaneConv}, kConv},
    {convolution<planConv>("onednn.conv"), kConv},
    {{"plane_deconv", choosePlaneDeconv, createPlaneDeconv}, kDeconv},
    {{"panel_deconv", choosePanelDeconv, createPanelDeconv}, kDeconv},
    {convolution<planDeconv>("onednn.deconv"), kDeconv},
    {{"deconv_product", chooseDeconvProduct, createDeconvProduct}, kDeconv},
    {primitive<planConvBackwardData>("onednn.conv_backward_data"), kDeconv},
    {{"plane_filter", choosePlaneFilter, createPlaneFilter}, kConvBackwardFilter},
    {{"point_filter", choosePointFilter, createPointFilter}, kConvBackwardFilter},
    {primitive<planConvBackwardFilter>("onednn.conv_backward_filter"), kConvBackwardFilter},
    {{"deform_product", chooseDeformProduct, createDeformProduct}, kDeform},
    {primitive<planMatMul>("onednn.matmul"), kMatMul},
    {primitive<planInnerProduct>("onednn.inner_product"), kMatMul},
    {{"reduce", chooseReduce, createReduceLines}, kReduce},
    {primitive<planPool>("onednn.pool"), kPool},
    {primitive<planReduction>("onednn.reduction"), kReduce},
    {{"softmax", chooseSoftmax, createSoftmaxRows}, kSoftmax},
    {primitive<planSoftmax>("onednn.softmax"), kSoftmax},
    {primitive<planLrn>("onednn.lrn"), kLrn},
    {primitive<planLayerNorm>("onednn.layer_norm"), kLayerNorm},
    {{"pool_backward", choosePoolBackward, createPoolBackward}, kPoolBackward},
    {{"softmax_backward", chooseSoftmaxBackward, createSoftmaxBackwardRows}, kSoftmaxBackward},
    {{"layer_norm_backward", chooseLayerNormBackward, createLayerNormBackward}, kLayerNormBackward},
    {{"batch_norm_training", chooseBatchNorm, createBatchNormTraining}, kBatchNormTraining},
    {{"batch_norm_backward", chooseBatchNorm, createBatchNormBackward}, kBatchNormBackward},
    {{"instance_norm", chooseInstanceNorm, createInstanceNormRows}, kInstanceNorm},
    {{"resize", chooseResize, createResizeRows}, kResize},
    {{"lstm", chooseLstm, createLstm}, kRecurrent},
    {{"recurrent_sums", chooseRecurrentSums, createRecurrentSums}, kRecurrent},
    {{"recurrent_backward", chooseRecurrentBackward, createRecurrentBackward}, kRecurrentBackward},
    {primitive<planRecurrent>("onednn.recurrent"), kRecurrent},
    {{"concat", chooseConcat, createConcatRows}, kConcat},
    {primitive<planConcat>("onednn.concat"), kConcat},
    {{"transpose", chooseTranspose, createTransposeTiles}, kReorder},
    {primitive<planReorder>("onednn.reorder"), kReorder},
    {primitive<planBinary>("onednn.binary"), kBinary},
    {primitive<planEltwise>("onednn.eltwise"), kEltwise},
    {{"attention", chooseAttention, createAttention}, kAttention},
    {{"pad", choosePad, createPad}, kPad},
    {{"generated", chooseGenerated, createGenerated}, {}},
    {{"copy", chooseCopy, createCopy}, {}},
    {{"reference", chooseReference, createReference}, {}},
};

const Row* findRow(absl::string_view name) {
  for (const Row& row : kRows) {
    if (row.entry.name == name) {
      return &row;
    }
  }
  return nullptr;
}

bool isFor(const Row& row, absl::string_view operation) {
  if (row.entry.name == "reference") {
    return true;
  }
  for (absl::string_view mine : row.operations) {
    if (mine == operation) {
      return true;
    }
  }
  return false;
}

/// `instruction` as a loader gets it.
Instruction withLayouts(Instruction instruction, const LayoutChoice& choice) {
  for (size_t i = 0; i < instruction.inputs.size(); ++i) {
    instruction.inputs[i].desc = choice.inputs[i];
  }
  for (size_t i = 0; i < instruction.outputs.size(); ++i) {
    instruction.outputs[i].desc = choice.outputs[i];
  }
  for (size_t i = 0; i < instruction.postOps.size(); ++i) {
    auto& postOp = instruction.postOps[i];
    if (postOp.operand.has_value() && postOp.kind != PostOpKind::kSum) {
      postOp.operand->desc = choice.postOps[i];
    }
  }
  return instruction;
}

/// A kernel on fewer threads than the device has.
class NarrowKernel : public Kernel {
 public:
  NarrowKernel(std::unique_ptr<Kernel> kernel, uint32_t threads)
      : kernel_(std::move(kernel)), threads_(static_cast<int>(threads)) {}

  int run(void* const* buffers) override {
    ScopedThreads threads(threads_);
    return kernel_->run(buffers);
  }
  absl::Status errorMessage(int code) const override { return kernel_->errorMessage(code); }

 private:
  std::unique_ptr<Kernel> kernel_;
  int threads_;
};

}  // namespace

absl::Span<const KernelEntry> kernels() {
  static const std::vector<KernelEntry> list = [] {
    std::vector<KernelEntry> entries;
    for (const Row& row : kRows) {
      entries.push_back(row.entry);
    }
    return entries;
  }();
  return list;
}

const KernelEntry* findKernel(absl::string_view name) {
  const Row* row = findRow(name);
  return row == nullptr ? nullptr : &row->entry;
}

absl::StatusOr<std::unique_ptr<Kernel>> createKernel(const KernelEntry& entry,
                                                     const Instruction& instruction,
                                                     KernelContext& context) {
  if (instruction.threads == 0) {
    return entry.create(instruction, context);
  }
  ScopedThreads threads(static_cast<int>(instruction.threads));
  GR_ASSIGN_OR_RETURN(std::unique_ptr<Kernel> kernel, entry.create(instruction, context));
  return std::make_unique<NarrowKernel>(std::move(kernel), instruction.threads);
}

std::vector<Candidate> candidates(const Instruction& instruction) {
  std::vector<Candidate> result;
  for (const Row& row : kRows) {
    if (isFor(row, instruction.operation)) {
      result.push_back({&row.entry, row.entry.choose(instruction)});
    }
  }
  return result;
}

absl::StatusOr<Candidate> bestCandidate(const Instruction& instruction,
                                        const RefusedKernels* refused) {
  std::string reasons;
  for (const Row& row : kRows) {
    if (!isFor(row, instruction.operation)) {
      continue;
    }
    absl::StatusOr<LayoutChoice> choice = row.entry.choose(instruction);
    if (choice.ok() && refused != nullptr &&
        refused->contains(withLayouts(instruction, *choice), row.entry.name)) {
      choice = absl::UnimplementedError("it was refused when it was loaded");
    }
    if (choice.ok()) {
      return Candidate{&row.entry, std::move(choice)};
    }
    absl::StrAppend(&reasons, "\n  ", row.entry.name, ": ", choice.status().message());
  }
  return absl::UnimplementedError(absl::StrCat(instruction.label, " (", instruction.operation,
                                               "): no kernel of the CPU takes it:", reasons));
}

}  // namespace graphrun::devices::cpu
