// Defines the attributes that are a choice among words, and the words.
#ifndef GRAPHRUN_IR_GR_WORDS_TD
#define GRAPHRUN_IR_GR_WORDS_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/EnumAttr.td"

// `name` is the enumerator of a word: kSameUpper of same_upper.
class GR_Enumerator<string word> {
  defvar text = "_" # word;
  string name = !foldl("k", !range(1, !size(text)), made, i,
      made # !cond(!eq(!substr(text, i, 1), "_"): "",
                   !eq(!substr(text, !sub(i, 1), 1), "_"): !toupper(!substr(text, i, 1)),
                   true: !substr(text, i, 1)));
}
class GR_Word<string word, int number> : I32EnumAttrCase<GR_Enumerator<word>.name, number, word>;

// Is a choice among words. C++ has it as the enum `enumName`, which symbolize… and stringify… make of
// words and into them. It is stored as the word: so it is printed, and kept in files. verifyTypes
// refuses other words.
class GR_Words<string enumName, list<string> allowed> :
    I32EnumAttr<enumName, StrAttr.summary,
                !foreach(i, !range(!size(allowed)), GR_Word<allowed[i], i>)> {
  let cppNamespace = "::graphrun::ir";
  let genSpecializedAttr = 0;
  let predicate = StrAttr.predicate;
  let storageType = StrAttr.storageType;
  let valueType = StrAttr.valueType;
  let returnType = cppType;
  let convertFromStorage = "*" # cppNamespace # "::" # stringToSymbolFnName # "($_self.getValue())";
  let constBuilderCall =
      "$_builder.getStringAttr(" # cppNamespace # "::" # symbolToStringFnName # "($0))";
  list<string> words = allowed;
}

// Is the same choice, which may be narrower. The classes behind it have a default, may be left out,
// and so on.
class GR_WordAttr<GR_Words choice, list<string> allowed = choice.words> :
    Attr<choice.predicate, choice.summary> {
  let storageType = choice.storageType;
  let valueType = choice.valueType;
  let returnType = choice.returnType;
  let convertFromStorage = choice.convertFromStorage;
  let constBuilderCall = choice.constBuilderCall;
  list<string> words = allowed;
}
class GR_DefaultWord<GR_Words choice, string word> : GR_WordAttr<choice> {
  let defaultValue = choice.cppType # "::" # GR_Enumerator<word>.name;
  let baseAttr = choice;
}
class GR_OptionalWord<GR_Words choice> : GR_WordAttr<choice> {
  let returnType = OptionalAttr<choice>.returnType;
  let convertFromStorage = OptionalAttr<choice>.convertFromStorage;
  let constBuilderCall = ?;
  let isOptional = 1;
  let baseAttr = choice;
}
// Is always there, and "" where nothing is chosen.
class GR_WordOrNone<GR_Words choice, list<string> allowed = choice.words> :
    GR_WordAttr<choice, allowed # [""]> {
  let returnType = "::std::optional<" # choice.cppType # ">";
  let convertFromStorage = "::graphrun::ir::" # choice.stringToSymbolFnName # "($_self.getValue())";
  let constBuilderCall = "$_builder.getStringAttr($0 ? ::graphrun::ir::" #
                         choice.symbolToStringFnName # "(*$0) : ::llvm::StringRef())";
}
// Each element is such a word; C++ has them as strings.
class GR_WordArray<GR_Words choice> : GR_WordAttr<choice> {
  let predicate = StrArrayAttr.predicate;
  let summary = StrArrayAttr.summary;
  let storageType = StrArrayAttr.storageType;
  let returnType = StrArrayAttr.returnType;
  let convertFromStorage = StrArrayAttr.convertFromStorage;
  let constBuilderCall = StrArrayAttr.constBuilderCall;
}

// Says what anchors a group (ir/ops_comm.td).
def GR_GroupKind : GR_Words<"GroupKind", ["conv", "matmul", "attention", "map", "row"]>;
def GR_CollectiveKind : GR_Words<"CollectiveKind", ["all_reduce", "all_gather", "reduce_scatter"]>;

// The words are the rows of devices/functions/reductions.def.
def GR_ReduceKind : GR_Words<"ReduceKind", ["sum", "mean", "max", "min", "prod", "log_sum_exp"]>;
// These combine elements two at a time.
defvar GR_Combined = ["sum", "mean", "max", "min", "prod"];
def GR_CombineKind : GR_WordAttr<GR_ReduceKind, GR_Combined>;

def GR_ScatterReduction : GR_Words<"ScatterReduction", ["none", "add", "mul", "min", "max"]>;
def GR_PowerRounding : GR_Words<"PowerRounding", ["up", "down", "nearest"]>;
def GR_PadMode : GR_Words<"PadMode", ["constant", "reflect", "edge", "wrap"]>;
def GR_WindowPadding : GR_Words<"WindowPadding", ["explicit", "same_upper", "same_lower"]>;
def GR_Interpolation : GR_Words<"Interpolation", ["nearest", "linear", "cubic"]>;
def GR_ResizeCoordinates : GR_Words<"ResizeCoordinates",
    ["half_pixel", "pytorch_half_pixel", "half_pixel_symmetric", "align_corners", "asymmetric",
     "tf_crop_and_resize"]>;
def GR_NearestRounding : GR_Words<"NearestRounding",
    ["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"]>;
def GR_ResizePolicy : GR_Words<"ResizePolicy", ["stretch", "not_larger", "not_smaller"]>;
def GR_BorderPadding : GR_Words<"BorderPadding", ["zeros", "border", "reflection"]>;
def GR_Distribution : GR_Words<"Distribution", ["uniform", "normal"]>;
def GR_RandomGenerator : GR_Words<"RandomGenerator", ["philox", "mt19937"]>;
def GR_TreeAggregate : GR_Words<"TreeAggregate", ["sum", "average", "min", "max"]>;

// The rows of devices/functions/recurrent.def.

// The words are the rows of devices/functions/recurrent.def.
def GR_RecurrentCell : GR_Words<"RecurrentCell", ["rnn", "gru", "lstm"]>;
def GR_RecurrentActivation : GR_Words<"RecurrentActivation",
    ["affine", "elu", "hardsigmoid", "leakyrelu", "relu", "scaledtanh", "sigmoid", "softplus",
     "softsign", "tanh", "thresholdedrelu"]>;

#endif  // GRAPHRUN_IR_GR_WORDS_TD
