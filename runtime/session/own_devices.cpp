#include "runtime/session/own_devices.h"

#include <algorithm>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "devices/device.h"
#include "runtime/base/status.h"
#include "runtime/session/error_domain.h"

namespace graphrun::runtime {
namespace {

/// The hardware that "local/KIND:1" or "KIND:1" names; nothing for other devices.
std::optional<Hardware> hardwareOf(absl::string_view device) {
  absl::ConsumePrefix(&device, absl::StrCat(kOwnMachine, "/"));
  for (const DeviceKind& kind : devices::deviceKinds()) {
    absl::string_view number = device;
    uint32_t index = 0;
    if (!kind.onHostCores && absl::ConsumePrefix(&number, absl::StrCat(kind.name, ":")) &&
        absl::SimpleAtoi(number, &index)) {
      return Hardware{kind.name, index};
    }
  }
  return std::nullopt;
}

std::vector<std::string> namedDevices(const SessionOptions& options) {
  std::vector<std::string> names;
  names.reserve(options.pins.size() + options.memoryLimits.size() + 1);
  for (const PlacementPin& pin : options.pins) {
    names.push_back(pin.device);
  }
  for (const DeviceMemoryLimit& limit : options.memoryLimits) {
    names.push_back(limit.device);
  }
  absl::string_view strategy = options.strategy;
  if (absl::ConsumePrefix(&strategy, "on:")) {
    names.emplace_back(strategy);
  }
  return names;
}

}  // namespace

absl::Status missingDevice(const std::string& worker, const Hardware& hardware, bool isHere,
                           absl::Span<const std::string> missing) {
  devices::DeviceDescription description;
  description.name = absl::StrCat(worker, "/", hardware.kind, ":", hardware.index);
  description.kind = hardware.kind;
  description.index = hardware.index;
  absl::Status why = isHere ? devices::checkDevice(description) : absl::OkStatus();
  if (!why.ok()) {
    return why;
  }
  auto told = std::find_if(missing.begin(), missing.end(), [&](const std::string& line) {
    return absl::StrContains(line, hardware.kind);
  });
  return absl::NotFoundError(
      absl::StrCat("device ", description.name, ": worker ", worker, " has no such device; ",
                   told == missing.end() ? "graphrun doctor on its machine says which there are"
                                         : absl::StrCat("it has no ", *told)));
}

absl::Status checkOwnCores(const ClusterDescription& cluster) {
  for (const GivenWorker& worker : cluster.workers) {
    for (const DeviceSpec& given : worker.devices) {
      devices::DeviceDescription device;
      device.kind = given.kind.name;
      device.index = static_cast<uint32_t>(given.index);
      device.name = absl::StrCat(worker.name, "/", given.kind.name, ":", given.index);
      device.cores.assign(given.cores.begin(), given.cores.end());
      const bool isHere = worker.isLocal() || worker.isInClient();
      absl::Status status =
          isHere && !device.cores.empty() ? devices::checkDevice(device) : absl::OkStatus();
      if (!status.ok()) {
        return inDomain(annotate(status, given.source), ErrorDomain::kPlacement);
      }
    }
  }
  return absl::OkStatus();
}

absl::Status checkCores(const GivenWorker& worker, absl::Span<const DeviceDescription> offers) {
  auto cpu = std::find_if(offers.begin(), offers.end(),
                          [](const DeviceDescription& offer) { return offer.kind == kHostKind; });
  const std::vector<uint32_t> allowed = cpu == offers.end() ? std::vector<uint32_t>() : cpu->cores;
  for (const DeviceSpec& device : worker.devices) {
    for (int core : device.cores) {
      if (std::find(allowed.begin(), allowed.end(), static_cast<uint32_t>(core)) == allowed.end()) {
        return inDomain(absl::InvalidArgumentError(absl::StrCat(
                            device.source, ": device ", worker.name, "/", device.kind.name, ":",
                            device.index, ": logical CPU ", core, " is not there or not allowed; ",
                            "worker ", worker.name, " may use ", absl::StrJoin(allowed, ","))),
                        ErrorDomain::kPlacement);
      }
    }
  }
  return absl::OkStatus();
}

absl::Status checkNamedHardware(const SessionOptions& options,
                                absl::Span<const DeviceDescription> offers) {
  for (const std::string& name : namedDevices(options)) {
    std::optional<Hardware> named = hardwareOf(name);
    bool isMissing =
        named.has_value() &&
        std::none_of(offers.begin(), offers.end(), [&](const DeviceDescription& offer) {
          return offer.kind == named->kind && offer.index == named->index;
        });
    if (isMissing) {
      return inDomain(missingDevice(kOwnMachine, *named, true), ErrorDomain::kPlacement);
    }
  }
  return absl::OkStatus();
}

}  // namespace graphrun::runtime
