#include "devices/compiler/post_ops.h"

#include "devices/compiler/attributes.h"
#include "ir/scalar.h"
#include "llvm/ADT/TypeSwitch.h"
#include "mlir/IR/TypeUtilities.h"
#include "passes/quantized_forms.h"
#include "passes/weights.h"

namespace graphrun::devices {
namespace {

/// Appends the post-op for an element-wise operation of one operand; false when there is none.
bool appendEltwise(Instruction& instruction, mlir::Operation* op) {
  PostOp post;
  post.algorithm = op->getName().getStringRef().str();
  auto take = [&](ir::Parameter first, ir::Parameter second = {nullptr, 0}) {
    post.alpha = static_cast<float>(ir::parameterOf(op, first));
    post.beta =
        second.name == nullptr ? post.beta : static_cast<float>(ir::parameterOf(op, second));
  };
#define GR_FORM(Class, name, builder, flops, onnx, since, form, ...) \
  __VA_OPT__(.Case([&](ir::Class##Op) { take(__VA_ARGS__); }))
  llvm::TypeSwitch<mlir::Operation*>(op)
#include "devices/functions/elementwise.def"
      .Case([&](ir::LeakyReluOp) { take({"alpha", 0.01}); })
      .Case([&](ir::ClipOp) { take({"low", 0}, {"high", 0}); })
      .Case([&](ir::GeluOp a) {
        post.algorithm = a.getApproximate() ? "gelu_tanh" : post.algorithm;
      });
  instruction.postOps.push_back(std::move(post));
  return op->getNumOperands() == 1;
}

std::optional<PostOpKind> binaryKind(mlir::Operation* op) {
  using Result = std::optional<PostOpKind>;
#define GR_ARITHMETIC(Class, name, builder, flops, onnx, since, neutral) \
  .Case([](ir::Class##Op) { return PostOpKind::kBinary##Class; })
  return llvm::TypeSwitch<mlir::Operation*, Result>(op)
#include "devices/functions/elementwise.def"
      .Default([](mlir::Operation*) { return std::nullopt; });
}

/// The desc of `value` with leading dims of 1 up to `rank`.
TensorDesc extendRank(TensorDesc desc, size_t rank) {
  if (desc.dims.size() < rank) {
    desc.layout.clear();
    desc.dims.insert(desc.dims.begin(), rank - desc.dims.size(), 1);
  }
  return desc;
}

absl::Status noPostOp() {
  return absl::UnimplementedError("an operation of the group is no post-operation");
}

/// The operand that a binary operation takes beside `current`.
absl::StatusOr<mlir::Value> otherOperand(mlir::Operation* op, mlir::Value current) {
  bool onLeft = op->getOperand(0) == current;
  mlir::Value other = op->getOperand(onLeft ? 1 : 0);
  bool swapped = !onLeft && !op->hasTrait<mlir::OpTrait::IsCommutative>();
  if (swapped || other == current) {
    return noPostOp();
  }
  return other;
}

/// x -> alpha * x + beta.
struct Linear {
  double alpha = 1;
  double beta = 0;
};

std::optional<double> numberOf(mlir::Value value) {
  ir::ConstantOp constant = passes::weightOf(value);
  return constant ? passes::numberOf(constant.getValue()) : std::nullopt;
}

/// Returns `op` as a linear function of `current`; nothing where it is none.
std::optional<Linear> linearOf(mlir::Operation* op, mlir::Value current) {
  bool onLeft = op->getNumOperands() == 2 && op->getOperand(0) == current;
  std::optional<double> number =
      op->getNumOperands() == 2 ? numberOf(op->getOperand(onLeft ? 1 : 0)) : std::nullopt;
  using Result = std::optional<Linear>;
  if (!number) {
    return std::nullopt;
  }
  return llvm::TypeSwitch<mlir::Operation*, Result>(op)
      .Case([&](ir::AddOp) { return Linear{1, *number}; })
      .Case([&](ir::MulOp) { return Linear{*number, 0}; })
      .Case([&](ir::SubOp) { return onLeft ? Result(Linear{1, -*number}) : std::nullopt; })
      .Case([&](ir::DivOp) { return onLeft ? Result(Linear{1 / *number, 0}) : std::nullopt; })
      .Default([](mlir::Operation*) { return std::nullopt; });
}

/// A clip to the range of the bytes that the next operation gives.
bool saturates(llvm::ArrayRef<mlir::Operation*> epilogue) {
  if (epilogue.size() != 2) {
    return false;
  }
  auto clip = llvm::dyn_cast<ir::ClipOp>(epilogue[0]);
  auto cast = llvm::dyn_cast<ir::CastOp>(epilogue[1]);
  return clip && cast && passes::isByte(cast.getTo()) && passes::clipsToBytes(clip, cast.getTo());
}

/// Walks what follows sums of bytes. One use.
class SumsEpilogue {
 public:
  SumsEpilogue(LibraryInstruction& library, mlir::Value anchor)
      : library_(library), current_(anchor) {
    const std::vector<int64_t> dims = denseDesc(anchor).dims;
    rank_ = dims.size();
    channels_ = library.instruction.operation == "gr.conv" ? dims[1] : dims.back();
  }

  absl::Status add(llvm::ArrayRef<mlir::Operation*> epilogue) {
    for (; !epilogue.empty(); epilogue = epilogue.drop_front()) {
      if (!llvm::is_contained(epilogue[0]->getOperands(), current_)) {
        continue;  // dequantises what is added further on
      }
      GR_RETURN_IF_ERROR(addOne(epilogue));
      current_ = epilogue[0]->getResult(0);
    }
    if (mlir::getElementTypeOrSelf(current_.getType()).isInteger(32)) {
      return noPostOp();
    }
    flush();
    library_.instruction.attributes["scales"] = scales_;
    return absl::OkStatus();
  }

 private:
  absl::Status addOne(llvm::ArrayRef<mlir::Operation*> epilogue) {
    mlir::Operation* op = epilogue[0];
    bool rounds = llvm::isa<ir::RoundOp>(op) && isQuantization(epilogue.drop_front());
    if (llvm::isa<ir::CastOp>(op) || rounds || saturates(epilogue)) {
      return absl::OkStatus();  // what the library does in any case
    }
    if (std::optional<Linear> linear = linearOf(op, current_)) {
      linear_ = {linear_.alpha * linear->alpha, linear_.beta * linear->alpha + linear->beta};
      return absl::OkStatus();
    }
    if (op->getNumOperands() == 2) {
      return addBinary(op);
    }
    if (auto clip = llvm::dyn_cast<ir::ClipOp>(op); clip && linear_.alpha == 1) {
      addClip(clip);
      return absl::OkStatus();
    }
    if (llvm::isa<ir::ReluOp>(op) && quantisesFromZero(epilogue)) {
      return absl::OkStatus();
    }
    flush();
    library_.postOperands.push_back(nullptr);
    return appendEltwise(library_.instruction, op) ? absl::OkStatus() : noPostOp();
  }

  /// Returns whether `rest` may follow the rounding of a quantisation: offsets, then bytes.
  bool isQuantization(llvm::ArrayRef<mlir::Operation*> rest) const {
    while (rest.size() > 2 && linearOf(rest[0], rest[0]->getOperand(0))) {
      rest = rest.drop_front();
    }
    return saturates(rest);
  }

  /// Bytes of u8 with the zero point 0 hold nothing below: they are their own relu.
  static bool quantisesFromZero(llvm::ArrayRef<mlir::Operation*> epilogue) {
    auto cast = llvm::dyn_cast<ir::CastOp>(epilogue.back());
    std::optional<passes::Quantized> bytes = cast ? passes::quantizedOf(cast) : std::nullopt;
    return bytes && cast.getTo().isUnsignedInteger() && bytes->zero == 0 &&
           bytes->input == epilogue[0]->getResult(0);
  }

  /// Before the shift that is still to be done, by bounds that are shifted the other way.
  void addClip(ir::ClipOp clip) {
    PostOp post;
    post.algorithm = "gr.clip";
    post.alpha = static_cast<float>(clip.getLow().convertToDouble() - linear_.beta);
    post.beta = static_cast<float>(clip.getHigh().convertToDouble() - linear_.beta);
    library_.instruction.postOps.push_back(std::move(post));
    library_.postOperands.push_back(nullptr);
  }

  absl::Status addBinary(mlir::Operation* op) {
    std::optional<PostOpKind> kind = binaryKind(op);
    if (!kind) {
      return noPostOp();
    }
    GR_ASSIGN_OR_RETURN(mlir::Value other, otherOperand(op, current_));
    bool isFirst = library_.instruction.postOps.empty() && linear_.alpha == 1 && linear_.beta == 0;
    if (isFirst && addBias(*kind, other)) {
      return absl::OkStatus();
    }
    if (isFirst && addScales(*kind, other)) {
      return absl::OkStatus();
    }
    if (other.getDefiningOp() != nullptr && !isConstant(other)) {
      return addBytes(*kind, other);
    }
    pushBinary(*kind, other);
    return absl::OkStatus();
  }

  /// Adds bytes that become floats, in units of theirs; nothing else that is made in the group is
  /// added.
  absl::Status addBytes(PostOpKind kind, mlir::Value other) {
    std::optional<passes::Dequantized> bytes = passes::dequantizedOf(other);
    if (kind != PostOpKind::kBinaryAdd || !bytes || !bytes->isUniform()) {
      return noPostOp();
    }
    double unit = bytes->scales[0];
    double shift = linear_.beta - unit * bytes->zero;  // can as well be added afterwards
    linear_ = {linear_.alpha / unit, 0};
    pushBinary(kind, bytes->integers);
    linear_ = {unit, shift};
    return absl::OkStatus();
  }

  void pushBinary(PostOpKind kind, mlir::Value other) {
    flush();
    PostOp post;
    post.kind = kind;
    post.operand = Argument{0, extendRank(denseDesc(other), rank_)};
    library_.instruction.postOps.push_back(std::move(post));
    library_.postOperands.push_back(other);
  }

  bool isOfChannels(mlir::Value value) const {
    return denseDesc(value).spec().elementCount() == channels_;
  }

  /// Constant integers of the channels, added to nothing but the sums.
  bool addBias(PostOpKind kind, mlir::Value other) {
    bool fits = kind == PostOpKind::kBinaryAdd && isConstant(other) && isOfChannels(other) &&
                denseDesc(other).type == runtime::ElementType::kI32 &&
                library_.instruction.inputs.size() == 2 && scales_.size() == 1 && scales_[0] == 1;
    if (fits) {
      library_.operands.push_back(other);
      library_.instruction.inputs.push_back({0, {runtime::ElementType::kI32, {channels_}}});
    }
    return fits;
  }

  bool addScales(PostOpKind kind, mlir::Value other) {
    ir::ConstantOp constant = passes::weightOf(other);
    auto floats = constant ? passes::floatsOf(constant.getValue()) : std::nullopt;
    if (kind != PostOpKind::kBinaryMul || !floats || !isOfChannels(other)) {
      return false;
    }
    double common = scales_[0];
    bool isCommon = scales_.size() == 1;
    scales_.resize(floats->size(), common);
    for (auto [scale, factor] : llvm::zip(scales_, *floats)) {
      scale = (isCommon ? common : scale) * factor;
    }
    return true;
  }

  /// Writes the linear function that is still to be done: where it is first, into the scales.
  void flush() {
    if (library_.instruction.postOps.empty()) {
      llvm::for_each(scales_, [&](double& scale) { scale *= linear_.alpha; });
      linear_.alpha = 1;
    }
    if (linear_.alpha != 1 || linear_.beta != 0) {
      PostOp post;
      post.algorithm = "linear";
      post.alpha = static_cast<float>(linear_.alpha);
      post.beta = static_cast<float>(linear_.beta);
      library_.instruction.postOps.push_back(std::move(post));
      library_.postOperands.push_back(nullptr);
    }
    linear_ = {};
  }

  LibraryInstruction& library_;
  mlir::Value current_;
  size_t rank_ = 0;
  int64_t channels_ = 0;
  std::vector<double> scales_ = {1};
  Linear linear_;
};

}  // namespace

absl::Status addPostOps(LibraryInstruction& library, llvm::ArrayRef<mlir::Operation*> epilogue,
                        mlir::Value anchor) {
  mlir::Value current = anchor;
  TensorDesc result = denseDesc(anchor);
  for (mlir::Operation* op : epilogue) {
    mlir::Value other;
    if (op->getNumOperands() == 2) {
      std::optional<PostOpKind> kind = binaryKind(op);
      if (!kind) {
        return noPostOp();
      }
      GR_ASSIGN_OR_RETURN(other, otherOperand(op, current));
      PostOp post;
      post.kind = *kind;
      post.operand = Argument{0, extendRank(denseDesc(other), result.dims.size())};
      library.instruction.postOps.push_back(std::move(post));
    } else if (op->getNumOperands() != 1 || !appendEltwise(library.instruction, op)) {
      return noPostOp();
    }
    library.postOperands.push_back(other);
    current = op->getResult(0);
  }
  return absl::OkStatus();
}

absl::Status addPostOpsOfSums(LibraryInstruction& library,
                              llvm::ArrayRef<mlir::Operation*> epilogue, mlir::Value anchor) {
  return SumsEpilogue(library, anchor).add(epilogue);
}

}  // namespace graphrun::devices
