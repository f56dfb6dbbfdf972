#include "runtime/worker/network_interface.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <set>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "runtime/base/names.h"

namespace graphrun::runtime {
namespace {

/// One address of one interface of this machine.
struct Own {
  std::string interface;
  std::string address;
  bool loopback;
};

/// Numeric text of an IP address; "" for another family.
std::string textOf(const sockaddr* address) {
  char text[NI_MAXHOST];
  if (address == nullptr || (address->sa_family != AF_INET && address->sa_family != AF_INET6)) {
    return "";
  }
  socklen_t size = address->sa_family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
  return getnameinfo(address, size, text, sizeof text, nullptr, 0, NI_NUMERICHOST) == 0 ? text : "";
}

/// All addresses of this machine; the loopback interface also where it has none.
std::vector<Own> ownAddresses() {
  ifaddrs* list = nullptr;
  std::vector<Own> own;
  if (getifaddrs(&list) != 0) {
    return own;
  }
  for (ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
    const std::string label = entry->ifa_name;  // "eth0:1" of a further address of eth0
    own.push_back({label.substr(0, label.find(':')), textOf(entry->ifa_addr),
                   (entry->ifa_flags & IFF_LOOPBACK) != 0});
  }
  freeifaddrs(list);
  return own;
}

bool isLoopback(const sockaddr& address) {
  if (address.sa_family == AF_INET) {
    return ntohl(reinterpret_cast<const sockaddr_in&>(address).sin_addr.s_addr) >> 24 == 127;
  }
  return address.sa_family == AF_INET6 &&
         IN6_IS_ADDR_LOOPBACK(&reinterpret_cast<const sockaddr_in6&>(address).sin6_addr);
}

bool isEvery(const sockaddr& address) {
  if (address.sa_family == AF_INET) {
    return reinterpret_cast<const sockaddr_in&>(address).sin_addr.s_addr == htonl(INADDR_ANY);
  }
  return address.sa_family == AF_INET6 &&
         IN6_IS_ADDR_UNSPECIFIED(&reinterpret_cast<const sockaddr_in6&>(address).sin6_addr);
}

/// Name of the interface that has the address; "" if none has. All of 127.0.0.0/8 is loopback's.
std::string interfaceOf(const sockaddr& address) {
  if (isLoopback(address)) {
    return loopbackInterface();
  }
  const std::string text = textOf(&address);
  for (const Own& own : ownAddresses()) {
    if (!text.empty() && own.address == text) {
      return own.interface;
    }
  }
  return "";
}

/// Our own interface towards `to`: connecting a datagram socket sends nothing.
std::string interfaceTowards(const addrinfo& to) {
  int fd = socket(to.ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) {
    return "";
  }
  sockaddr_storage storage{};
  auto& own = reinterpret_cast<sockaddr&>(storage);
  socklen_t size = sizeof storage;
  bool ok = connect(fd, to.ai_addr, to.ai_addrlen) == 0 && getsockname(fd, &own, &size) == 0;
  close(fd);
  return ok ? interfaceOf(own) : "";
}

using Found = std::unique_ptr<addrinfo, void (*)(addrinfo*)>;

absl::StatusOr<Found> resolve(const std::string& host) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* found = nullptr;
  if (int error = getaddrinfo(host.c_str(), "9", &hints, &found); error != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("host '", host, "' cannot be resolved: ", gai_strerror(error)));
  }
  return Found(found, freeaddrinfo);
}

absl::Status notOurs(const Address& address, const addrinfo* found) {
  std::vector<std::string> wanted;
  for (; found != nullptr; found = found->ai_next) {
    wanted.push_back(textOf(found->ai_addr));
  }
  std::vector<std::string> have;
  for (const Own& own : ownAddresses()) {
    if (!own.address.empty()) {
      have.push_back(absl::StrCat(own.address, " (", own.interface, ")"));
    }
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "cannot listen at ", address.toString(), ": no interface of this machine has the address ",
      absl::StrJoin(wanted, " or "), "; it has ", absl::StrJoin(have, ", "), "; give one of them"));
}

bool isRdmaDevice(const std::string& name) {
  return !name.empty() && name.find('/') == name.npos && name[0] != '.' &&
         access(absl::StrCat("/sys/class/infiniband/", name).c_str(), F_OK) == 0;
}

}  // namespace

std::string loopbackInterface() {
  for (const Own& own : ownAddresses()) {
    if (own.loopback) {
      return own.interface;
    }
  }
  return "";
}

absl::StatusOr<std::string> interfaceOfListener(const Address& address) {
  if (address.kind == Address::Kind::kUnix) {
    return loopbackInterface();
  }
  auto found = resolve(address.host);
  if (!found.ok()) {
    return found.status();
  }
  for (const addrinfo* one = found->get(); one != nullptr; one = one->ai_next) {
    if (isEvery(*one->ai_addr)) {
      return "";
    }
    if (std::string name = interfaceOf(*one->ai_addr); !name.empty()) {
      return name;
    }
  }
  return notOurs(address, found->get());
}

absl::Status checkInterfaces(const std::string& interfaces) {
  for (const std::string& name : std::vector<std::string>(
           absl::StrSplit(interfaces == "all" ? "" : interfaces, ',', absl::SkipEmpty()))) {
    const std::string device = name.substr(0, name.find(':'));
    if (if_nametoindex(device.c_str()) == 0 && !isRdmaDevice(device)) {
      std::set<std::string> names;
      for (const Own& own : ownAddresses()) {
        names.insert(own.interface);
      }
      const std::vector<std::string> known(names.begin(), names.end());
      return absl::InvalidArgumentError(absl::StrCat("this machine has no interface '", name, "'",
                                                     didYouMean(device, known),
                                                     " (known: ", absl::StrJoin(known, ", "), ")"));
    }
  }
  return absl::OkStatus();
}

std::string interfaceTowards(const std::string& host) {
  auto found = resolve(host);
  return found.ok() ? interfaceTowards(**found) : "";
}

}  // namespace graphrun::runtime
