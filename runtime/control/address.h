// Addresses of workers look like "host:port", "[::1]:7070", "unix:/path".
#ifndef GRAPHRUN_RUNTIME_CONTROL_ADDRESS_H_
#define GRAPHRUN_RUNTIME_CONTROL_ADDRESS_H_

#include <string>

#include "absl/status/statusor.h"

namespace graphrun::runtime {

/// An Address is where a worker listens.
struct Address {
  enum class Kind { kUnix, kIpv4, kIpv6, kName };
  Kind kind = Kind::kUnix;
  std::string host;  // without brackets; "" for kUnix
  int port = 0;      // 0: any free one (listening only)
  std::string path;  // kUnix only

  /// True if only this machine can reach it: a Unix socket or a loopback IP.
  bool isLocal() const;
  /// The text form, as parseAddress reads it.
  std::string toString() const;
  /// gRPC's target for a client: "unix:/p", "ipv4:1.2.3.4:5", "ipv6:[::1]:5", "dns:///host:5".
  std::string grpcTarget() const;
};

/// Reads an address; "localhost" means 127.0.0.1. InvalidArgument says what was expected.
absl::StatusOr<Address> parseAddress(const std::string& text);

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_CONTROL_ADDRESS_H_
