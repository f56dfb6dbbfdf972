// Runs models on request, many in one process: what the differential fuzzer drives.
//
// A request is a line of JSON on stdin: {"model": PATH, "options": ["--threads", "1", …], "sets":
// [FOLDER, …], "out": FILE}. All sets, folders of input_N.pb, go through one session. The reply is
// a line on stdout: {"code": exit code, "message": text, "sets": [[{"name", "type", "dims", "bytes"
// or "strings"}, …], …]}; the bytes of all outputs lie in FILE, one behind the other. A crash ends
// the process, which tells the reader whose fault it was.
#include <unistd.h>
#include <CLI/CLI.hpp>

#include <cstdio>
#include <fstream>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "frontends/cli/command_line.h"
#include "frontends/cli/feeds.h"
#include "frontends/cli/run_report.h"
#include "runtime/base/element_type.h"
#include "runtime/base/status.h"
#include "runtime/session/session.h"

namespace graphrun::cli {
namespace {

using runtime::NamedTensor;
using runtime::Session;

/// The options of `graphrun run` that say where and how a model runs.
absl::StatusOr<runtime::SessionOptions> parseOptions(const Json& words) {
  CLI::App app;
  PlaceOptions place;
  place.add(app);
  std::vector<std::string> reversed(words.rbegin(), words.rend());  // as CLI11 wants them
  try {
    app.parse(reversed);
  } catch (const CLI::ParseError& error) {
    return usageError(error.what());
  }
  return place.toSession();
}

Json describe(const NamedTensor& output, std::ofstream& data) {
  const runtime::TensorSpec& spec = output.tensor.spec();
  Json json{{"name", output.name},
            {"type", std::string(runtime::elementTypeName(spec.type))},
            {"dims", spec.dims}};
  if (spec.type == runtime::ElementType::kString) {
    json["strings"] = output.tensor.strings();
  } else {
    json["bytes"] = output.tensor.byteSize();
    data.write(static_cast<const char*>(output.tensor.data()),
               static_cast<std::streamsize>(output.tensor.byteSize()));
  }
  return json;
}

absl::StatusOr<Json> runSet(Session& session, const std::string& folder, std::ofstream& data) {
  GR_ASSIGN_OR_RETURN(DataSet set, readDataSet(folder, session.inputs(), session.outputs()));
  std::vector<NamedTensor> outputs;
  GR_RETURN_IF_ERROR(session.run(set.inputs, outputs));
  Json list = Json::array();
  for (const NamedTensor& output : outputs) {
    list.push_back(describe(output, data));
  }
  return list;
}

/// Serves a request; the sets that ran before a failure stay in `reply`.
absl::Status serve(const Json& request, Json& reply) {
  GR_ASSIGN_OR_RETURN(runtime::SessionOptions options, parseOptions(request.at("options")));
  GR_ASSIGN_OR_RETURN(std::unique_ptr<Session> session,
                      Session::create(request.at("model").get<std::string>(), options));
  std::ofstream data(request.at("out").get<std::string>(), std::ios::binary);
  for (const Json& folder : request.at("sets")) {
    GR_ASSIGN_OR_RETURN(Json outputs, runSet(*session, folder.get<std::string>(), data));
    reply["sets"].push_back(std::move(outputs));
  }
  data.close();
  return data ? absl::OkStatus() : absl::DataLossError("the outputs could not be written");
}

Json answer(const std::string& line) {
  Json reply{{"code", 0}, {"message", ""}, {"sets", Json::array()}};
  absl::Status status = serve(Json::parse(line), reply);
  if (!status.ok()) {
    reply["code"] = static_cast<int>(exitCodeOf(status));
    reply["message"] = std::string(status.message());
  }
  return reply;
}

/// Serves until stdin ends. Replies go to what was stdout; whatever else is printed, to stderr.
int serveAll() {
  std::FILE* replies = fdopen(dup(STDOUT_FILENO), "w");
  dup2(STDERR_FILENO, STDOUT_FILENO);
  for (std::string line; std::getline(std::cin, line);) {
    std::string text = answer(line).dump(-1, ' ', false, Json::error_handler_t::replace);
    std::fprintf(replies, "%s\n", text.c_str());
    std::fflush(replies);
  }
  std::fclose(replies);
  return 0;
}

}  // namespace
}  // namespace graphrun::cli

int main() { return graphrun::cli::serveAll(); }
