// Conversion between element types. The reduced ones are converted by tables from, one element
// after the other to.
#include <algorithm>
#include <array>

#include "devices/cpu/reference/reference_support.h"
#include "runtime/base/reduced.h"

namespace graphrun::devices::cpu {
namespace {

using runtime::ReducedConversion;

/// `convertRange(in, out, begin, end)` over the elements of one tensor, here and in other threads.
template <typename Range>
KernelOr makeElementwise(const Instruction& instruction, Range convertRange) {
  if (instruction.inputs[0].desc.dims != instruction.outputs[0].desc.dims) {
    return invalidInstruction(instruction, "operand and result have different shapes");
  }
  int64_t count = countOf(instruction.outputs[0].desc.dims);
  return makeKernel([=, in = instruction.inputs[0].buffer,
                     out = instruction.outputs[0].buffer](void* const* buffers) {
    parallelRanges(count, [&](int64_t begin, int64_t end) {
      convertRange(buffers[in], buffers[out], begin, end);
    });
    return 0;
  });
}

absl::StatusOr<ReducedConversion> conversionOf(const Instruction& instruction) {
  ReducedConversion conversion;
  GR_ASSIGN_OR_RETURN(conversion.saturate, attributeOr(instruction, "saturate", true));
  GR_ASSIGN_OR_RETURN(std::string mode, attributeOr<std::string>(instruction, "round_mode", "up"));
  std::optional<runtime::PowerRounding> rounding = runtime::parsePowerRounding(mode);
  if (!rounding) {
    return invalidInstruction(
        instruction, absl::StrCat("round_mode is \"", mode, "\", expected up, down or nearest"));
  }
  conversion.rounding = *rounding;
  return conversion;
}

/// Each code of a reduced type becomes an entry of this table.
template <typename To>
std::array<To, 256> tableFrom(ElementType from) {
  std::array<To, 256> table;
  for (size_t code = 0; code < table.size(); ++code) {
    double value = runtime::decodeReduced(from, static_cast<uint8_t>(code));
    table[code] = store<To>(convert<Compute<To>>(value));
  }
  return table;
}

std::array<uint8_t, 256> tableBetween(ElementType from, ElementType to,
                                      ReducedConversion conversion) {
  std::array<uint8_t, 256> table;
  for (size_t code = 0; code < table.size(); ++code) {
    double value = runtime::decodeReduced(from, static_cast<uint8_t>(code));
    table[code] = runtime::encodeReduced(to, value, conversion);
  }
  return table;
}

template <typename To>
KernelOr makeTable(const Instruction& instruction, const std::array<To, 256>& table) {
  return makeElementwise(instruction, [=](const void* in, void* out, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      static_cast<To*>(out)[i] = table[static_cast<const uint8_t*>(in)[i]];
    }
  });
}

/// An integer is not taken through a floating-point number: its low bits count.
template <typename From>
uint8_t encode(ElementType to, From x, ReducedConversion conversion) {
  const runtime::ElementTypeInfo& info = runtime::elementTypeInfo(to);
  if constexpr (std::is_integral_v<From>) {
    if (info.kind != runtime::NumberKind::kFloat) {
      return static_cast<uint8_t>(static_cast<uint64_t>(x) & ((1U << info.bits) - 1));
    }
  }
  return runtime::encodeReduced(to, static_cast<double>(x), conversion);
}

KernelOr createToReduced(const Instruction& instruction, ReducedConversion conversion) {
  ElementType to = instruction.outputs[0].desc.type;
  return dispatchElement(instruction.inputs[0].desc.type, [&]<typename From>() {
    return makeElementwise(instruction, [=](const void* in, void* out, int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        static_cast<uint8_t*>(out)[i] =
            encode(to, load(static_cast<const From*>(in)[i]), conversion);
      }
    });
  });
}

template <typename From, typename To>
void castRange(const void* in, void* out, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i) {
    static_cast<To*>(out)[i] =
        store<To>(convert<Compute<To>>(load(static_cast<const From*>(in)[i])));
  }
}

KernelOr createCast(const Instruction& instruction) {
  ElementType from = instruction.inputs[0].desc.type;
  ElementType to = instruction.outputs[0].desc.type;
  GR_ASSIGN_OR_RETURN(ReducedConversion conversion, conversionOf(instruction));
  if (runtime::isReduced(to)) {
    return runtime::isReduced(from) ? makeTable(instruction, tableBetween(from, to, conversion))
                                    : createToReduced(instruction, conversion);
  }
  if (runtime::isReduced(from)) {
    return dispatchElement(
        to, [&]<typename To>() { return makeTable(instruction, tableFrom<To>(from)); });
  }
  using Range = void (*)(const void*, void*, int64_t, int64_t);
  Range range = dispatchElement(from, [&]<typename From>() -> Range {
    return dispatchElement(to, []<typename To>() -> Range { return castRange<From, To>; });
  });
  return makeElementwise(instruction, range);
}

KernelOr createBitcast(const Instruction& instruction) {
  const runtime::ElementTypeInfo& from = runtime::elementTypeInfo(instruction.inputs[0].desc.type);
  const runtime::ElementTypeInfo& to = runtime::elementTypeInfo(instruction.outputs[0].desc.type);
  if (from.bits != to.bits) {
    return invalidInstruction(instruction, "the element types are of different widths");
  }
  bool toBool = to.kind == runtime::NumberKind::kBool;
  return makeElementwise(
      instruction, [=, size = from.size](const void* in, void* out, int64_t begin, int64_t end) {
        const uint8_t* x = static_cast<const uint8_t*>(in) + begin * size;
        uint8_t* y = static_cast<uint8_t*>(out) + begin * size;
        int64_t bytes = (end - begin) * size;
        std::transform(x, x + bytes, y, [=](uint8_t byte) {
          return toBool ? static_cast<uint8_t>(byte != 0) : byte;
        });
      });
}

constexpr ReferenceEntry kEntries[] = {
    {"gr.cast", TypeRule::kConvert, createCast},
    {"gr.bitcast", TypeRule::kConvert, createBitcast},
};

}  // namespace

absl::Span<const ReferenceEntry> referenceConvert() { return kEntries; }

}  // namespace graphrun::devices::cpu
