// Commands that look at a model without running it take these arguments.
#ifndef GRAPHRUN_FRONTENDS_CLI_MODEL_ARGUMENTS_H_
#define GRAPHRUN_FRONTENDS_CLI_MODEL_ARGUMENTS_H_

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "frontends/cli/command_line.h"
#include "frontends/cli/progress_display.h"
#include "runtime/base/status.h"
#include "runtime/session/session.h"

namespace graphrun::cli {

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
  absl::StatusOr<std::unique_ptr<runtime::Session>> open(
      const runtime::ExplainOptions& explain = {}, const runtime::WhatIf& whatIf = {},
      ProgressDisplay* display = nullptr) const {
    GR_ASSIGN_OR_RETURN(runtime::SessionOptions options, place.toSession());
    if (display != nullptr) {  // which then outlives the session
      options.progress = display->sink();
    }
    options.explain = explain;
    options.whatIf = whatIf;
    return runtime::Session::create(model, options);
  }
};

}  // namespace graphrun::cli

#endif  // GRAPHRUN_FRONTENDS_CLI_MODEL_ARGUMENTS_H_
