// `graphrun certs DIR` makes a certificate authority and one certificate a worker, for mutual TLS.
#ifndef GRAPHRUN_RUNTIME_CONTROL_CERTS_H_
#define GRAPHRUN_RUNTIME_CONTROL_CERTS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"

namespace graphrun::runtime {

/// One worker to certify.
struct CertificateName {
  std::string name;  // file name without ending: letters, digits, '.', '_', '-'
  std::string host;  // host name or IP under which the coordinator reaches it
};

/// Writes ca.pem, ca.key, coordinator.pem/.key and <name>.pem/.key for each worker into `dir`,
/// which is made (mode 0700) if missing. EC P-256 keys of mode 0600; the authority is valid for ten
/// years, the others for two. The coordinator's certificate is for client authentication only, a
/// worker's for server authentication only, with its host as subject alternative name.
/// AlreadyExists, with nothing written, if one of the files exists; InvalidArgument for a bad name.
absl::Status makeCertificates(const std::string& dir, absl::Span<const CertificateName> workers);

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_CONTROL_CERTS_H_
