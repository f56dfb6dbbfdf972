#include "runtime/control/certs.h"

#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>

#include <cstdio>

#include "runtime/control/credentials.h"
#include "test_util.h"

namespace graphrun::runtime {
namespace {

X509* readCert(const std::string& path) {
  FILE* file = std::fopen(path.c_str(), "r");
  REQUIRE(file != nullptr);
  X509* cert = PEM_read_X509(file, nullptr, nullptr, nullptr);
  std::fclose(file);
  REQUIRE(cert != nullptr);
  return cert;
}

mode_t modeOf(const std::string& path) {
  struct stat info;
  REQUIRE(stat(path.c_str(), &info) == 0);
  return info.st_mode & 0777;
}

}  // namespace

TEST_CASE("a set of certificates: hosts, uses, signatures, modes") {
  TempDir dir;
  std::string set = dir.path + "/certs";
  requireOk(makeCertificates(set, {{"node0", "127.0.0.1"}, {"node1", "host1.example"}}));
  X509* ca = readCert(set + "/ca.pem");
  X509* ip = readCert(set + "/node0.pem");
  X509* dns = readCert(set + "/node1.pem");
  X509* coordinator = readCert(set + "/coordinator.pem");
  REQUIRE(X509_check_ip_asc(ip, "127.0.0.1", 0) == 1);
  REQUIRE(X509_check_ip_asc(ip, "127.0.0.2", 0) == 0);
  REQUIRE(X509_check_host(dns, "host1.example", 0, 0, nullptr) == 1);
  REQUIRE(X509_check_purpose(ip, X509_PURPOSE_SSL_SERVER, 0) == 1);
  REQUIRE(X509_check_purpose(ip, X509_PURPOSE_SSL_CLIENT, 0) == 0);
  REQUIRE(X509_check_purpose(coordinator, X509_PURPOSE_SSL_CLIENT, 0) == 1);
  REQUIRE(X509_check_purpose(coordinator, X509_PURPOSE_SSL_SERVER, 0) == 0);
  REQUIRE(X509_check_ca(ca) == 1);
  REQUIRE(X509_verify(ip, X509_get0_pubkey(ca)) == 1);
  for (std::string name : {"ca", "coordinator", "node0", "node1"}) {
    REQUIRE(modeOf(set + "/" + name + ".key") == 0600);
  }
  REQUIRE(modeOf(set) == 0700);
  for (X509* cert : {ca, ip, dns, coordinator}) {
    X509_free(cert);
  }
}

TEST_CASE("certificates are never overwritten and names are checked") {
  TempDir dir;
  requireOk(makeCertificates(dir.path, {{"node0", "::1"}}));
  requireError(makeCertificates(dir.path, {{"node9", "127.0.0.1"}}),
               absl::StatusCode::kAlreadyExists, {"never overwritten"});
  REQUIRE_FALSE(std::filesystem::exists(dir.path + "/node9.pem"));
  std::string fresh = dir.path + "/fresh";
  for (std::string bad : {"", "../x", "a b", "ca", "coordinator", ".hidden"}) {
    INFO(bad);
    requireError(makeCertificates(fresh, {{bad, "127.0.0.1"}}), absl::StatusCode::kInvalidArgument,
                 {"'" + bad + "'"});
  }
  requireError(makeCertificates(fresh, {{"a", "h"}, {"a", "h"}}),
               absl::StatusCode::kInvalidArgument, {"taken"});
  requireError(makeCertificates(fresh, {{"a", "h,DNS:evil"}}), absl::StatusCode::kInvalidArgument,
               {"expected a host name"});
  REQUIRE_FALSE(std::filesystem::exists(fresh));
}

TEST_CASE("certificate files are checked before use") {
  TempDir dir;
  requireOk(makeCertificates(dir.path, {{"node0", "127.0.0.1"}}));
  Address address = *parseAddress("127.0.0.1:0");
  Security good{dir.path + "/ca.pem", dir.path + "/node0.pem", dir.path + "/node0.key"};
  requireOk(serverCredentials(address, good).status());
  Security partial = good;
  partial.key = "";
  requireError(serverCredentials(address, partial).status(), absl::StatusCode::kInvalidArgument,
               {"all of ca, cert and key"});
  Security missing = good;
  missing.ca = dir.path + "/nothing.pem";
  requireError(serverCredentials(address, missing).status(), absl::StatusCode::kNotFound,
               {"nothing.pem"});
  chmod(good.key.c_str(), 0644);
  requireError(serverCredentials(address, good).status(), absl::StatusCode::kPermissionDenied,
               {"0644", "chmod 600"});
}

}  // namespace graphrun::runtime
