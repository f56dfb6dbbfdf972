// The gr dialect is the typed graph that every part of GraphRun speaks.
#ifndef GRAPHRUN_IR_GR_DIALECT_TD
#define GRAPHRUN_IR_GR_DIALECT_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinAttributes.td"
include "mlir/IR/TensorEncoding.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "ir/gr_interfaces.td"
include "ir/gr_words.td"

def GR_Dialect : Dialect {
  let name = "gr";
  let summary = "A model as a graph of tensor operations, independent of any device";
  let description = [{
    Values are builtin tensors. Unknown dims may carry an affine expression over the graph's named
    symbols (`#gr.dims`). Operations are few and orthogonal; each one gives its result types, its
    cost and its gradient through `GrOpInterface`.
  }];
  let cppNamespace = "::graphrun::ir";
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
  let hasConstantMaterializer = 1;
}

class GR_Attr<string name, string attrMnemonic, list<Trait> traits = []> :
    AttrDef<GR_Dialect, name, traits> {
  let mnemonic = attrMnemonic;
}

def GR_DimsAttr : GR_Attr<"Dims", "dims",
                          [DeclareAttrInterfaceMethods<VerifiableTensorEncoding>]> {
  let summary = "The symbolic dims of a tensor type, as its encoding";
  let description = [{
    One result a dim, over the symbols of the enclosing function (`gr.symbols`). A static dim is a
    constant; `d0` stands for a dim about which nothing is known.

        tensor<?x3x?xf32, #gr.dims<(d0)[s0, s1] -> (s0, 3, s1 floordiv 2)>>
  }];
  let parameters = (ins "::mlir::AffineMap":$map);
  let assemblyFormat = "`<` $map `>`";
}

def GR_DeviceAttr : GR_Attr<"Device", "device"> {
  let summary = "The device that an operation runs on";
  let description = [{ A device's name in the cluster: `#gr.device<"node0/cuda:1">`. }];
  let parameters = (ins StringRefParameter<"name in the cluster">:$name);
  let assemblyFormat = "`<` $name `>`";
}

// Element types of ONNX that MLIR 19 lacks. They are stored, moved and converted, never computed in.
// They are types of their own because MLIR's other small floats have other values, and because no
// dense attribute holds them: their constants are resources, which no folder looks into.
class GR_ElementType<string name, string typeMnemonic, string what> :
    TypeDef<GR_Dialect, name> {
  let mnemonic = typeMnemonic;
  let summary = what;
}
def GR_F8E8M0Type : GR_ElementType<"F8E8M0", "f8e8m0", "a power of two from 2^-127 to 2^127, or NaN">;
def GR_F4E2M1Type : GR_ElementType<"F4E2M1", "f4e2m1", "a sign, 2 bits of exponent and 1 of mantissa">;
def GR_F6E2M3Type : GR_ElementType<"F6E2M3", "f6e2m3", "a sign, 2 bits of exponent and 3 of mantissa">;
def GR_F6E3M2Type : GR_ElementType<"F6E3M2", "f6e3m2", "a sign, 3 bits of exponent and 2 of mantissa">;

class GR_Type<string name, string typeMnemonic> : TypeDef<GR_Dialect, name> {
  let mnemonic = typeMnemonic;
}

def GR_SequenceType : GR_Type<"Sequence", "sequence"> {
  let summary = "the element type of a list of tensors (ONNX's sequence)";
  let description = [{
    Lists are known while planning and gone in a plan: their values are `tensor<*x!gr.sequence>`,
    made by `gr.sequence`, and whatever takes one is resolved by planning.
  }];
}

def GR_OptionalType : GR_Type<"Optional", "optional"> {
  let summary = "the element type of a list of at most one tensor or list (ONNX's optional)";
}

def GR_StringType : TypeDef<GR_Dialect, "String"> {
  let mnemonic = "string";
  let summary = "the element type of tensors of strings";
  let description = [{
    UTF-8 text. Constants are dense strings. Devices know strings by their numbers in a table (i64):
    planning makes all tensors of strings such, so operations can move and compare them.
  }];
}

// Operations that only move or compare elements take strings too; all others refuse them.
def GR_TakesStrings : NativeOpTrait<"TakesStrings"> {
  let cppNamespace = "::graphrun::ir";
}

// `call` is what visitWords does for an argument; it is empty for one that is no word.
class GR_Visit<string name, list<string> quoted> {
  string call = !if(!empty(quoted), "",
      "visit(\"" # name # "\", {" #
          !interleave(quoted, ", ") # "});\n");
}

// Base of every operation: pure, typed by GrOpInterface, printed alike.
class GR_Op<string mnemonic, list<Trait> props = []> : Op<GR_Dialect, mnemonic, props> {
  // Why the operation has no gradient; "" when it has one: a rule, buildGradient, which the linker
  // then asks for.
  string noGradient = "";
  let traits = props # [!if(!empty(noGradient),
      DeclareOpInterfaceMethods<GrOpInterface, ["buildGradient"]>,
      DeclareOpInterfaceMethods<GrOpInterface>)];
  // Operands on whose elements the result types depend: "getStarts(), getEnds()".
  string shapedBy = "";
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
  // This is visit("kind", {"sum", "mean"}); and so on.
  code wordVisits = !foldl("", !range(!size(arguments)), made, i,
      made # GR_Visit<!getdagname(arguments, i),
          !cond(!isa<GR_Words>(!getdagarg<Constraint>(arguments, i)):
                    !foreach(word, !getdagarg<GR_Words>(arguments, i).words, "\"" # word # "\""),
                !isa<GR_WordAttr>(!getdagarg<Constraint>(arguments, i)):
                    !foreach(word, !getdagarg<GR_WordAttr>(arguments, i).words, "\"" # word # "\""),
                true: []<string>)>.call);
  code gradientSlot = [{
    /// Empty when the operation has a gradient rule, else why it has no gradient.
    static ::llvm::StringRef noGradientReason() { return "}] # noGradient # [{"; }
    ::llvm::SmallVector<::mlir::Value> shapeOperands() { return {}] # shapedBy # [{}; }
    static void visitWords([[maybe_unused]] ::graphrun::ir::WordVisitor visit) {
      }] # wordVisits # [{
    }
  }];
  let extraClassDeclaration = gradientSlot;
}

class GR_PureOp<string mnemonic, list<Trait> traits = []> : GR_Op<mnemonic, [Pure] # traits>;

defvar GR_Tensor = AnyTensor;

// A 64-bit integer attribute whose accessor is signed.
def GR_IntAttr : TypedSignlessIntegerAttrBase<I64, "int64_t", "64-bit integer attribute">;

#endif  // GRAPHRUN_IR_GR_DIALECT_TD
