#include "runtime/worker/worker_trace.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/control/limits.h"

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
  Json kernelTimes;  // null: none of its own
  if (stream.kernelTimes.has_value()) {
    kernelTimes = Json::array();
    for (const KernelTime& kernel : *stream.kernelTimes) {
      kernelTimes.push_back({kernel.label, kernel.ns});
    }
  }
  return {{"name", stream.name},
          {"plan", stream.plan},
          {"kernels", stream.kernelNames},
          {"weights", stream.kernelWeights},
          {"scratch", stream.kernelScratch},
          {"steps", std::move(kernelTimes)},
          {"events", std::move(events)}};
}

bool isListOf(const Json& json, const char* key, bool (*test)(const Json&)) {
  auto found = json.find(key);
  return found != json.end() && found->is_array() &&
         std::all_of(found->begin(), found->end(), test);
}

bool isKernelTime(const Json& json) {
  return json.is_array() && json.size() == 2 && json[0].is_string() && json[1].is_number_unsigned();
}

bool isAtMost(const Json& json, uint64_t most) {
  return json.is_number_unsigned() && json.get<uint64_t>() <= most;
}

bool isTime(const Json& json) {
  const auto most = static_cast<uint64_t>(kMaxClockNanos);
  return isAtMost(json, most) || (json.is_number_integer() && !json.is_number_unsigned() &&
                                  json.get<int64_t>() >= -kMaxClockNanos);
}

bool isEvent(const Json* numbers) {
  return isAtMost(numbers[0], kTraceKindCount - 1) &&
         isAtMost(numbers[1], std::numeric_limits<uint32_t>::max()) &&
         numbers[2].is_number_unsigned() && isTime(numbers[3]) && isTime(numbers[4]);
}

bool areEvents(const Json& numbers) {
  bool are = numbers.size() % kNumbersAnEvent == 0;
  for (size_t i = 0; are && i < numbers.size(); i += kNumbersAnEvent) {
    are = isEvent(&numbers[i]);
  }
  return are;
}

bool isStream(const Json& json) {
  return json.is_object() && json.contains("name") && json["name"].is_string() &&
         json.contains("plan") && json["plan"].is_number_unsigned() &&
         isListOf(json, "kernels", [](const Json& j) { return j.is_string(); }) &&
         isListOf(json, "weights", [](const Json& j) { return j.is_number_unsigned(); }) &&
         isListOf(json, "scratch", [](const Json& j) { return j.is_number_unsigned(); }) &&
         json.contains("steps") &&
         (json["steps"].is_null() || isListOf(json, "steps", isKernelTime)) &&
         isListOf(json, "events", [](const Json& j) { return j.is_number_integer(); }) &&
         areEvents(json["events"]);
}

/// Adds `nanos`, of at most twice kMaxClockNanos, to what a trace tells of in all; false if that is
/// too much.
bool addTime(uint64_t nanos, uint64_t& all) {
  all += nanos;
  return all <= static_cast<uint64_t>(kMaxClockNanos);
}

/// Returns whether what is calculated with the numbers of a stream stays within bounds.
bool isWithinBounds(const TraceStream& stream, uint64_t& all) {
  auto areShort = [&](const std::vector<KernelTime>& kernels) {
    return std::all_of(kernels.begin(), kernels.end(), [&](const KernelTime& kernel) {
      return kernel.ns <= static_cast<uint64_t>(kMaxClockNanos) && addTime(kernel.ns, all);
    });
  };
  return areShort(stream.kernelTimes.value_or(std::vector<KernelTime>())) &&
         std::all_of(stream.events.begin(), stream.events.end(), [&](const TraceEvent& event) {
           const auto [first, last] = std::minmax(event.startNs, event.endNs);
           return addTime(static_cast<uint64_t>(last - first), all);
         });
}

TraceStream fromJson(const Json& json) {
  TraceStream stream{json["name"],   {}, json["kernels"], json["plan"], json["weights"],
                     json["scratch"]};
  if (json["steps"].is_array()) {
    std::vector<KernelTime>& times = stream.kernelTimes.emplace();
    for (const Json& kernel : json["steps"]) {
      times.push_back({kernel[0], kernel[1]});
    }
  }
  const Json& numbers = json["events"];
  for (size_t i = 0; i < numbers.size(); i += kNumbersAnEvent) {
    stream.events.push_back({static_cast<TraceKind>(numbers[i].get<uint8_t>()),
                             numbers[i + 1].get<uint32_t>(), numbers[i + 2].get<uint64_t>(),
                             numbers[i + 3].get<int64_t>(), numbers[i + 4].get<int64_t>()});
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
  uint64_t nanos = 0;
  for (const Json& stream : all) {
    streams.push_back(fromJson(stream));
    if (!isWithinBounds(streams.back(), nanos)) {
      return absl::InvalidArgumentError(absl::StrCat("what the worker sent of ",
                                                     streams.back().name, " took over ",
                                                     kMaxClockNanos, " ns in all"));
    }
  }
  return streams;
}

}  // namespace graphrun::runtime
