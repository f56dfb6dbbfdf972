#include "frontends/cli/calibrate.h"

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "frontends/cli/feeds.h"
#include "frontends/cli/run_report.h"
#include "runtime/base/clock.h"
#include "runtime/base/scratch_folder.h"
#include "runtime/base/status.h"

namespace graphrun::cli {
namespace {

using runtime::NamedTensor;
using runtime::Session;
using runtime::SessionOptions;

/// Runs of a model that count: so many, or fewer that take so long.
constexpr int kMostRuns = 40;
constexpr int kFewestRuns = 6;
constexpr int64_t kEnoughNanos = 2'000'000'000;
/// The time of a link is not believed while it comes from few runs of one session.
constexpr int kSessions = 2;
/// The assignments of operations to devices that are tried: most tensors cross some link in one of
/// them.
constexpr int kDeals = 3;
/// The network of the calibration set that is there for links, and what its operations are called.
constexpr char kLinks[] = "links";
constexpr char kLeft[] = "left*";
constexpr char kRight[] = "right*";

double secondsSince(int64_t begin) {
  return static_cast<double>(runtime::nowNanos() - begin) / 1e9;
}

/// One model on a cluster.
class Subject {
 public:
  Subject(std::string model, const FeedOptions& feed, const SessionOptions& session)
      : model_(std::move(model)), feed_(feed), session_(session) {
    session_.explain.details = true;
  }

  absl::StatusOr<std::vector<std::string>> devices() const {
    GR_ASSIGN_OR_RETURN(Json all, explain(session_));
    std::vector<std::string> names;
    for (const Json& device : all.value("devices", Json::array())) {
      names.push_back(device.value("device", ""));
    }
    return names;
  }

  /// Measures the model on one device, what that cannot run elsewhere; how many nodes it has, 0 if
  /// all of them were known.
  absl::StatusOr<size_t> measureOn(const std::string& device) const {
    SessionOptions pinned = session_;
    pinned.strategy = absl::StrCat("on:", device);
    GR_ASSIGN_OR_RETURN(Json before, explain(pinned));
    const Json times = before.value("times", Json::object());
    if (times.value("interpolated_ns", 0) == 0 && times.value("estimated_ns", 0) == 0) {
      return size_t{0};
    }
    GR_RETURN_IF_ERROR(runOften(pinned));
    return before.value("nodes", Json::array()).size();
  }

  /// Sends the tensors of the network for links to and fro; false if both ways were known.
  absl::StatusOr<bool> measureBetween(const std::string& left, const std::string& right) const {
    SessionOptions pinned = session_;
    pinned.pins.push_back({kLeft, left});
    pinned.pins.push_back({kRight, right});
    GR_ASSIGN_OR_RETURN(Json before, explain(pinned));
    const Json links = before.value("links", Json::array());
    bool known = std::all_of(links.begin(), links.end(), [](const Json& link) {
      return link.value("transfers", 0) == 0 || link.value("measured", false) ||
             link.value("kind", "") == "given";
    });
    for (int session = 0; !known && session < kSessions; ++session) {
      GR_RETURN_IF_ERROR(runOften(pinned));
    }
    return !known;
  }

  absl::Status measureDeals() const {
    for (int deal = 0; deal < kDeals; ++deal) {
      SessionOptions dealt = session_;
      dealt.strategy = absl::StrCat("random:", deal);
      GR_RETURN_IF_ERROR(runOften(dealt));
    }
    return absl::OkStatus();
  }

 private:
  absl::StatusOr<Json> explain(const SessionOptions& options) const {
    GR_ASSIGN_OR_RETURN(std::unique_ptr<Session> session, Session::create(model_, options));
    GR_ASSIGN_OR_RETURN(std::vector<NamedTensor> inputs, feeds(feed_, session->inputs(), true));
    std::vector<runtime::NamedSpec> shapes;
    shapes.reserve(inputs.size());
    for (const NamedTensor& input : inputs) {
      shapes.push_back({input.name, input.tensor.spec()});
    }
    GR_ASSIGN_OR_RETURN(std::string text, session->explain(shapes));
    return Json::parse(text, nullptr, /*allow_exceptions=*/false);
  }

  /// The session learns from its runs when it ends.
  absl::Status runOften(const SessionOptions& options) const {
    GR_ASSIGN_OR_RETURN(std::unique_ptr<Session> session, Session::create(model_, options));
    GR_ASSIGN_OR_RETURN(std::vector<NamedTensor> inputs, feeds(feed_, session->inputs(), true));
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

  std::string model_;
  const FeedOptions& feed_;
  SessionOptions session_;
};

/// Describes what was done on a device since `begin`.
std::string noteOn(const std::string& device, size_t nodes, int64_t begin) {
  return nodes == 0 ? absl::StrCat(device, ": all of it is known")
                    : absl::StrFormat("%s: %d nodes measured in %.1f s", device, nodes,
                                      secondsSince(begin));
}

absl::StatusOr<CalibrationNotes> calibrateWith(const Subject& subject) {
  GR_ASSIGN_OR_RETURN(std::vector<std::string> devices, subject.devices());
  CalibrationNotes notes;
  bool isNews = false;
  for (const std::string& device : devices) {
    const int64_t begin = runtime::nowNanos();
    GR_ASSIGN_OR_RETURN(size_t nodes, subject.measureOn(device));
    isNews = isNews || nodes > 0;
    notes.push_back(noteOn(device, nodes, begin));
  }
  if (isNews && devices.size() > 1) {
    GR_RETURN_IF_ERROR(subject.measureDeals());
    notes.push_back(absl::StrCat("links between ", devices.size(), " devices: measured"));
  }
  return notes;
}

/// The networks of the calibration set on a cluster.
class Set {
 public:
  explicit Set(SessionOptions session) : session_(std::move(session)) {}

  absl::StatusOr<CalibrationNotes> run() {
    GR_ASSIGN_OR_RETURN(runtime::ScratchFolder folder, runtime::ScratchFolder::create());
    GR_RETURN_IF_ERROR(write(folder));
    GR_ASSIGN_OR_RETURN(std::vector<std::string> devices, links().devices());
    CalibrationNotes notes;
    for (const std::string& device : devices) {
      GR_ASSIGN_OR_RETURN(std::string note, measureOn(device));
      notes.push_back(std::move(note));
    }
    if (devices.size() > 1) {
      GR_ASSIGN_OR_RETURN(std::string note, measureBetween(devices));
      notes.push_back(std::move(note));
    }
    return notes;
  }

 private:
  /// The last of the networks.
  const Subject& links() const { return networks_.back(); }

  absl::Status write(const runtime::ScratchFolder& folder) {
    std::string name;
    for (uint32_t number = 0; name != kLinks; ++number) {
      const std::string path = (folder.path() / absl::StrCat(number, ".fb")).string();
      GR_ASSIGN_OR_RETURN(name, runtime::calibrationModel(number, path));
      networks_.emplace_back(path, nothing_, session_);
    }
    return absl::OkStatus();
  }

  absl::StatusOr<std::string> measureOn(const std::string& device) const {
    const int64_t begin = runtime::nowNanos();
    size_t nodes = 0;
    for (size_t n = 0; n + 1 < networks_.size(); ++n) {
      GR_ASSIGN_OR_RETURN(size_t measured, networks_[n].measureOn(device));
      nodes += measured;
    }
    return noteOn(device, nodes, begin);
  }

  absl::StatusOr<std::string> measureBetween(const std::vector<std::string>& devices) const {
    const int64_t begin = runtime::nowNanos();
    int measured = 0;
    for (size_t left = 0; left < devices.size(); ++left) {
      for (size_t right = left + 1; right < devices.size(); ++right) {
        GR_ASSIGN_OR_RETURN(bool isNews, links().measureBetween(devices[left], devices[right]));
        measured += isNews ? 1 : 0;
      }
    }
    return measured == 0 ? std::string("links: all of them are known")
                         : absl::StrFormat("links: %d pairs of devices measured in %.1f s",
                                           measured, secondsSince(begin));
  }

  SessionOptions session_;
  FeedOptions nothing_;
  std::vector<Subject> networks_;
};

}  // namespace

absl::StatusOr<CalibrationNotes> calibrate(const CalibrationOptions& options) {
  GR_ASSIGN_OR_RETURN(SessionOptions session, options.place.toSession());
  return options.model.empty() ? Set(std::move(session)).run()
                               : calibrateWith(Subject(options.model, options.feed, session));
}

}  // namespace graphrun::cli
