// OpenSSL makes these certificates.
#ifndef GRAPHRUN_RUNTIME_CONTROL_CERTIFICATE_FILES_H_
#define GRAPHRUN_RUNTIME_CONTROL_CERTIFICATE_FILES_H_

#include <string>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "runtime/control/certs.h"

namespace graphrun::runtime {

/// See makeCertificates.
absl::Status writeCertificates(const std::string& dir, absl::Span<const CertificateName> workers);

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_CONTROL_CERTIFICATE_FILES_H_
