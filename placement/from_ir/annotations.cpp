#include "placement/from_ir/annotations.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ir/dialect.h"
#include "passes/passes.h"
#include "passes/pins.h"
#include "runtime/base/names.h"

namespace graphrun::placement {
namespace {

/// At most so many rows, and names, are listed in a message.
constexpr size_t kListed = 4;
constexpr char kNoDevice[] = "the cluster has no such device";

using passes::DeviceHint;
using DeviceHints = llvm::SmallVector<DeviceHint>;

std::string nameOf(const DeviceHint& hint) { return hint.name.str(); }

/// "'gpu0' of configuration 'pair'", "layer 'encoder'".
std::string describe(const std::string& configuration, const std::string& name) {
  std::string quoted = absl::StrCat("'", absl::Utf8SafeCEscape(name), "'");
  return configuration.empty() ? absl::StrCat("layer ", quoted)
                               : absl::StrCat(quoted, " of configuration '",
                                              absl::Utf8SafeCEscape(configuration), "'");
}

/// Calls `visit` with each operation of the graph, constants excepted, and its hints.
template <typename Visit>
void forEachOperation(mlir::func::FuncOp function, Visit visit) {
  function.walk([&](mlir::Operation* op) {
    if (!llvm::isa<mlir::func::FuncOp, ir::ConstantOp>(op)) {
      visit(op, passes::deviceHintsOf(op->getLoc()));
    }
  });
}

/// A target says where an operation is to run, and who asks for it.
struct Target {
  std::string device;  // "": anywhere
  std::string source;
  std::optional<DeviceHint> hint;  // that led to it
};

class Annotations {
 public:
  Annotations(mlir::func::FuncOp function, const Cluster& cluster, const std::string& overruledBy)
      : function_(function), cluster_(cluster), overruledBy_(overruledBy) {}

  std::vector<AnnotationReport> run() {
    chooseConfiguration();
    forEachOperation(function_,
                     [&](mlir::Operation* op, const DeviceHints& hints) { pin(op, hints); });
    std::vector<AnnotationReport> reports;
    for (auto& [report, nodes] : rows_) {
      report.nodes = static_cast<int64_t>(nodes.size());
      reports.push_back(report);
    }
    return reports;
  }

 private:
  bool isDevice(const DeviceHint& hint) const {
    return hint.problem.empty() && cluster_.findDevice(nameOf(hint)).has_value();
  }

  void chooseConfiguration() {
    std::vector<std::pair<std::string, std::set<std::string>>> nodes;  // by configuration, in order
    forEachOperation(function_, [&](mlir::Operation* op, const DeviceHints& hints) {
      for (const DeviceHint& hint : hints) {
        std::string configuration = hint.configuration.str();
        auto found = std::find_if(nodes.begin(), nodes.end(),
                                  [&](const auto& entry) { return entry.first == configuration; });
        if (found == nodes.end()) {
          found = nodes.insert(nodes.end(), {configuration, {}});
        }
        if (isDevice(hint)) {
          found->second.insert(passes::labelOf(op->getLoc()));
        }
      }
    });
    size_t most = 0;
    for (const auto& [configuration, labels] : nodes) {
      if (!configuration.empty() && labels.size() > most) {
        most = labels.size();
        configuration_ = configuration;
      }
    }
  }

  Target byNodeRule(const std::string& label) const {
    for (const PinRule& rule : cluster_.pins) {
      if (!rule.annotation && cluster_.findDevice(rule.device) &&
          runtime::matchesLabel(rule.nodes, label)) {
        return {rule.device, rule.source, std::nullopt};
      }
    }
    return {};
  }

  Target byAnnotationRule(const DeviceHint& hint) const {
    for (const PinRule& rule : cluster_.pins) {
      if (rule.annotation && hint.problem.empty() &&
          runtime::matchesGlob(rule.nodes, nameOf(hint))) {
        return {rule.device, absl::StrCat(rule.source, ", annotation '", rule.nodes, "'"), hint};
      }
    }
    return {};
  }

  Target byName(const DeviceHints& hints, llvm::StringRef configuration) const {
    for (const DeviceHint& hint : hints) {
      if (hint.configuration == configuration && isDevice(hint)) {
        std::string what = describe(configuration.str(), nameOf(hint));
        return {nameOf(hint), absl::StrCat("the model: ", what), hint};
      }
    }
    return {};
  }

  Target byHints(const DeviceHints& hints) const {
    for (const DeviceHint& hint : hints) {
      if (Target target = byAnnotationRule(hint); !target.device.empty()) {
        return target;
      }
    }
    Target target = configuration_.empty() ? Target() : byName(hints, configuration_);
    return target.device.empty() ? byName(hints, "") : target;
  }

  void pin(mlir::Operation* op, const DeviceHints& hints) {
    std::string label = passes::labelOf(op->getLoc());
    Target target = byNodeRule(label);
    if (target.device.empty() && overruledBy_.empty()) {
      target = byHints(hints);
    }
    for (const DeviceHint& hint : hints) {
      record(label, hint, target);
    }
    if (!hints.empty() || !target.device.empty()) {
      op->setLoc(passes::withoutWishes(op->getLoc()));
      passes::setPin(op, {target.device, target.source});
    }
  }

  void record(const std::string& label, const DeviceHint& hint, const Target& target) {
    AnnotationReport report;
    report.configuration = hint.configuration.str();
    report.name = nameOf(hint);
    if (target.hint == hint) {
      report.device = target.device;
      report.why = target.source;
    } else if (!target.device.empty()) {
      report.why = absl::StrCat(target.source, " decides");
    } else if (!overruledBy_.empty()) {
      report.why = absl::StrCat(overruledBy_, " overrules it");
    } else {
      report.ignored = true;
      report.why = hint.problem.empty() ? std::string(kNoDevice) : hint.problem.str();
    }
    auto [entry, isNew] = rowIndices_.try_emplace(
        {report.configuration, report.name, report.device, report.why}, rows_.size());
    if (isNew) {
      rows_.push_back({report, {}});
    }
    rows_[entry->second].second.insert(label);
  }

  mlir::func::FuncOp function_;
  const Cluster& cluster_;
  const std::string& overruledBy_;
  std::string configuration_;  // whose devices are those of the cluster; "": none
  std::vector<std::pair<AnnotationReport, std::set<std::string>>> rows_;  // with the nodes' names
  std::map<std::array<std::string, 4>, size_t> rowIndices_;  // of rows, by what they say
};

std::string listed(std::vector<std::string> names) {
  size_t count = names.size();
  names.resize(std::min(count, kListed));
  return absl::StrCat(absl::StrJoin(names, ", "),
                      count > kListed ? absl::StrCat(" and ", count - kListed, " more") : "");
}

}  // namespace

absl::Status checkAnnotationRules(mlir::func::FuncOp function, const Cluster& cluster) {
  std::set<std::string> known;
  forEachOperation(function, [&](mlir::Operation*, const DeviceHints& hints) {
    for (const DeviceHint& hint : hints) {
      if (hint.problem.empty()) {
        known.insert(nameOf(hint));
      }
    }
  });
  std::vector<std::string> names(known.begin(), known.end());
  std::vector<std::string> problems;
  for (const PinRule& rule : cluster.pins) {
    bool matches = std::any_of(names.begin(), names.end(), [&](const std::string& name) {
      return runtime::matchesGlob(rule.nodes, name);
    });
    if (rule.annotation && !cluster.findDevice(rule.device)) {
      problems.push_back(absl::StrCat(rule.source, ": pin of annotation '", rule.nodes,
                                      "': no device '", rule.device, "'",
                                      runtime::didYouMean(rule.device, cluster.deviceNames())));
    }
    if (rule.annotation && !matches) {
      problems.push_back(absl::StrCat(
          rule.source, ": pin of annotation '", rule.nodes, "': the model ",
          names.empty()
              ? "has no annotations that name devices or layers; pin its nodes by name"
              : absl::StrCat("asks for ", listed(names), runtime::didYouMean(rule.nodes, names))));
    }
  }
  return problems.empty() ? absl::OkStatus()
                          : absl::FailedPreconditionError(absl::StrJoin(problems, "\n"));
}

void markKnownRules(mlir::func::FuncOp function, Cluster& cluster) {
  if (cluster.pins.empty() && cluster.forbids.empty()) {
    return;
  }
  std::set<std::string> labels;
  forEachOperation(function, [&](mlir::Operation* op, const DeviceHints&) {
    labels.insert(passes::labelOf(op->getLoc()));
  });
  const std::vector<std::string> folded = passes::foldedNames(function);
  for (std::vector<PinRule>* rules : {&cluster.pins, &cluster.forbids}) {
    for (PinRule& rule : *rules) {
      // Of nodes with one label the second is called "label#2".
      const std::string pattern = rule.nodes.substr(0, rule.nodes.find('#'));
      auto matchesAny = [&](const auto& names) {
        return std::any_of(names.begin(), names.end(), [&](const std::string& name) {
          return runtime::matchesLabel(pattern, name);
        });
      };
      const bool isLeft = matchesAny(labels);
      rule.known = isLeft || pattern == "*" || matchesAny(folded);
      rule.folded = rule.known && !isLeft;
    }
  }
}

std::vector<AnnotationReport> pinByAnnotations(mlir::func::FuncOp function, const Cluster& cluster,
                                               const std::string& overruledBy) {
  return Annotations(function, cluster, overruledBy).run();
}

std::string unusedAnnotations(const std::vector<AnnotationReport>& reports) {
  std::vector<std::string> lines;
  size_t count = 0;
  for (const AnnotationReport& report : reports) {
    if (report.ignored && ++count <= kListed) {
      lines.push_back(absl::StrCat(describe(report.configuration, report.name), " (", report.nodes,
                                   report.nodes == 1 ? " node): " : " nodes): ", report.why));
    }
  }
  if (lines.empty()) {
    return "";
  }
  bool unknown =
      std::any_of(reports.begin(), reports.end(), [](const auto& r) { return r.why == kNoDevice; });
  return absl::StrCat(
      "the model asks for devices that its nodes do not get: ", absl::StrJoin(lines, ", "),
      count > kListed ? absl::StrCat(" and ", count - kListed, " more") : "",
      unknown ? "; say which devices are meant with --pin '@NAME=DEVICE'" : "",
      "; graphrun explain shows all");
}

}  // namespace graphrun::placement
