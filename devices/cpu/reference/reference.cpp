#include "devices/cpu/reference/reference.h"

#include <algorithm>

#include "devices/cpu/reference/reference_support.h"

namespace graphrun::devices::cpu {
namespace {

const ReferenceEntry* findEntry(absl::string_view operation) {
  for (auto family : {referenceConvert(),     referenceElementwise(),
                      referenceMath(),        referenceNn(),
                      referenceNorm(),        referenceAttention(),
                      referenceTensor(),      referenceSlice(),
                      referenceIndex(),       referencePositions(),
                      referenceOrder(),       referenceBoxes(),
                      referenceRandom(),      referenceLookup(),
                      referenceTrees(),       referenceVision(),
                      referenceRegions(),     referenceBlocks(),
                      referenceRecurrent(),   referenceRecurrentBackward(),
                      referenceSignal(),      referenceBackward(),
                      referenceGridBackward()}) {
    for (const ReferenceEntry& entry : family) {
      if (entry.operation == operation) {
        return &entry;
      }
    }
  }
  return nullptr;
}

absl::Status requireDense(const Instruction& instruction) {
  for (const auto* list : {&instruction.inputs, &instruction.outputs}) {
    for (const Argument& argument : *list) {
      if (!isDense(argument.desc)) {
        return absl::UnimplementedError(absl::StrCat(
            instruction.operation, ": reference kernels take dense tensors, an operand is ",
            layoutName(argument.desc)));
      }
      GR_RETURN_IF_ERROR(runtime::checkedByteSize(argument.desc.type, argument.desc.dims).status());
    }
  }
  if (!instruction.postOps.empty()) {
    return absl::UnimplementedError(
        absl::StrCat(instruction.operation, ": reference kernels take no post-ops"));
  }
  return absl::OkStatus();
}

absl::Status checkArity(const ReferenceEntry& entry, size_t inputs, size_t outputs) {
  size_t most = std::max(entry.inputs, entry.maxInputs);
  bool good = inputs >= entry.inputs && inputs <= most &&
              (entry.outputs == 0 ? outputs > 0 : outputs == entry.outputs);
  return good ? absl::OkStatus()
              : absl::InvalidArgumentError(
                    absl::StrCat(entry.operation, ": ", inputs, " operands and ", outputs,
                                 " results, expected ", entry.inputs, " to ", most, " and ",
                                 entry.outputs == 0 ? "some" : absl::StrCat(entry.outputs)));
}

std::vector<ElementType> typesOf(const std::vector<Argument>& arguments) {
  std::vector<ElementType> types;
  types.reserve(arguments.size());
  for (const Argument& argument : arguments) {
    types.push_back(argument.desc.type);
  }
  return types;
}

/// One that is computed in.
bool isInteger(ElementType type) {
  runtime::NumberKind kind = runtime::elementTypeInfo(type).kind;
  return !runtime::isReduced(type) &&
         (kind == runtime::NumberKind::kSigned || kind == runtime::NumberKind::kUnsigned);
}

bool allAre(absl::Span<const ElementType> types, ElementType type) {
  return std::all_of(types.begin(), types.end(), [&](ElementType t) { return t == type; });
}

/// Operands from `first` on are integers.
bool integersFrom(absl::Span<const ElementType> types, size_t first) {
  return types.size() <= first ||
         std::all_of(types.begin() + static_cast<int64_t>(first), types.end(), isInteger);
}

/// u8 by i8, and perhaps a bias, summed in i32.
bool isQuantizedProduct(absl::Span<const ElementType> inputs, ElementType sum) {
  return inputs.size() >= 2 && inputs[0] == ElementType::kU8 && inputs[1] == ElementType::kI8 &&
         sum == ElementType::kI32 && allAre(inputs.subspan(2), sum);
}

KernelOr makeReference(const Instruction& instruction) {
  const ReferenceEntry* entry = findEntry(instruction.operation);
  if (entry == nullptr) {
    return absl::UnimplementedError(
        absl::StrCat("there is no reference kernel for ", instruction.operation));
  }
  GR_RETURN_IF_ERROR(requireDense(instruction));
  GR_RETURN_IF_ERROR(checkArity(*entry, instruction.inputs.size(), instruction.outputs.size()));
  if (!allowsTypes(entry->types, typesOf(instruction.inputs), typesOf(instruction.outputs))) {
    return invalidInstruction(instruction, "is not defined on these element types");
  }
  return entry->create(instruction);
}

}  // namespace

bool allowsTypes(TypeRule rule, absl::Span<const ElementType> inputs,
                 absl::Span<const ElementType> outputs) {
  auto known = [](ElementType type) { return runtime::elementSize(type) > 0; };
  if (inputs.empty() || outputs.empty() || !std::all_of(inputs.begin(), inputs.end(), known) ||
      !std::all_of(outputs.begin(), outputs.end(), known)) {
    return false;
  }
  ElementType type = outputs[0];
  bool same = allAre(inputs, type) && allAre(outputs, type);
  bool one = same && !runtime::isReduced(type);
  bool compares = allAre(inputs, inputs[0]) && !runtime::isReduced(inputs[0]);
  bool moves = inputs[0] == type && allAre(outputs, type);
  switch (rule) {
    case TypeRule::kFloat:
      return one && runtime::isFloat(type);
    case TypeRule::kProduct:
      return (one && (runtime::isFloat(type) || type == ElementType::kI32)) ||
             isQuantizedProduct(inputs, type);
    case TypeRule::kMatMul:
      return (one && type != ElementType::kBool) || isQuantizedProduct(inputs, type);
    case TypeRule::kNumeric:
      return one && type != ElementType::kBool;
    case TypeRule::kAny:
      return one;
    case TypeRule::kSame:
      return same;
    case TypeRule::kBool:
      return one && type == ElementType::kBool;
    case TypeRule::kBits:
      return one && !runtime::isFloat(type);
    case TypeRule::kInteger:
      return one && isInteger(type);
    case TypeRule::kCompareNumeric:
      return compares && inputs[0] != ElementType::kBool && type == ElementType::kBool;
    case TypeRule::kCompareAny:
      return compares && type == ElementType::kBool;
    case TypeRule::kSelect:
      return inputs[0] == ElementType::kBool && allAre(inputs.subspan(1), type);
    case TypeRule::kConvert:
      return true;
    case TypeRule::kUpdate:
      return !runtime::isReduced(type) && allowsTypes(TypeRule::kPad, inputs, outputs);
    case TypeRule::kAccumulate:
      return !runtime::isReduced(type) && allowsTypes(TypeRule::kMove, inputs, outputs);
    case TypeRule::kMove:
      return moves && integersFrom(inputs, 1);
    case TypeRule::kPad:
      return moves && inputs.size() == 3 && isInteger(inputs[1]) && inputs[2] == type;
    case TypeRule::kShape:
      return type == ElementType::kI64;
    case TypeRule::kFill:
      return inputs.size() == 2 && isInteger(inputs[0]) && inputs[1] == type;
    case TypeRule::kRecurrent:
      return runtime::isFloat(type) && inputs[0] == type && allAre(outputs, type) &&
             std::all_of(inputs.begin(), inputs.end(),
                         [&](ElementType t) { return t == type || isInteger(t); });
    case TypeRule::kResize:
      return moves && !runtime::isReduced(type) &&
             (inputs.size() == 1 || isInteger(inputs[1]) || runtime::isFloat(inputs[1]));
    case TypeRule::kIndices:
      return !runtime::isReduced(inputs[0]) && allAre(outputs, ElementType::kI64);
    case TypeRule::kMoveIndices:
      return inputs[0] == type && !runtime::isReduced(type) &&
             allAre(outputs.subspan(1), ElementType::kI64) && integersFrom(inputs, 1);
    case TypeRule::kRegions:
      return moves && runtime::isFloat(type) && inputs.size() > 1 && inputs[1] == type &&
             integersFrom(inputs, 2);
    case TypeRule::kSamples:
      return outputs.size() == 2 && inputs.size() == 3 && runtime::isFloat(type) &&
             runtime::isFloat(inputs[1]) && inputs[0] == type && inputs[2] == type &&
             outputs[1] == inputs[1];
    case TypeRule::kGenerate:
      return runtime::isFloat(type) && integersFrom(inputs, 0);
  }
  return false;
}

absl::StatusOr<LayoutChoice> chooseReference(const Instruction& instruction) {
  GR_RETURN_IF_ERROR(makeReference(instruction).status());
  LayoutChoice choice;
  for (const Argument& input : instruction.inputs) {
    choice.inputs.push_back(TensorDesc{input.desc.type, input.desc.dims, {}, false});
  }
  for (const Argument& output : instruction.outputs) {
    choice.outputs.push_back(TensorDesc{output.desc.type, output.desc.dims, {}, false});
  }
  choice.sources = choice.inputs;
  choice.implementation = "reference";
  return choice;
}

KernelOr createReference(const Instruction& instruction, KernelContext&) {
  return makeReference(instruction);
}

absl::StatusOr<uint32_t> scratchBuffer(const Instruction& instruction, uint64_t bytes) {
  uint64_t given = instruction.scratch ? instruction.scratch->desc.spec().byteSize() : 0;
  if (!instruction.scratch || given < bytes) {
    return invalidInstruction(instruction,
                              absl::StrCat("needs ", bytes, " bytes of scratch, has ", given));
  }
  return instruction.scratch->buffer;
}

int64_t countOf(absl::Span<const int64_t> dims) {
  int64_t count = 1;
  for (int64_t dim : dims) {
    count *= dim;
  }
  return count;
}

absl::StatusOr<int64_t> normalizeAxis(const Instruction& instruction, int64_t axis, size_t rank) {
  auto r = static_cast<int64_t>(rank);
  if (axis < -r || axis >= r) {
    return invalidInstruction(instruction,
                              absl::StrCat("axis ", axis, " is out of range for rank ", rank));
  }
  return axis < 0 ? axis + r : axis;
}

void mergeDims(Dims& dims, std::vector<Dims>& strides) {
  for (size_t d = dims.size(); d > 0; --d) {
    size_t i = d - 1;
    bool last = d >= dims.size();
    bool runsOn = !last && std::all_of(strides.begin(), strides.end(), [&](const Dims& s) {
      return s[i] == s[i + 1] * dims[i + 1];
    });
    if (dims[i] != 1 && !runsOn) {
      continue;
    }
    if (dims[i] != 1) {
      dims[i] *= dims[i + 1];
      for (Dims& s : strides) {
        s[i] = s[i + 1];
      }
    }
    size_t gone = dims[i] == 1 ? i : i + 1;
    dims.erase(dims.begin() + static_cast<int64_t>(gone));
    for (Dims& s : strides) {
      s.erase(s.begin() + static_cast<int64_t>(gone));
    }
  }
}

absl::StatusOr<Broadcast> Broadcast::make(const Instruction& instruction, const Dims& result,
                                          absl::Span<const Dims> operands) {
  Broadcast b;
  b.outer_ = result;
  for (const Dims& operand : operands) {
    GR_ASSIGN_OR_RETURN(Dims strides, broadcastStrides(instruction, operand, result));
    b.strides_.push_back(std::move(strides));
  }
  bool empty = std::find(result.begin(), result.end(), 0) != result.end();
  if (empty) {
    b.outer_ = {0};
    b.strides_.assign(operands.size(), Dims{1});
  }
  mergeDims(b.outer_, b.strides_);
  for (Dims& strides : b.strides_) {
    b.innerStrides_.push_back(b.outer_.empty() ? 0 : strides.back());
    if (!b.outer_.empty()) {
      strides.pop_back();
    }
  }
  if (!b.outer_.empty()) {
    b.inner_ = b.outer_.back();
    b.outer_.pop_back();
  }
  b.rows_ = countOf(b.outer_);
  return b;
}

absl::Status MessageKernel::errorMessage(int code) const {
  if (code < 1 || static_cast<size_t>(code) > messages_.size()) {
    return Kernel::errorMessage(code);
  }
  return absl::InvalidArgumentError(messages_[static_cast<size_t>(code) - 1]);
}

absl::StatusOr<ReadInt> intReader(const Instruction& instruction, const TensorDesc& desc) {
  if (!isInteger(desc.type)) {
    return invalidInstruction(instruction,
                              "an operand that holds positions is not of an integer type");
  }
  return dispatchElement(desc.type, []<typename T>() -> ReadInt {
    return [](const void* data, int64_t i) {
      return convert<int64_t>(load(static_cast<const T*>(data)[i]));
    };
  });
}

bool supportsOperation(absl::string_view operation, absl::Span<const ElementType> inputs,
                       absl::Span<const ElementType> outputs) {
  const ReferenceEntry* entry = findEntry(operation);
  return entry != nullptr && checkArity(*entry, inputs.size(), outputs.size()).ok() &&
         allowsTypes(entry->types, inputs, outputs);
}

}  // namespace graphrun::devices::cpu
