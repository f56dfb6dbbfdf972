#include "runtime/worker/worker_trace.h"

#include <nlohmann/json.hpp>
#include <utility>

namespace graphrun::runtime {
namespace {

using Json = nlohmann::json;

constexpr size_t kNumbersAnEvent = 5;

Json toJson(const TraceStream& stream) {
  Json events = Json::array();
  for (const TraceEvent& event : stream.events) {
    events.push_back(static_cast<uint8_t>(event.kind));
    events.push_back(event.id);
    events.push_back(event.step);
    events.push_back(event.startNs);
    events.push_back(event.endNs);
  }
  Json steps;  // null: none of its own
  if (stream.stepTimes.has_value()) {
    steps = Json::array();
    for (const StepTime& step : *stream.stepTimes) {
      steps.push_back({step.label, step.ns});
    }
  }
  return {{"name", stream.name},
          {"plan", stream.plan},
          {"kernels", stream.kernelNames},
          {"weights", stream.kernelWeights},
          {"scratch", stream.kernelScratch},
          {"steps", std::move(steps)},
          {"events", std::move(events)}};
}

bool isListOf(const Json& json, const char* key, bool (*test)(const Json&)) {
  auto found = json.find(key);
  return found != json.end() && found->is_array() &&
         std::all_of(found->begin(), found->end(), test);
}

bool isStepTime(const Json& json) {
  return json.is_array() && json.size() == 2 && json[0].is_string() && json[1].is_number_unsigned();
}

bool isStream(const Json& json) {
  return json.is_object() && json.contains("name") && json["name"].is_string() &&
         json.contains("plan") && json["plan"].is_number_unsigned() &&
         isListOf(json, "kernels", [](const Json& j) { return j.is_string(); }) &&
         isListOf(json, "weights", [](const Json& j) { return j.is_number_unsigned(); }) &&
         isListOf(json, "scratch", [](const Json& j) { return j.is_number_unsigned(); }) &&
         json.contains("steps") &&
         (json["steps"].is_null() || isListOf(json, "steps", isStepTime)) &&
         isListOf(json, "events", [](const Json& j) { return j.is_number_integer(); }) &&
         json["events"].size() % kNumbersAnEvent == 0;
}

TraceStream fromJson(const Json& json) {
  TraceStream stream{json["name"],   {}, json["kernels"], json["plan"], json["weights"],
                     json["scratch"]};
  if (json["steps"].is_array()) {
    std::vector<StepTime>& times = stream.stepTimes.emplace();
    for (const Json& step : json["steps"]) {
      times.push_back({step[0], step[1]});
    }
  }
  const Json& numbers = json["events"];
  for (size_t i = 0; i < numbers.size(); i += kNumbersAnEvent) {
    uint8_t kind = std::min<uint8_t>(numbers[i].get<uint8_t>(), kTraceKindCount - 1);
    stream.events.push_back({static_cast<TraceKind>(kind), numbers[i + 1].get<uint32_t>(),
                             numbers[i + 2].get<uint64_t>(), numbers[i + 3].get<int64_t>(),
                             numbers[i + 4].get<int64_t>()});
  }
  return stream;
}

}  // namespace

std::string writeWorkerTrace(absl::Span<const TraceStream> streams) {
  Json all = Json::array();
  for (const TraceStream& stream : streams) {
    all.push_back(toJson(stream));
  }
  return all.dump(-1, ' ', false, Json::error_handler_t::replace);
}

absl::StatusOr<std::vector<TraceStream>> readWorkerTrace(absl::string_view text) {
  Json all = Json::parse(text.begin(), text.end(), nullptr, /*allow_exceptions=*/false);
  if (!all.is_array() || !std::all_of(all.begin(), all.end(), isStream)) {
    return absl::InvalidArgumentError("what the worker sent is not a trace");
  }
  std::vector<TraceStream> streams;
  for (const Json& stream : all) {
    streams.push_back(fromJson(stream));
  }
  return streams;
}

}  // namespace graphrun::runtime
