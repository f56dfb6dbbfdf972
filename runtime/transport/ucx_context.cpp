#include "runtime/transport/ucx_context.h"

#include <unistd.h>

#include <algorithm>
#include <cstdarg>
#include <cstdlib>
#include <fstream>
#include <initializer_list>
#include <mutex>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "runtime/base/log.h"
#include "runtime/base/status.h"
#include "runtime/transport/ucx_library.h"

namespace graphrun::runtime {
namespace {

// UCX logs to stdout, where results go.
ucs_log_func_rc_t logUcx(const char*, unsigned, const char*, ucs_log_level_t level,
                         const ucs_log_component_config_t*, const char* format,
                         va_list arguments) noexcept {
  char text[512];
  std::vsnprintf(text, sizeof text, format, arguments);
  LogLevel ours = level <= UCS_LOG_LEVEL_ERROR  ? LogLevel::kError
                  : level == UCS_LOG_LEVEL_WARN ? LogLevel::kWarning
                                                : LogLevel::kDebug;
  try {
    log(UcxQuiet::active() ? LogLevel::kDebug : ours, absl::StrCat("UCX: ", text));
  } catch (...) {  // NOLINT(bugprone-empty-catch): there is no memory to say it
  }
  return UCS_LOG_FUNC_RC_STOP;
}

bool isBefore115() {
  unsigned major = 0, minor = 0, patch = 0;
  ucx().ucp_get_version(&major, &minor, &patch);
  return major == 1 && minor < 15;
}

// Before 1.15, ucp_config_modify takes options of one transport without its prefix; only TCP has
// the two below.
std::string tcpOption(absl::string_view name) {
  return isBefore115() ? std::string(name) : absl::StrCat("TCP_", name);
}

absl::Status setDefault(ucp_config_t* config, absl::string_view variable, const std::string& name,
                        const std::string& value) {
  if (value.empty() || std::getenv(std::string(variable).c_str()) != nullptr) {
    return absl::OkStatus();
  }
  return ucxStatus(ucx().ucp_config_modify(config, name.c_str(), value.c_str()),
                   absl::StrFormat("setting %s=%s", variable, value));
}

// Tells whether the user's choice of transports leaves one in that has these names; UCX warns of
// options without a use.
bool mayUse(std::initializer_list<absl::string_view> names) {
  const char* chosen = std::getenv("UCX_TLS");
  absl::string_view list = chosen == nullptr ? "all" : chosen;
  const std::vector<absl::string_view> listed = absl::StrSplit(absl::StripPrefix(list, "^"), ',');
  const bool isListed =
      list == "all" || std::any_of(listed.begin(), listed.end(), [&](absl::string_view one) {
        return std::find(names.begin(), names.end(), one) != names.end();
      });
  return absl::StartsWith(list, "^") != isListed;
}

absl::Status configure(ucp_config_t* config, const UcxOptions& options) {
  if (mayUse({"tcp"})) {  // the defaults, 8 and 64 KiB, reach a fifth of a socket's bandwidth
    GR_RETURN_IF_ERROR(setDefault(config, "UCX_TCP_TX_SEG_SIZE", tcpOption("TX_SEG_SIZE"), "64k"));
    GR_RETURN_IF_ERROR(setDefault(config, "UCX_TCP_RX_SEG_SIZE", tcpOption("RX_SEG_SIZE"), "128k"));
  }
  // A small message lies in the receiver's queue itself, credits and what rides with it included,
  // where 128 bytes would do for half of that. Both ends must have the same, see kAddressPrefix.
  // What newer libraries call it is not known.
  if (isBefore115() && mayUse({"shm", "sm", "mm", "posix", "sysv"})) {
    GR_RETURN_IF_ERROR(setDefault(config, "UCX_MM_FIFO_ELEM_SIZE", "MM_FIFO_ELEM_SIZE", "256"));
  }
  return setDefault(config, "UCX_NET_DEVICES", "NET_DEVICES", options.networkInterface);
}

/// Changes with the options that both ends of shared memory must have alike.
constexpr absl::string_view kAddressPrefix = "gr-ucx2 ";

absl::string_view minorVersion(absl::string_view version) {
  size_t first = version.find('.');
  size_t second = first == version.npos ? first : version.find('.', first + 1);
  return version.substr(0, second);
}

std::string linkText(const char* path) {
  char text[64];
  const ssize_t bytes = readlink(path, text, sizeof text);
  return bytes > 0 ? std::string(text, static_cast<size_t>(bytes)) : "?";
}

/// The kernel that runs this process, and its IPC and network namespaces: "?" for what is not
/// known.
std::string ownLocation() {
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  return absl::StrJoin(
      {boot.empty() ? "?" : boot, linkText("/proc/self/ns/ipc"), linkText("/proc/self/ns/net")},
      ",");
}

bool shareOnlyIpc(absl::string_view location, absl::string_view other) {
  const std::vector<absl::string_view> a = absl::StrSplit(location, ',');
  const std::vector<absl::string_view> b = absl::StrSplit(other, ',');
  return a.size() == 3 && b.size() == 3 && !absl::StrContains(location, '?') &&
         !absl::StrContains(other, '?') && a[0] == b[0] && a[1] == b[1] && a[2] != b[2];
}

absl::StatusOr<std::string> addressOf(ucp_worker_h worker, uint32_t flags) {
  ucp_worker_attr_t attributes{};
  attributes.field_mask = UCP_WORKER_ATTR_FIELD_ADDRESS | UCP_WORKER_ATTR_FIELD_ADDRESS_FLAGS;
  attributes.address_flags = flags;
  GR_RETURN_IF_ERROR(
      ucxStatus(ucx().ucp_worker_query(worker, &attributes), "getting UCX's address"));
  std::string address(reinterpret_cast<const char*>(attributes.address), attributes.address_length);
  ucx().ucp_worker_release_address(worker, attributes.address);
  return address;
}

absl::StatusCode codeOf(ucs_status_t status) {
  switch (status) {
    case UCS_ERR_NO_MEMORY:
    case UCS_ERR_NO_RESOURCE:
      return absl::StatusCode::kResourceExhausted;
    case UCS_ERR_INVALID_PARAM:
    case UCS_ERR_INVALID_ADDR:
      return absl::StatusCode::kInvalidArgument;
    case UCS_ERR_UNREACHABLE:
    case UCS_ERR_NO_DEVICE:
      return absl::StatusCode::kFailedPrecondition;
    case UCS_ERR_CANCELED:
      return absl::StatusCode::kCancelled;
    case UCS_ERR_IO_ERROR:  // of a request: what a peer that died looks like over shared memory
    case UCS_ERR_CONNECTION_RESET:
    case UCS_ERR_ENDPOINT_TIMEOUT:
    case UCS_ERR_NOT_CONNECTED:
    case UCS_ERR_TIMED_OUT:
      return absl::StatusCode::kUnavailable;
    default:
      return absl::StatusCode::kInternal;
  }
}

}  // namespace

absl::Status ucxStatus(ucs_status_t status, absl::string_view what) noexcept {
  if (status == UCS_OK) {
    return absl::OkStatus();
  }
  try {
    return absl::Status(codeOf(status),
                        absl::StrCat(what, ": UCX: ", ucx().ucs_status_string(status)));
  } catch (...) {  // there is no memory for the text
    return absl::Status(codeOf(status), "");
  }
}

// UCX's own choice of log stays if the user made one.
void takeLog() {
  static std::once_flag once;
  std::call_once(once, [] {
    if (std::getenv("UCX_LOG_LEVEL") == nullptr && std::getenv("UCX_LOG_FILE") == nullptr) {
      ucx().ucs_log_push_handler(logUcx);
    }
  });
}

void UcxContextDeleter::operator()(ucp_context_h context) const { ucx().ucp_cleanup(context); }

absl::StatusOr<UcxContext> makeUcxContext(const UcxOptions& options) {
  GR_RETURN_IF_ERROR(loadUcx(options.memoryEvents).status());
  takeLog();
  ucp_config_t* config = nullptr;
  GR_RETURN_IF_ERROR(
      ucxStatus(ucx().ucp_config_read(nullptr, nullptr, &config), "reading the UCX configuration"));
  auto release = [](ucp_config_t* c) { ucx().ucp_config_release(c); };
  std::unique_ptr<ucp_config_t, decltype(release)> configOwner(config);
  GR_RETURN_IF_ERROR(configure(config, options));
  ucp_params_t params{};
  params.field_mask = UCP_PARAM_FIELD_FEATURES | UCP_PARAM_FIELD_NAME;
  params.features = UCP_FEATURE_AM | UCP_FEATURE_WAKEUP;
  params.name = "graphrun";
  ucp_context_h context = nullptr;
  GR_RETURN_IF_ERROR(
      ucxStatus(ucx().ucp_init_version(UCP_API_MAJOR, UCP_API_MINOR, &params, config, &context),
                "starting UCX"));
  return UcxContext(context);
}

std::string ucxVersion() {
  if (!loadUcx(/*memoryEvents=*/false).ok()) {
    return "";
  }
  unsigned major = 0, minor = 0, patch = 0;
  ucx().ucp_get_version(&major, &minor, &patch);
  return absl::StrFormat("%d.%d.%d", major, minor, patch);
}

absl::StatusOr<std::string> packUcxAddress(ucp_worker_h worker) {
  GR_ASSIGN_OR_RETURN(std::string all, addressOf(worker, 0));
  GR_ASSIGN_OR_RETURN(std::string network, addressOf(worker, UCP_WORKER_ADDRESS_FLAG_NET_ONLY));
  return absl::StrCat(kAddressPrefix, ucxVersion(), " ", ownLocation(), " ", all.size(), "\n", all,
                      network);
}

absl::StatusOr<std::string> unpackUcxAddress(absl::string_view blob) {
  absl::Status wrong = absl::InvalidArgumentError(
      absl::StrFormat("not a UCX address: \"%s\"", absl::CHexEscape(blob.substr(0, 80))));
  const size_t end = blob.find('\n');
  if (end == blob.npos || !absl::StartsWith(blob, kAddressPrefix) || end < kAddressPrefix.size()) {
    return wrong;
  }
  const std::vector<absl::string_view> facts =
      absl::StrSplit(blob.substr(kAddressPrefix.size(), end - kAddressPrefix.size()), ' ');
  const std::string own = ucxVersion();
  if (minorVersion(facts[0]) != minorVersion(own)) {
    return absl::FailedPreconditionError(absl::StrFormat(
        "the peer runs UCX %s, this process UCX %s; their wire formats differ: install the same "
        "minor version on both",
        facts[0], own));
  }
  const absl::string_view addresses = blob.substr(end + 1);
  size_t bytes = 0;
  if (facts.size() != 3 || !absl::SimpleAtoi(facts[2], &bytes) || bytes == 0 ||
      bytes >= addresses.size()) {
    return wrong;
  }
  return std::string(shareOnlyIpc(facts[1], ownLocation()) ? addresses.substr(bytes)
                                                           : addresses.substr(0, bytes));
}

}  // namespace graphrun::runtime
