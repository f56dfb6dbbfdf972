#include "devices/cuda/nccl/nccl_collective.h"

#include <bit>
#include <iterator>
#include <optional>
#include <utility>

#include "devices/cuda/nccl/communicators.h"
#include "runtime/base/pair_table.h"
#include "runtime/base/status.h"

namespace graphrun::devices::cuda {
namespace {

using runtime::ElementType;

constexpr std::pair<ElementType, ncclDataType_t> kTypes[] = {
    {ElementType::kI8, ncclInt8},     {ElementType::kU8, ncclUint8},
    {ElementType::kI32, ncclInt32},   {ElementType::kU32, ncclUint32},
    {ElementType::kI64, ncclInt64},   {ElementType::kU64, ncclUint64},
    {ElementType::kF16, ncclFloat16}, {ElementType::kBF16, ncclBfloat16},
    {ElementType::kF32, ncclFloat32}, {ElementType::kF64, ncclFloat64},
};

constexpr std::pair<absl::string_view, ncclRedOp_t> kReductions[] = {
    {"sum", ncclSum}, {"prod", ncclProd}, {"max", ncclMax}, {"min", ncclMin}, {"mean", ncclAvg},
};

bool isFloat(ncclDataType_t type) {
  return type == ncclFloat16 || type == ncclBfloat16 || type == ncclFloat32 || type == ncclFloat64;
}

std::optional<ncclRedOp_t> reduction(absl::string_view kind, ncclDataType_t type) {
  std::optional<ncclRedOp_t> found = runtime::valueFor(kReductions, kind);
  // A mean of integers would be rounded in a way that NCCL does not tell.
  return found == ncclAvg && !isFloat(type) ? std::nullopt : found;
}

enum class Collective : uint8_t { kAllReduce, kAllGather, kReduceScatter };

/// The names of collectives, in the order of the enumerators: the attribute's, and the library's
/// function.
struct CollectiveNames {
  absl::string_view name;
  const char* function;
};
constexpr CollectiveNames kCollectives[] = {
    {"all_reduce", "ncclAllReduce"},
    {"all_gather", "ncclAllGather"},
    {"reduce_scatter", "ncclReduceScatter"},
};

struct CollectiveInstruction {
  Collective collective = Collective::kAllReduce;
  ncclDataType_t type = ncclInt8;
  ncclRedOp_t reduction = ncclSum;
  size_t count = 0;  ///< elements as the library counts them: of the smaller one of both tensors
  uint32_t communicator = 0;
};

absl::StatusOr<Collective> collectiveOf(const std::string& name) {
  for (size_t i = 0; i < std::size(kCollectives); ++i) {
    if (kCollectives[i].name == name) {
      return static_cast<Collective>(i);
    }
  }
  return absl::UnimplementedError(absl::StrCat("NCCL is not used for ", name));
}

const char* functionOf(Collective collective) {
  return kCollectives[static_cast<size_t>(collective)].function;
}

/// True if one of the tensors has exactly as many elements as some number of the other.
bool fits(Collective collective, int64_t in, int64_t out) {
  return collective == Collective::kAllReduce   ? in == out
         : collective == Collective::kAllGather ? in > 0 && out % in == 0
                                                : out > 0 && in % out == 0;
}

absl::Status checkTensors(const Instruction& instruction, Collective collective) {
  const bool areDense = instruction.inputs.size() == 1 && instruction.outputs.size() == 1 &&
                        instruction.inputs[0].desc.layout.empty() &&
                        instruction.outputs[0].desc.layout.empty();
  if (!areDense || instruction.inputs[0].desc.type != instruction.outputs[0].desc.type) {
    return absl::InvalidArgumentError(
        "a collective: expected a dense operand and a dense result of one type");
  }
  const runtime::TensorSpec in = instruction.inputs[0].desc.spec();
  const runtime::TensorSpec out = instruction.outputs[0].desc.spec();
  if (in.elementCount() == 0) {
    return absl::UnimplementedError("NCCL is not used for tensors without elements");
  }
  if (!fits(collective, in.elementCount(), out.elementCount())) {
    return absl::InvalidArgumentError(absl::StrCat("a collective: ", in.toString(), " gives ",
                                                   out.toString(), ", which it cannot"));
  }
  return absl::OkStatus();
}

absl::StatusOr<CollectiveInstruction> read(const Instruction& instruction) {
  CollectiveInstruction result;
  GR_ASSIGN_OR_RETURN(std::string name, attribute<std::string>(instruction, "collective"));
  GR_ASSIGN_OR_RETURN(result.collective, collectiveOf(name));
  GR_RETURN_IF_ERROR(checkTensors(instruction, result.collective));
  GR_ASSIGN_OR_RETURN(int64_t communicator, attribute<int64_t>(instruction, "communicator"));
  result.communicator = static_cast<uint32_t>(communicator);
  const runtime::TensorSpec in = instruction.inputs[0].desc.spec();
  const runtime::TensorSpec out = instruction.outputs[0].desc.spec();
  if (result.collective == Collective::kAllGather) {  // nothing is computed: any type will do
    result.count = in.byteSize();
    return result;
  }
  result.count = static_cast<size_t>(out.elementCount());
  GR_ASSIGN_OR_RETURN(std::string kind, attribute<std::string>(instruction, "kind"));
  std::optional<ncclDataType_t> type = runtime::valueFor(kTypes, in.type);
  std::optional<ncclRedOp_t> combined = type ? reduction(kind, *type) : std::nullopt;
  if (!combined) {
    return absl::UnimplementedError(absl::StrCat("NCCL does not combine elements of ",
                                                 runtime::elementTypeName(in.type), " by ", kind));
  }
  result.type = *type;
  result.reduction = *combined;
  return result;
}

class CollectiveKernel : public Kernel {
 public:
  CollectiveKernel(const CollectiveInstruction& instruction, Communicators& communicators,
                   CUdeviceptr from, CUdeviceptr to)
      : instruction_(instruction),
        communicators_(communicators),
        from_(std::bit_cast<const void*>(from)),
        to_(std::bit_cast<void*>(to)) {}

  absl::Status enqueue(CUstream stream) override {
    return communicators_.put(
        instruction_.communicator, functionOf(instruction_.collective),
        [&](const NcclApi& api, ncclComm_t communicator) {
          switch (instruction_.collective) {
            case Collective::kAllGather:
              return api.ncclAllGather(from_, to_, instruction_.count, instruction_.type,
                                       communicator, stream);
            case Collective::kReduceScatter:
              return api.ncclReduceScatter(from_, to_, instruction_.count, instruction_.type,
                                           instruction_.reduction, communicator, stream);
            case Collective::kAllReduce:
              break;
          }
          return api.ncclAllReduce(from_, to_, instruction_.count, instruction_.type,
                                   instruction_.reduction, communicator, stream);
        });
  }

 private:
  CollectiveInstruction instruction_;
  Communicators& communicators_;
  const void* from_;
  void* to_;
};

}  // namespace

absl::StatusOr<KernelChoice> chooseCollective(const Instruction& instruction) {
  GR_ASSIGN_OR_RETURN(CollectiveInstruction collective, read(instruction));
  return KernelChoice{0, functionOf(collective.collective)};
}

absl::StatusOr<std::unique_ptr<Kernel>> createCollective(const Instruction& instruction,
                                                         const KernelContext& context) {
  GR_ASSIGN_OR_RETURN(CollectiveInstruction collective, read(instruction));
  if (context.communicators == nullptr) {
    return absl::FailedPreconditionError("a collective cannot be tried alone");
  }
  const CUdeviceptr from = context.addressOf(instruction.inputs[0]);
  const CUdeviceptr to = context.addressOf(instruction.outputs[0]);
  if (from == to && collective.collective != Collective::kAllReduce) {
    return absl::InvalidArgumentError(
        "the result lies on the operand, which is for an all_reduce only");
  }
  return std::make_unique<CollectiveKernel>(collective, *context.communicators, from, to);
}

}  // namespace graphrun::devices::cuda
