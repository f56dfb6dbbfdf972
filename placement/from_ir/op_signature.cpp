#include "placement/from_ir/op_signature.h"

#include <algorithm>
#include <string>

#include "ir/dialect.h"
#include "ir/dims.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/raw_ostream.h"
#include "passes/pins.h"
#include "passes/rematerialize.h"
#include "passes/weights.h"
#include "runtime/format/checksum.h"

namespace graphrun::placement {
namespace {

/// These attributes say where and when an operation runs, not what it computes.
constexpr llvm::StringLiteral kPlacement[] = {ir::kDeviceAttr, ir::kRankAttr, passes::kAgainAttr,
                                              passes::kPinAttr};

/// Elements of constants that decide what an operation does are few.
constexpr size_t kMostElements = 16;

/// Writes operations as text, values by their number.
class Writer {
 public:
  std::string write(mlir::Operation* op) {
    writeOp(op);
    return std::move(text_);
  }

 private:
  void writeOp(mlir::Operation* op) {
    out_ << op->getName().getStringRef() << '(';
    for (mlir::Value operand : op->getOperands()) {
      writeOperand(operand);
    }
    out_ << ')';
    for (mlir::NamedAttribute attribute : op->getAttrs()) {
      if (!llvm::is_contained(kPlacement, attribute.getName())) {
        writeAttribute(attribute);
      }
    }
    for (mlir::Value result : op->getResults()) {
      out_ << "->" << result.getType();
      numbers_.try_emplace(result, numbers_.size());
    }
    for (mlir::Region& region : op->getRegions()) {
      writeRegion(region);
    }
    out_ << ';';
  }

  void writeOperand(mlir::Value operand) {
    if (auto known = numbers_.find(operand); known != numbers_.end()) {
      out_ << '%' << known->second << ',';
      return;
    }
    numbers_.try_emplace(operand, numbers_.size());
    out_ << operand.getType() << (passes::weightOf(operand) ? " constant" : "");
    auto elements = ir::constantInts(operand);
    for (size_t i = 0; elements && elements->size() <= kMostElements && i < elements->size(); ++i) {
      out_ << ' ' << (*elements)[i];
    }
    out_ << ',';
  }

  /// Writes of a constant its type alone: the elements change no time.
  void writeAttribute(mlir::NamedAttribute attribute) {
    out_ << '{' << attribute.getName().getValue() << '=';
    if (auto elements = llvm::dyn_cast<mlir::ElementsAttr>(attribute.getValue())) {
      out_ << elements.getType();
    } else {
      out_ << attribute.getValue();
    }
    out_ << '}';
  }

  void writeRegion(mlir::Region& region) {
    out_ << '[';
    for (mlir::Block& block : region) {
      for (mlir::BlockArgument argument : block.getArguments()) {
        numbers_.try_emplace(argument, numbers_.size());
      }
      for (mlir::Operation& inner : block) {
        writeOp(&inner);
      }
    }
    out_ << ']';
  }

  std::string text_;
  llvm::raw_string_ostream out_{text_};
  llvm::DenseMap<mlir::Value, size_t> numbers_;
};

uint64_t hashOf(const std::string& text) {
  uint64_t hash = format::checksumOf({reinterpret_cast<const uint8_t*>(text.data()), text.size()});
  return std::max<uint64_t>(hash, 1);
}

/// The operation that a group is about, by which it is much like that operation alone; else `op`.
mlir::Operation* mainOf(mlir::Operation* op) {
  if (auto group = llvm::dyn_cast<ir::GroupOp>(op)) {
    for (mlir::Operation& inner : group.getBody().front()) {
      if (llvm::isa<ir::ConvOp, ir::MatMulOp>(inner)) {
        return &inner;
      }
    }
  }
  return op;
}

/// Returns whether a value that `op` has, or that a group hands to the operation in it, is a
/// constant.
bool isWeightOf(mlir::Value value, mlir::Operation* op) {
  auto argument = llvm::dyn_cast<mlir::BlockArgument>(value);
  bool isInside = argument && argument.getOwner()->getParentOp() == op;
  return !!passes::weightOf(isInside ? op->getOperand(argument.getArgNumber()) : value);
}

/// Convolutions of these kinds are computed in ways of their own, and their filters' gradients.
template <typename Op>
llvm::StringRef kindOf(Op conv, mlir::Value ofFilter) {
  auto filter = llvm::cast<mlir::ShapedType>(ofFilter.getType()).getShape();
  llvm::ArrayRef<int64_t> window = filter.drop_front(2);
  auto isOne = [](int64_t value) { return value == 1; };
  if (conv.getGroups() > 1) {
    return filter[1] == 1 ? "depthwise" : "grouped";
  }
  if (llvm::all_of(window, isOne)) {
    return "point";
  }
  bool isDense = llvm::all_of(conv.getStrides(), isOne) && llvm::all_of(conv.getDilations(), isOne);
  bool isThree = window.size() == 2 && window[0] == 3 && window[1] == 3;
  return isDense && isThree ? "3x3" : "window";  // Winograd's algorithm is for the former
}

}  // namespace

uint64_t opFamily(mlir::Operation* op) {
  mlir::Operation* main = mainOf(op);
  std::string text = main->getName().getStringRef().str();
  llvm::raw_string_ostream out(text);
  if (auto group = llvm::dyn_cast<ir::GroupOp>(main)) {
    out << ' ' << ir::stringifyGroupKind(group.getKind());
  } else if (auto conv = llvm::dyn_cast<ir::ConvOp>(main)) {
    out << ' ' << kindOf(conv, conv.getFilter());
  } else if (auto backward = llvm::dyn_cast<ir::ConvBackwardFilterOp>(main)) {
    out << ' ' << kindOf(backward, backward.getResult());
  } else if (auto matmul = llvm::dyn_cast<ir::MatMulOp>(main)) {
    out << (isWeightOf(matmul.getRhs(), op) ? " constant" : "");
  }
  if (op->getNumResults() > 0) {
    out << ' ' << llvm::cast<mlir::TensorType>(op->getResult(0).getType()).getElementType();
  }
  return hashOf(text);
}

uint64_t opSignature(mlir::Operation* op) { return hashOf(Writer().write(op)); }

OpClass classOf(mlir::Operation* op) {
  if (auto group = llvm::dyn_cast<ir::GroupOp>(op)) {
    switch (group.getKind()) {
      case ir::GroupKind::kConv:
        return OpClass::kConvolution;
      case ir::GroupKind::kMatmul:
      case ir::GroupKind::kAttention:
        return OpClass::kMatmul;
      case ir::GroupKind::kMap:
      case ir::GroupKind::kRow:
        return OpClass::kElementwise;
    }
  }
  if (op->hasTrait<ir::IsElementwise>()) {
    return OpClass::kElementwise;
  }
  if (ir::isView(op)) {
    return OpClass::kDataMovement;
  }
  return llvm::TypeSwitch<mlir::Operation*, OpClass>(op)
      .Case<ir::ConvOp, ir::ConvTransposeOp, ir::DeformConvOp, ir::ConvBackwardFilterOp>(
          [](auto) { return OpClass::kConvolution; })
      .Case<ir::MatMulOp, ir::AttentionOp>([](auto) { return OpClass::kMatmul; })
      .Case<ir::BatchNormOp, ir::InstanceNormOp, ir::LayerNormOp, ir::LrnOp, ir::SoftmaxOp,
            ir::BatchNormTrainingOp, ir::BatchNormBackwardOp, ir::LayerNormBackwardOp,
            ir::SoftmaxBackwardOp>([](auto) { return OpClass::kNormalization; })
      .Case<ir::ReduceOp, ir::MaxPoolOp, ir::AvgPoolOp, ir::LpPoolOp, ir::MaxPoolWithIndicesOp,
            ir::MaxPoolBackwardOp, ir::AvgPoolBackwardOp>([](auto) { return OpClass::kReduction; })
      .Case<ir::TransposeOp, ir::ConcatOp, ir::SplitOp, ir::SliceOp, ir::PadOp, ir::GatherOp,
            ir::ExpandOp, ir::TileOp>([](auto) { return OpClass::kDataMovement; })
      .Default([](mlir::Operation*) { return OpClass::kOther; });
}

}  // namespace graphrun::placement
