// ai.onnx.preview.training.Gradient: what is imported computes the derivatives.
#include <catch2/catch.hpp>

#include "frontends/onnx/deferred.h"
#include "frontends/onnx/importer.h"
#include "frontends/onnx/onnx.pb.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/passes.h"
#include "passes/pipelines.h"
#include "passes/shapes.h"
#include "tests/ir/gradients/reference_program.h"

namespace graphrun::frontends {
namespace {

using devices::cpu::Tensors;

/// A model under construction whose inputs and outputs are f32 scalars.
struct Model {
  Model() {
    proto.set_ir_version(8);
    proto.add_opset_import()->set_version(14);
    auto* training = proto.add_opset_import();
    training->set_domain("ai.onnx.preview.training");
    training->set_version(1);
    graph().set_name("g");
  }

  ::onnx::GraphProto& graph() { return *proto.mutable_graph(); }
  void input(const std::string& name) { port(*graph().add_input(), name); }
  void output(const std::string& name) { port(*graph().add_output(), name); }
  static void port(::onnx::ValueInfoProto& info, const std::string& name) {
    info.set_name(name);
    auto* type = info.mutable_type()->mutable_tensor_type();
    type->set_elem_type(::onnx::TensorProto::FLOAT);
    type->mutable_shape();
  }
  ::onnx::NodeProto& node(const std::string& op, const std::vector<std::string>& inputs,
                          const std::vector<std::string>& outputs) {
    ::onnx::NodeProto& node = *graph().add_node();
    node.set_op_type(op);
    for (const std::string& name : inputs) {
      node.add_input(name);
    }
    for (const std::string& name : outputs) {
      node.add_output(name);
    }
    return node;
  }
  void gradient(const std::vector<std::string>& inputs, const std::vector<std::string>& outputs,
                const std::vector<std::string>& xs, const std::string& y,
                const std::vector<std::string>& zs = {}) {
    ::onnx::NodeProto& made = node("Gradient", inputs, outputs);
    made.set_domain("ai.onnx.preview.training");
    texts(made, "xs", xs);
    if (!zs.empty()) {
      texts(made, "zs", zs);
    }
    auto* loss = made.add_attribute();
    loss->set_name("y");
    loss->set_type(::onnx::AttributeProto::STRING);
    loss->set_s(y);
  }
  static void texts(::onnx::NodeProto& node, const std::string& name,
                    const std::vector<std::string>& values) {
    auto* attribute = node.add_attribute();
    attribute->set_name(name);
    attribute->set_type(::onnx::AttributeProto::STRINGS);
    for (const std::string& value : values) {
      attribute->add_strings(value);
    }
  }
  void weight(const std::string& name, float value) {
    auto* tensor = graph().add_initializer();
    tensor->set_name(name);
    tensor->set_data_type(::onnx::TensorProto::FLOAT);
    tensor->add_float_data(value);
  }

  /// The outputs for these inputs; the message of the import where it fails.
  absl::StatusOr<std::vector<float>> run(const std::vector<float>& inputs) {
    mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
    GR_ASSIGN_OR_RETURN(auto module, importOnnxBytes(context, proto.SerializeAsString(), "model"));
    auto function = passes::graphOf(*module);
    REQUIRE(mlir::succeeded(passes::simplify(*module)));  // as it is before it is saved
    REQUIRE(mlir::succeeded(passes::specialize(*function, {}, resolveDeferred)));
    REQUIRE(mlir::succeeded(passes::differentiate(*module)));
    REQUIRE(mlir::succeeded(passes::simplify(*module)));
    GR_ASSIGN_OR_RETURN(auto program, ir::ReferenceProgram::make(*function));
    Tensors values;
    for (float input : inputs) {
      values.push_back(*runtime::HostTensor::from({input}, {}));
    }
    GR_ASSIGN_OR_RETURN(Tensors results, program.run(values));
    std::vector<float> outputs;
    for (runtime::HostTensor& result : results) {
      outputs.push_back(result.as<float>()[0]);
    }
    return outputs;
  }

  ::onnx::ModelProto proto;
};

std::vector<float> valuesOf(const absl::StatusOr<std::vector<float>>& outputs) {
  INFO(outputs.status().message());
  REQUIRE(outputs.ok());
  return *outputs;
}

TEST_CASE("gradients of a sum and a product, as ONNX's own cases have them") {
  Model model;
  for (const char* name : {"a", "b"}) {
    model.input(name);
  }
  // The gradient stands before what it differentiates.
  model.gradient({"a", "b"}, {"dd_da", "dd_db"}, {"a", "b"}, "d");
  model.node("Add", {"a", "b"}, {"c"});
  model.node("Mul", {"c", "a"}, {"d"});
  for (const char* name : {"d", "dd_da", "dd_db"}) {
    model.output(name);
  }
  CHECK(valuesOf(model.run({2, 3})) == std::vector<float>{10, 7, 2});
}

TEST_CASE("gradients by weights and by values inside") {
  Model model;
  model.input("x");
  model.weight("w", 3);
  model.node("Mul", {"x", "w"}, {"h"});
  model.node("Mul", {"h", "h"}, {"y"});
  model.gradient({"w", "h"}, {"dw", "dh"}, {"w", "h"}, "y");
  for (const char* name : {"dw", "dh"}) {
    model.output(name);
  }
  CHECK(valuesOf(model.run({2})) == std::vector<float>{24, 12});
}

TEST_CASE("a gradient at other values computes the graph anew") {
  Model model;
  for (const char* name : {"a", "b", "p", "q"}) {
    model.input(name);
  }
  model.node("Mul", {"a", "a"}, {"s"});
  model.node("Mul", {"s", "b"}, {"y"});
  model.gradient({"p", "q"}, {"d"}, {"a"}, "y", {"b"});
  for (const char* name : {"y", "d"}) {
    model.output(name);
  }
  // y = a^2 b at a = 2, b = 3; its derivative by a at a = 5, b = 7.
  CHECK(valuesOf(model.run({2, 3, 5, 7})) == std::vector<float>{12, 70});
}

TEST_CASE("names that are no values, and counts that do not fit, are told") {
  Model model;
  model.input("a");
  model.node("Mul", {"a", "a"}, {"y"});
  model.gradient({"a"}, {"d"}, {"a"}, "z");
  model.output("d");
  CHECK_THAT(std::string(model.run({1}).status().message()),
             Catch::Contains("attribute \"y\" names \"z\", expected a value of the graph"));
  Model counts;
  counts.input("a");
  counts.node("Mul", {"a", "a"}, {"y"});
  counts.gradient({"a", "a"}, {"d"}, {"a"}, "y");
  counts.output("d");
  CHECK_THAT(std::string(counts.run({1}).status().message()),
             Catch::Contains("has 2 inputs and 1 outputs, expected 1 and 1"));
}

}  // namespace
}  // namespace graphrun::frontends
