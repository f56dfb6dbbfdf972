// graphrun compile, explain and inspect: a model without running it.
#include <cstdio>
#include <fstream>
#include <memory>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "frontends/cli/command_line.h"
#include "frontends/cli/commands.h"
#include "frontends/cli/explain_text.h"
#include "frontends/cli/feeds.h"
#include "frontends/cli/run_report.h"
#include "runtime/base/status.h"

namespace graphrun::cli {
namespace {

using runtime::Session;

struct ModelArguments {
  std::string model;
  PlaceOptions place;
  FeedOptions feed;
  bool json = false;

  void add(CLI::App& app) {
    app.add_option("MODEL", model, "A .fb or .onnx file")->required();
    place.add(app);
    feed.add(app);
    app.add_flag("--json", json, "Prints JSON");
  }
  absl::StatusOr<std::unique_ptr<Session>> open(const runtime::WhatIf& whatIf = {}) const {
    GR_ASSIGN_OR_RETURN(runtime::SessionOptions options, place.toSession());
    options.whatIf = whatIf;
    return Session::create(model, options);
  }
};

/// Whether a placement in `model` can be written to `out`, an ONNX file or "".
absl::Status checkOnnx(const std::string& model, const std::string& out) {
  if (!out.empty() && !absl::EndsWithIgnoreCase(model, ".onnx")) {
    return usageError(absl::StrCat("--write-onnx needs an ONNX file to write into a copy of, got '",
                                   model, "'; give the .onnx file that it was compiled from"));
  }
  if (!out.empty() && !absl::EndsWithIgnoreCase(out, ".onnx")) {
    return usageError(absl::StrCat("--write-onnx ", out, ": expected a name that ends in .onnx"));
  }
  return absl::OkStatus();
}

absl::Status writeFile(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  return file ? absl::OkStatus() : usageError(absl::StrCat("cannot write '", path, "'"));
}

/// Adds to an explanation what a step takes by another one.
absl::StatusOr<std::string> withStepWithout(const std::string& changed, const std::string& now) {
  auto json = nlohmann::ordered_json::parse(changed, nullptr, /*allow_exceptions=*/false);
  Json without = Json::parse(now, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || !without.is_object()) {
    return absl::InternalError("an explanation is no JSON object");
  }
  json["step_ns_without"] = without.value("step_ns", Json(0));
  return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace);
}

/// `costs`: where the model's cost graph is to be written, "" for nowhere.
absl::StatusOr<std::string> explain(const ModelArguments& arguments, const runtime::WhatIf& whatIf,
                                    const std::string& costs) {
  GR_ASSIGN_OR_RETURN(std::unique_ptr<Session> session, arguments.open(whatIf));
  GR_ASSIGN_OR_RETURN(std::vector<runtime::NamedSpec> shapes,
                      feedShapes(arguments.feed, session->inputs()));
  if (!costs.empty()) {
    GR_ASSIGN_OR_RETURN(std::string text, session->costs(shapes));
    GR_RETURN_IF_ERROR(writeFile(costs, text));
  }
  GR_ASSIGN_OR_RETURN(std::string explanation, session->explain(shapes));
  if (whatIf.empty()) {
    return explanation;
  }
  GR_ASSIGN_OR_RETURN(session, arguments.open());
  GR_ASSIGN_OR_RETURN(std::string now, session->explain(shapes));
  return withStepWithout(explanation, now);
}

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
  app.add_option("-o,--out", out, "The file to write, as in model.fb")->required();
  return parseAndRun(app, argc, argv, [&]() -> int {
    absl::StatusOr<std::string> warnings = runtime::importModel(model, out);
    if (!warnings.ok()) {
      return report(warnings.status());
    }
    std::fputs(warnings->c_str(), stderr);
    return kOk;
  });
}

int explainCommand(int argc, char** argv) {
  CLI::App app("Shows where a model's operations would run, with predicted time and memory.",
               "graphrun explain");
  ModelArguments arguments;
  std::string onnx;
  std::string costs;
  runtime::WhatIf whatIf;
  arguments.add(app);
  app.add_option(
      "--add", whatIf.addedDevices,
      "A device that is only thought of: node2:cuda, node2:cpu=48GiB; with a worker of a "
      "new name on a machine of its own");
  app.add_option(
      "--link", whatIf.changedLinks,
      "Other links, only thought of: 100Gbps between all workers, node0,node1=12GB/s,3us");
  app.add_option("--costs", costs,
                 "Writes the model's cost graph on this cluster, as `graphrun place` reads it");
  app.add_option("--write-onnx", onnx,
                 "Writes the ONNX model with its placement, as Netron shows it and explain and run "
                 "read it: placed.onnx");
  return parseAndRun(app, argc, argv, [&]() -> int {
    absl::Status usable = checkOnnx(arguments.model, onnx);
    absl::StatusOr<std::string> text = usable.ok() ? explain(arguments, whatIf, costs) : usable;
    if (!text.ok()) {
      return report(text.status());
    }
    absl::StatusOr<std::string> warnings = "";
    if (!onnx.empty()) {
      warnings = runtime::annotateModel(arguments.model, *text, onnx);
    }
    if (!warnings.ok()) {
      return report(warnings.status());
    }
    std::fputs((arguments.json ? *text + "\n" : explainText(*text)).c_str(), stdout);
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
