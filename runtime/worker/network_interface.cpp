#include "runtime/worker/network_interface.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>

namespace graphrun::runtime {
namespace {

/// Numeric text of an IP address; "" for another family.
std::string textOf(const sockaddr* address) {
  char text[NI_MAXHOST];
  if (address == nullptr || (address->sa_family != AF_INET && address->sa_family != AF_INET6)) {
    return "";
  }
  socklen_t size = address->sa_family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
  return getnameinfo(address, size, text, sizeof text, nullptr, 0, NI_NUMERICHOST) == 0 ? text : "";
}

/// Our own address on the way to `to`: connecting a datagram socket sends nothing.
std::string ownAddressTowards(const addrinfo& to) {
  int fd = socket(to.ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) {
    return "";
  }
  sockaddr_storage own{};
  socklen_t size = sizeof own;
  bool ok = connect(fd, to.ai_addr, to.ai_addrlen) == 0 &&
            getsockname(fd, reinterpret_cast<sockaddr*>(&own), &size) == 0;
  close(fd);
  return ok ? textOf(reinterpret_cast<sockaddr*>(&own)) : "";
}

}  // namespace

std::string interfaceOfAddress(const std::string& host) {
  ifaddrs* list = nullptr;
  if (host.empty() || getifaddrs(&list) != 0) {
    return "";
  }
  std::string name;
  for (ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
    if ((entry->ifa_flags & IFF_LOOPBACK) == 0 && textOf(entry->ifa_addr) == host) {
      name = entry->ifa_name;
    }
  }
  freeifaddrs(list);
  return name;
}

std::string interfaceTowards(const std::string& host) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* found = nullptr;
  if (host.empty() || getaddrinfo(host.c_str(), "9", &hints, &found) != 0) {
    return "";
  }
  std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(found, freeaddrinfo);
  return interfaceOfAddress(ownAddressTowards(*found));
}

}  // namespace graphrun::runtime
