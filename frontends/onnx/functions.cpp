#include "frontends/onnx/functions.h"

#include "absl/strings/str_cat.h"
#include "llvm/ADT/StringSet.h"

namespace graphrun::frontends {
namespace {

using ::onnx::AttributeProto;

std::string keyOf(llvm::StringRef domain, llvm::StringRef name, llvm::StringRef overload) {
  llvm::StringRef plain = domain == "ai.onnx" ? "" : domain;
  return absl::StrCat(plain.str(), "\n", name.str(), "\n", overload.str());
}

/// The values that a call gives to the attributes of its function, and what it leaves out.
struct Arguments {
  llvm::StringMap<const AttributeProto*> attributes;
  llvm::StringSet<> absentInputs;
};

void substitute(::onnx::GraphProto& graph, const Arguments& arguments);

/// Replaces what `node` refers to.
void substitute(::onnx::NodeProto& node, const Arguments& arguments) {
  for (std::string& input : *node.mutable_input()) {
    if (arguments.absentInputs.contains(input)) {
      input.clear();
    }
  }
  auto& attributes = *node.mutable_attribute();
  for (int i = 0; i < attributes.size();) {
    AttributeProto& attribute = attributes[i];
    if (!attribute.ref_attr_name().empty()) {
      auto given = arguments.attributes.find(attribute.ref_attr_name());
      if (given == arguments.attributes.end()) {
        attributes.DeleteSubrange(i, 1);
        continue;
      }
      std::string name = attribute.name();
      attribute = *given->second;
      attribute.set_name(name);
    } else {
      if (attribute.has_g()) {
        substitute(*attribute.mutable_g(), arguments);
      }
      for (::onnx::GraphProto& graph : *attribute.mutable_graphs()) {
        substitute(graph, arguments);
      }
    }
    ++i;
  }
}

void substitute(::onnx::GraphProto& graph, const Arguments& arguments) {
  for (::onnx::NodeProto& node : *graph.mutable_node()) {
    substitute(node, arguments);
  }
}

Arguments argumentsOf(const ::onnx::FunctionProto& function, const ::onnx::NodeProto& call,
                      std::vector<std::string>& problems) {
  Arguments arguments;
  llvm::StringSet<> known;
  for (const AttributeProto& attribute : function.attribute_proto()) {
    known.insert(attribute.name());
    arguments.attributes[attribute.name()] = &attribute;
  }
  known.insert(function.attribute().begin(), function.attribute().end());
  for (const AttributeProto& attribute : call.attribute()) {
    if (known.contains(attribute.name())) {
      arguments.attributes[attribute.name()] = &attribute;
    } else {
      problems.push_back(absl::StrCat("has an attribute ", inQuotes(attribute.name()),
                                      ", which the function lacks"));
    }
  }
  for (int i = 0; i < function.input_size(); ++i) {
    if (i >= call.input_size() || call.input(i).empty()) {
      arguments.absentInputs.insert(function.input(i));
    }
  }
  return arguments;
}

}  // namespace

Functions::Functions(const ::onnx::ModelProto& model, Problems& problems) {
  for (const ::onnx::FunctionProto& function : model.functions()) {
    std::string key = keyOf(function.domain(), function.name(), function.overload());
    if (!byKey_.try_emplace(key, &function).second) {
      problems.add(absl::StrCat("function ", inQuotes(function.name()), " of domain ",
                                inQuotes(function.domain()), " is defined twice"));
    }
  }
}

const ::onnx::FunctionProto* Functions::calledBy(const ::onnx::NodeProto& node) const {
  return byKey_.lookup(keyOf(node.domain(), node.op_type(), node.overload()));
}

::onnx::GraphProto bodyFor(const ::onnx::FunctionProto& function, const ::onnx::NodeProto& call,
                           std::vector<std::string>& problems) {
  if (call.input_size() > function.input_size() || call.output_size() > function.output_size()) {
    problems.push_back(absl::StrCat("has ", call.input_size(), " inputs and ", call.output_size(),
                                    " outputs, expected at most ", function.input_size(), " and ",
                                    function.output_size(), " as the function has"));
  }
  Arguments arguments = argumentsOf(function, call, problems);
  ::onnx::GraphProto body;
  body.set_name(function.name());
  *body.mutable_node() = function.node();
  substitute(body, arguments);
  for (const std::string& input : function.input()) {
    body.add_input()->set_name(input);
  }
  for (const std::string& output : function.output()) {
    body.add_output()->set_name(output);
  }
  return body;
}

}  // namespace graphrun::frontends
