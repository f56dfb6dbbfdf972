// graphrun compile, check and inspect: a model without running it.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "frontends/cli/command_line.h"
#include "frontends/cli/commands.h"
#include "frontends/cli/feeds.h"
#include "frontends/cli/model_arguments.h"
#include "frontends/cli/option_values.h"
#include "frontends/cli/run_report.h"
#include "runtime/base/status.h"
#include "runtime/compiler_loader/compiler_loader.h"

namespace graphrun::cli {
namespace {

using runtime::Session;

Json portsJson(const std::vector<runtime::ModelPort>& ports) {
  Json list = Json::array();
  for (const runtime::ModelPort& port : ports) {
    list.push_back({{"name", port.name}, {"type", port.toString()}});
  }
  return list;
}

absl::StatusOr<Json> inspect(const ModelArguments& arguments) {
  GR_ASSIGN_OR_RETURN(std::unique_ptr<Session> session, arguments.open());
  std::vector<runtime::NamedSpec> known;
  absl::StatusOr<std::vector<runtime::NamedSpec>> shapes =
      feedShapes(arguments.feed, session->inputs());
  if (shapes.ok()) {
    known = *std::move(shapes);
  } else if (!arguments.feed.shapes.empty() || !arguments.feed.data.empty()) {
    return shapes.status();  // shapes were given, and are wrong
  }
  GR_ASSIGN_OR_RETURN(std::string text, session->inspect(known));
  Json more = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!more.is_object()) {
    return absl::InternalError("the compiler's answer to inspect is no JSON object");
  }
  Json all = {{"model", arguments.model},
              {"inputs", portsJson(session->inputs())},
              {"outputs", portsJson(session->outputs())},
              {"parameters", session->parameterCount()},
              {"weight_bytes", session->weightBytes()}};
  all.update(more);
  return all;
}

void printNumber(const char* what, const Json& json, const char* key) {
  if (json.contains(key) && json[key].is_number()) {
    std::printf("%-10s %s\n", what, json[key].dump().c_str());
  } else {
    std::printf("%-10s not known: it depends on shapes (--shape)\n", what);
  }
}

void printInspection(const Json& json) {
  for (const char* kind : {"inputs", "outputs"}) {
    for (const Json& port : json[kind]) {
      std::printf("%-10s %s: %s\n", kind, port["name"].get<std::string>().c_str(),
                  port["type"].get<std::string>().c_str());
    }
  }
  printNumber("parameters", json, "parameters");
  printNumber("flops", json, "flops");
  printNumber("bytes", json, "bytes");
  if (json.contains("ops") && json["ops"].is_object()) {
    for (const auto& [name, op] : json["ops"].items()) {
      std::printf("%6s  %s\n", op.value("count", Json(0)).dump().c_str(), name.c_str());
    }
  }
}

}  // namespace

int compileCommand(int argc, char** argv) {
  CLI::App app("Imports, checks and simplifies an ONNX model and writes model.fb.",
               "graphrun compile");
  std::string model;
  std::string out;
  app.add_option("MODEL", model, "An .onnx file")->required();
  addOutputFile(app, "-o,--out", out, "The file to write, as in model.fb")->required();
  return parseAndRun(app, argc, argv, [&]() -> int {
    absl::StatusOr<std::string> warnings = runtime::importModel(model, out);
    if (!warnings.ok()) {
      return report(warnings.status());
    }
    std::fputs(warnings->c_str(), stderr);
    return kOk;
  });
}

int checkCommand(int argc, char** argv) {
  CLI::App app(
      "Imports and checks a model without running it. With --train it also asks whether every "
      "operation between the model's parameters and its outputs has a gradient, and lists all that "
      "have none.",
      "graphrun check");
  std::string model;
  std::vector<std::string> shapes;
  bool training = false;
  bool json = false;
  app.add_option("MODEL", model, "An .onnx or .fb file")->required();
  app.add_flag("--train", training, "Ask whether the model can be trained");
  app.add_option("--shape", shapes, "input:DxDx…; dims that are not given are 1");
  app.add_flag("--json", json, "Write the report as JSON");
  return parseAndRun(app, argc, argv, [&]() -> int {
    absl::StatusOr<std::string> answer =
        runtime::CompilerLoader().checkModel(model, shapes, training);
    if (!answer.ok()) {
      return report(absl::IsFailedPrecondition(answer.status())
                        ? usageError(answer.status().message())
                        : fileError(answer.status()));
    }
    Json result = Json::parse(*answer, nullptr, /*allow_exceptions=*/false);
    if (json) {
      std::fputs(dump(result).c_str(), stdout);
    } else {
      std::printf("%s: %s operations%s\n", model.c_str(), result["operations"].dump().c_str(),
                  training ? (", all gradients of " + result["parameters"].dump() +
                              " parameters can be computed")
                                 .c_str()
                           : ", no problem");
    }
    return kOk;
  });
}

int inspectCommand(int argc, char** argv) {
  CLI::App app("Shows a model's inputs, outputs, operations, parameters and flops.",
               "graphrun inspect");
  ModelArguments arguments;
  arguments.add(app);
  return parseAndRun(app, argc, argv, [&]() -> int {
    absl::StatusOr<Json> json = inspect(arguments);
    if (!json.ok()) {
      return report(json.status());
    }
    if (arguments.json) {
      std::fputs(dump(*json).c_str(), stdout);
    } else {
      printInspection(*json);
    }
    return kOk;
  });
}

}  // namespace graphrun::cli
