#include "runtime/control/credentials.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "runtime/base/status.h"
#include "runtime/control/openssl_init.h"

namespace graphrun::runtime {
namespace {

constexpr size_t kMaxPemBytes = 1 << 20;

struct Pem {
  std::string ca;
  std::string cert;
  std::string key;
};

absl::StatusOr<std::string> readPem(const std::string& path, absl::string_view what) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  if (!file || !(text << file.rdbuf())) {
    return absl::NotFoundError(absl::StrCat("cannot read the ", what, " '", path,
                                            "': ", std::strerror(errno),
                                            "; `graphrun certs DIR` makes a set"));
  }
  std::string pem = text.str();
  if (pem.size() > kMaxPemBytes || pem.find("-----BEGIN ") == std::string::npos) {
    return absl::InvalidArgumentError(
        absl::StrCat("the ", what, " '", path, "' is not a PEM file"));
  }
  return pem;
}

absl::Status checkKeyMode(const std::string& path) {
  struct stat info;
  if (stat(path.c_str(), &info) == 0 && (info.st_mode & 077) != 0) {
    return absl::PermissionDeniedError(
        absl::StrFormat("the private key '%s' has mode %04o: others can read it; chmod 600 it",
                        path, info.st_mode & 07777));
  }
  return absl::OkStatus();
}

absl::StatusOr<Pem> load(const Security& security) {
  if (security.ca.empty() || security.cert.empty() || security.key.empty()) {
    return absl::InvalidArgumentError(
        "security needs all of ca, cert and key; `graphrun certs DIR` makes a set");
  }
  GR_RETURN_IF_ERROR(checkKeyMode(security.key));
  GR_RETURN_IF_ERROR(initOpenssl());
  Pem pem;
  GR_ASSIGN_OR_RETURN(pem.ca, readPem(security.ca, "certificate authority"));
  GR_ASSIGN_OR_RETURN(pem.cert, readPem(security.cert, "certificate"));
  GR_ASSIGN_OR_RETURN(pem.key, readPem(security.key, "private key"));
  return pem;
}

/// True for TLS, false for a local address without certificates.
absl::StatusOr<bool> wantsTls(const Address& address, const Security& security,
                              absl::string_view verb) {
  if (address.kind == Address::Kind::kUnix) {
    return false;
  }
  if (!security.empty()) {
    return true;
  }
  if (address.isLocal()) {
    return false;
  }
  return absl::FailedPreconditionError(absl::StrCat(
      "refusing to ", verb, " ", address.toString(),
      " without mutual TLS: the address is neither a Unix socket nor a loopback IP. Make "
      "certificates with `graphrun certs DIR` and give ca, cert and key"));
}

}  // namespace

absl::StatusOr<std::shared_ptr<grpc::ServerCredentials>> serverCredentials(
    const Address& address, const Security& security) {
  GR_ASSIGN_OR_RETURN(bool tls, wantsTls(address, security, "listen at"));
  if (!tls) {
    return grpc::InsecureServerCredentials();
  }
  GR_ASSIGN_OR_RETURN(Pem pem, load(security));
  grpc::SslServerCredentialsOptions options(
      GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  options.pem_root_certs = std::move(pem.ca);
  options.pem_key_cert_pairs.push_back({std::move(pem.key), std::move(pem.cert)});
  return grpc::SslServerCredentials(options);
}

absl::StatusOr<std::shared_ptr<grpc::ChannelCredentials>> channelCredentials(
    const Address& address, const Security& security) {
  GR_ASSIGN_OR_RETURN(bool tls, wantsTls(address, security, "connect to"));
  if (!tls) {
    return grpc::InsecureChannelCredentials();
  }
  GR_ASSIGN_OR_RETURN(Pem pem, load(security));
  grpc::SslCredentialsOptions options;
  options.pem_root_certs = std::move(pem.ca);
  options.pem_private_key = std::move(pem.key);
  options.pem_cert_chain = std::move(pem.cert);
  return grpc::SslCredentials(options);
}

}  // namespace graphrun::runtime
