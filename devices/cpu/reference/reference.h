// There is a reference kernel for every gr operation and element type, on dense row-major tensors.
#ifndef GRAPHRUN_DEVICES_CPU_REFERENCE_REFERENCE_H_
#define GRAPHRUN_DEVICES_CPU_REFERENCE_REFERENCE_H_

#include "devices/cpu/base/kernel.h"

namespace graphrun::devices::cpu {

absl::StatusOr<LayoutChoice> chooseReference(const Instruction& instruction);
absl::StatusOr<std::unique_ptr<Kernel>> createReference(const Instruction& instruction,
                                                        KernelContext& context);

/// A TypeRule says which element types an operation takes: of those that are computed in, but where
/// elements are only moved or converted (kSame, kSelect, kConvert, kMove, kPad, kShape, kFill) of
/// all.
enum class TypeRule {
  kFloat,           ///< all of one floating-point type
  kProduct,         ///< as kFloat, or all i32, or as kMatMul with u8 by i8
  kNumeric,         ///< all of one type, not bool
  kAny,             ///< all of one type that is computed in
  kSame,            ///< all of one type
  kMatMul,          ///< all of one type, not bool; or u8 by i8, summed (with a bias) in i32
  kBool,            ///< all bool
  kBits,            ///< all bool, or all of one integer type
  kInteger,         ///< all of one integer type, not bool
  kCompareNumeric,  ///< operands of one type, not bool; the result is bool
  kCompareAny,      ///< operands of one type; the result is bool
  kSelect,          ///< the first operand is bool, the rest of one type
  kConvert,         ///< any
  kMove,            ///< first operand and results of one type, the other operands are integers
  kPad,             ///< as kMove, but the third operand is an element
  kUpdate,          ///< as kPad, of a type that is computed in
  kAccumulate,      ///< as kMove, of a type that is computed in
  kShape,           ///< the result is i64
  kFill,            ///< integers, and an element of the result's type
  kResize,          ///< as kMove, but the second operand may be floating point
  kRecurrent,       ///< all floating-point ones of one type; others are integers
  kIndices,         ///< any operands; the results are i64
  kMoveIndices,     ///< as kMove for the first result, the others are i64
  kRegions,         ///< the first two operands of one floating-point type, a third one an integer
  kSamples,         ///< floating-point: the second operand and result of one type, others of one
  kGenerate         ///< integers; the result is floating point
};

/// True when `rule` allows these types.
bool allowsTypes(TypeRule rule, absl::Span<const runtime::ElementType> inputs,
                 absl::Span<const runtime::ElementType> outputs);

/// True when the reference kernels compute `operation` on these types: the answer for placement.
bool supportsOperation(absl::string_view operation, absl::Span<const runtime::ElementType> inputs,
                       absl::Span<const runtime::ElementType> outputs);

/// Makes the kernel of one operation; checks shapes and attributes. Arity and types are checked
/// before: there is a first operand and a first result, and their types are as the rule says.
using ReferenceFactory =
    absl::StatusOr<std::unique_ptr<Kernel>> (*)(const Instruction& instruction);

struct ReferenceEntry {
  absl::string_view operation;
  TypeRule types;
  ReferenceFactory create;
  size_t inputs = 1;     ///< least number of operands
  size_t maxInputs = 0;  ///< most; 0: as the least
  size_t outputs = 1;    ///< 0: any number from one
};

/// The operations of each family.
absl::Span<const ReferenceEntry> referenceConvert();
absl::Span<const ReferenceEntry> referenceElementwise();
absl::Span<const ReferenceEntry> referenceMath();
absl::Span<const ReferenceEntry> referenceNn();
absl::Span<const ReferenceEntry> referenceNorm();
absl::Span<const ReferenceEntry> referenceAttention();
absl::Span<const ReferenceEntry> referenceTensor();
absl::Span<const ReferenceEntry> referenceSlice();
absl::Span<const ReferenceEntry> referenceVision();
absl::Span<const ReferenceEntry> referenceRegions();
absl::Span<const ReferenceEntry> referenceBlocks();
absl::Span<const ReferenceEntry> referenceIndex();
absl::Span<const ReferenceEntry> referencePositions();
absl::Span<const ReferenceEntry> referenceOrder();
absl::Span<const ReferenceEntry> referenceBoxes();
absl::Span<const ReferenceEntry> referenceRandom();
absl::Span<const ReferenceEntry> referenceLookup();
absl::Span<const ReferenceEntry> referenceTrees();
absl::Span<const ReferenceEntry> referenceRecurrent();
absl::Span<const ReferenceEntry> referenceRecurrentBackward();
absl::Span<const ReferenceEntry> referenceSignal();
absl::Span<const ReferenceEntry> referenceBackward();
absl::Span<const ReferenceEntry> referenceGridBackward();

}  // namespace graphrun::devices::cpu

#endif  // GRAPHRUN_DEVICES_CPU_REFERENCE_REFERENCE_H_
