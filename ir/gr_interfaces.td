// Every gr operation implements these interfaces.
#ifndef GRAPHRUN_IR_GR_INTERFACES_TD
#define GRAPHRUN_IR_GR_INTERFACES_TD

include "mlir/IR/OpBase.td"

def GrOpInterface : OpInterface<"GrOpInterface"> {
  let cppNamespace = "::graphrun::ir";
  let description = [{
    Shape inference, cost and gradient rule of an operation. `inferTypes` is verifier and shape
    function in one: it reports misuse on the operation and derives the result types otherwise.
  }];
  let methods = [
    InterfaceMethod<[{
      Appends the result types that follow from operands and attributes. Reports an error on the
      operation and fails when they do not fit each other.
    }], "::mlir::LogicalResult", "inferTypes",
      (ins "::llvm::SmallVectorImpl<::mlir::Type> &":$types)>,
    InterfaceMethod<[{
      The operands on whose elements, not types alone, the result types depend; null ones are
      optional operands that are left out. While one of them is no constant a result type may stay
      unknown.
    }], "::llvm::SmallVector<::mlir::Value>", "shapeOperands", (ins), "", [{ return {}; }]>,
    InterfaceMethod<[{
      Work of one execution; all zero unless every shape is static.
    }], "::graphrun::ir::OpCost", "cost", (ins)>,
    StaticInterfaceMethod<[{
      Calls `visit` with the name of each attribute that is a word, or words, and those that it may
      be.
    }], "void", "visitWords", (ins "::graphrun::ir::WordVisitor":$visit), [{
      ConcreteOp::visitWords(visit);
    }]>,
    InterfaceMethod<[{
      Empty when the operation has a gradient rule, else why it has none. `kPiecewiseConstant` says
      that its gradient is zero; with any other reason what it is, is not known.
    }], "::llvm::StringRef", "noGradientReason", (ins), [{
      return ConcreteOp::noGradientReason();
    }]>,
    InterfaceMethod<[{
      The gradient rule: makes the gradients of the operands of those of the results, as
      `ir/gradients/builder.h` says. All shapes are static. Fails, having said why
      (GradientBuilder::refuse), where an operand has none. Only of an operation without a
      noGradientReason.
    }], "::mlir::LogicalResult", "buildGradient",
      (ins "::graphrun::ir::GradientBuilder &":$gradients), "", [{ return ::mlir::failure(); }]>,
  ];
  let verify = [{ return ::graphrun::ir::verifyTypes($_op); }];
}

#endif  // GRAPHRUN_IR_GR_INTERFACES_TD
