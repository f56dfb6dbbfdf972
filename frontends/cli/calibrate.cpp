#include "frontends/cli/calibrate.h"

#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "frontends/cli/feeds.h"
#include "frontends/cli/run_report.h"
#include "runtime/base/clock.h"
#include "runtime/base/status.h"

namespace graphrun::cli {
namespace {

using runtime::NamedTensor;
using runtime::Session;
using runtime::SessionOptions;

/// Runs of a model that count: so many, or fewer that take so long.
constexpr int kMostRuns = 40;
constexpr int kFewestRuns = 6;
constexpr int64_t kEnoughNanos = 3'000'000'000;
/// Ways to deal the operations out: most tensors cross some link in one of them.
constexpr int kDeals = 3;

class Calibration {
 public:
  explicit Calibration(const CalibrationOptions& options) : options_(options) {}

  absl::StatusOr<CalibrationNotes> run() {
    GR_ASSIGN_OR_RETURN(session_, options_.place.toSession());
    GR_ASSIGN_OR_RETURN(Json all, explain(session_));
    const Json devices = all.value("devices", Json::array());
    bool isNews = false;
    for (const Json& device : devices) {
      GR_ASSIGN_OR_RETURN(bool measured, measureOn(device.value("device", "")));
      isNews = isNews || measured;
    }
    if (isNews && devices.size() > 1) {
      GR_RETURN_IF_ERROR(measureLinks());
      notes_.push_back(absl::StrCat("links between ", devices.size(), " devices: measured"));
    }
    return std::move(notes_);
  }

 private:
  absl::StatusOr<Json> explain(const SessionOptions& options) const {
    GR_ASSIGN_OR_RETURN(std::unique_ptr<Session> session, Session::create(options_.model, options));
    GR_ASSIGN_OR_RETURN(std::vector<NamedTensor> inputs,
                        feeds(options_.feed, session->inputs(), true));
    std::vector<runtime::NamedSpec> shapes;
    shapes.reserve(inputs.size());
    for (const NamedTensor& input : inputs) {
      shapes.push_back({input.name, input.tensor.spec()});
    }
    GR_ASSIGN_OR_RETURN(std::string text, session->explain(shapes));
    return Json::parse(text, nullptr, /*allow_exceptions=*/false);
  }

  /// Measures the model on one device; false if all of it had been.
  absl::StatusOr<bool> measureOn(const std::string& device) {
    SessionOptions pinned = session_;
    pinned.pins.push_back({"*", device});
    GR_ASSIGN_OR_RETURN(Json before, explain(pinned));
    const Json times = before.value("times", Json::object());
    if (times.value("interpolated_ns", 0) == 0 && times.value("estimated_ns", 0) == 0) {
      notes_.push_back(absl::StrCat(device, ": all of it is known"));
      return false;
    }
    const int64_t begin = runtime::nowNanos();
    GR_RETURN_IF_ERROR(runOften(pinned));
    notes_.push_back(absl::StrFormat("%s: %d nodes measured in %.1f s", device,
                                     before.value("nodes", Json::array()).size(),
                                     static_cast<double>(runtime::nowNanos() - begin) / 1e9));
    return true;
  }

  absl::Status measureLinks() const {
    for (int deal = 0; deal < kDeals; ++deal) {
      SessionOptions dealt = session_;
      dealt.strategy = absl::StrCat("random:", deal);
      GR_RETURN_IF_ERROR(runOften(dealt));
    }
    return absl::OkStatus();
  }

  /// The session learns from its runs when it ends.
  absl::Status runOften(const SessionOptions& options) const {
    GR_ASSIGN_OR_RETURN(std::unique_ptr<Session> session, Session::create(options_.model, options));
    GR_ASSIGN_OR_RETURN(std::vector<NamedTensor> inputs,
                        feeds(options_.feed, session->inputs(), true));
    std::vector<NamedTensor> outputs;
    GR_RETURN_IF_ERROR(session->run(inputs, outputs));
    GR_RETURN_IF_ERROR(session->run(inputs, outputs));  // begins with the choice of kernels
    const int64_t begin = runtime::nowNanos();
    auto isEnough = [&](int runs) {
      return runs >= kMostRuns ||
             (runs >= kFewestRuns && runtime::nowNanos() - begin >= kEnoughNanos);
    };
    for (int i = 0; !isEnough(i); ++i) {
      GR_RETURN_IF_ERROR(session->run(inputs, outputs));
    }
    return absl::OkStatus();
  }

  const CalibrationOptions& options_;
  SessionOptions session_;
  CalibrationNotes notes_;
};

}  // namespace

absl::StatusOr<CalibrationNotes> calibrate(const CalibrationOptions& options) {
  return Calibration(options).run();
}

}  // namespace graphrun::cli
