// Certificates authenticate the two ends of the control plane.
#ifndef GRAPHRUN_RUNTIME_CONTROL_SECURITY_H_
#define GRAPHRUN_RUNTIME_CONTROL_SECURITY_H_

#include <string>

namespace graphrun::runtime {

/// Files of one end for mutual TLS, PEM, as `graphrun certs DIR` makes them. All three or none.
///
/// The rules, enforced where a worker listens and where a coordinator connects:
/// - a Unix socket needs none: it lies in a directory of mode 0700 and the worker asks the kernel
/// for
///   the peer's user (SO_PEERCRED), who must be the worker's own user or root;
/// - a loopback IP may go without: then every user of this machine can reach the worker. With
/// files,
///   it is TLS like any other;
/// - every other address must have them. There is no switch to go without.
/// A worker accepts only certificates made for client authentication (the coordinator's), so that
/// the key of one worker does not command another.
struct Security {
  std::string ca;
  std::string cert;
  std::string key;  // must not be readable by group or others

  bool empty() const { return ca.empty() && cert.empty() && key.empty(); }
};

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_CONTROL_SECURITY_H_
