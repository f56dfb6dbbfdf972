// graphrun compile and inspect: a model without running it.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <utility>

#include "frontends/cli/command_line.h"
#include "frontends/cli/commands.h"
#include "frontends/cli/feeds.h"
#include "frontends/cli/model_arguments.h"
#include "frontends/cli/option_values.h"
#include "frontends/cli/run_report.h"
#include "runtime/base/status.h"

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
