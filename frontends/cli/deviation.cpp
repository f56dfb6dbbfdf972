#include "frontends/cli/deviation.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "absl/strings/str_format.h"
#include "frontends/cli/compare.h"
#include "runtime/base/status.h"

namespace graphrun::cli {
namespace {

using runtime::HostTensor;

/// Largest difference, and largest expected value.
struct Extremes {
  double difference = 0;
  double value = 0;
};

Extremes extremesOf(const HostTensor& got, const HostTensor& expected) {
  Extremes found;
  auto count = static_cast<size_t>(expected.spec().elementCount());
  for (size_t i = 0; i < count; ++i) {
    double wanted = elementAt(expected, i);
    double is = elementAt(got, i);
    if (std::isfinite(wanted)) {
      found.value = std::max(found.value, std::fabs(wanted));
    }
    if (is == wanted || (std::isnan(is) && std::isnan(wanted))) {
      continue;
    }
    double difference = std::fabs(is - wanted);
    found.difference = std::isfinite(difference) ? std::max(found.difference, difference)
                                                 : std::numeric_limits<double>::infinity();
  }
  return found;
}

}  // namespace

absl::StatusOr<Json> deviationFromF32(const std::string& model, runtime::SessionOptions options,
                                      const std::vector<runtime::NamedTensor>& inputs,
                                      const std::vector<runtime::NamedTensor>& outputs) {
  options.precision = runtime::Precision::kF32;
  options.dumps.clear();  // those of the run itself stay
  GR_ASSIGN_OR_RETURN(std::unique_ptr<runtime::Session> session,
                      runtime::Session::create(model, options));
  std::vector<runtime::NamedTensor> expected;
  GR_RETURN_IF_ERROR(session->run(inputs, expected));
  Json list = Json::array();
  for (size_t i = 0; i < outputs.size() && i < expected.size(); ++i) {
    if (!isFloat(outputs[i].tensor) || outputs[i].tensor.spec() != expected[i].tensor.spec()) {
      continue;
    }
    Extremes found = extremesOf(outputs[i].tensor, expected[i].tensor);
    list.push_back({{"output", outputs[i].name},
                    {"absolute", found.difference},
                    {"relative", found.difference == 0 ? 0 : found.difference / found.value}});
  }
  return list;
}

std::string deviationText(const Json& deviation) {
  std::string text;
  for (const Json& entry : deviation) {
    absl::StrAppendFormat(&text,
                          "deviation  %s: at most %.3g from f32, %.3g of the largest value\n",
                          entry["output"].get<std::string>(), entry["absolute"].get<double>(),
                          entry["relative"].get<double>());
  }
  return text;
}

}  // namespace graphrun::cli
