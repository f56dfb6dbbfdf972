#include "runtime/control/address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/un.h>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace graphrun::runtime {
namespace {

absl::Status invalid(const std::string& text, absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat(
      "address '", text, "': ", why, "; expected host:port, [ipv6]:port or unix:/absolute/path"));
}

absl::StatusOr<Address> parseUnix(const std::string& text, absl::string_view path) {
  if (path.empty() || path[0] != '/') {
    return invalid(text, "the path of a Unix socket must be absolute");
  }
  if (path.size() >= sizeof(sockaddr_un::sun_path)) {
    return invalid(text, absl::StrCat("the path has ", path.size(), " bytes, a Unix socket takes ",
                                      sizeof(sockaddr_un::sun_path) - 1));
  }
  Address address;
  address.path = std::string(path);
  return address;
}

Address::Kind kindOfHost(const std::string& host) {
  in6_addr bytes;
  if (inet_pton(AF_INET, host.c_str(), &bytes) == 1) {
    return Address::Kind::kIpv4;
  }
  return inet_pton(AF_INET6, host.c_str(), &bytes) == 1 ? Address::Kind::kIpv6
                                                        : Address::Kind::kName;
}

}  // namespace

bool Address::isLocal() const {
  switch (kind) {
    case Kind::kUnix:
      return true;
    case Kind::kIpv4:
      return absl::StartsWith(host, "127.");
    case Kind::kIpv6: {
      in6_addr bytes;
      return inet_pton(AF_INET6, host.c_str(), &bytes) == 1 && IN6_IS_ADDR_LOOPBACK(&bytes);
    }
    case Kind::kName:
      return false;
  }
  return false;
}

std::string Address::toString() const {
  if (kind == Kind::kUnix) {
    return absl::StrCat("unix:", path);
  }
  return kind == Kind::kIpv6 ? absl::StrCat("[", host, "]:", port) : absl::StrCat(host, ":", port);
}

std::string Address::grpcTarget() const {
  switch (kind) {
    case Kind::kUnix:
      return toString();
    case Kind::kIpv4:
      return absl::StrCat("ipv4:", toString());
    case Kind::kIpv6:
      return absl::StrCat("ipv6:", toString());
    case Kind::kName:
      return absl::StrCat("dns:///", toString());
  }
  return toString();
}

absl::StatusOr<Address> parseAddress(const std::string& text) {
  absl::string_view rest = text;
  if (absl::ConsumePrefix(&rest, "unix:")) {
    return parseUnix(text, rest);
  }
  size_t colon = rest.rfind(':');
  if (colon == absl::string_view::npos || colon == 0) {
    return invalid(text, "no port given");
  }
  Address address;
  if (!absl::SimpleAtoi(rest.substr(colon + 1), &address.port) || address.port < 0 ||
      address.port > 65535) {
    return invalid(text, absl::StrCat("'", rest.substr(colon + 1), "' is not a port"));
  }
  absl::string_view host = rest.substr(0, colon);
  bool bracketed = absl::ConsumePrefix(&host, "[") && absl::ConsumeSuffix(&host, "]");
  address.host = host == "localhost" ? "127.0.0.1" : std::string(host);
  address.kind = kindOfHost(address.host);
  if (bracketed != (address.kind == Address::Kind::kIpv6)) {
    return invalid(text, "brackets belong around an IPv6 address and nothing else");
  }
  if (address.host.find_first_of(" /,[]:") != std::string::npos && !bracketed) {
    return invalid(text, "the host has characters that no host name has");
  }
  return address;
}

}  // namespace graphrun::runtime
