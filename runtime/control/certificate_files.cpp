#include "runtime/control/certificate_files.h"

#include <fcntl.h>
#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <set>

#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/control/openssl_init.h"

namespace graphrun::runtime {
namespace {

template <auto kFree>
struct Deleter {
  template <typename T>
  void operator()(T* p) const {
    kFree(p);
  }
};
using Key = std::unique_ptr<EVP_PKEY, Deleter<EVP_PKEY_free>>;
using Certificate = std::unique_ptr<X509, Deleter<X509_free>>;
using Bio = std::unique_ptr<BIO, Deleter<BIO_free>>;
using Extension = std::unique_ptr<X509_EXTENSION, Deleter<X509_EXTENSION_free>>;
using AlternativeNames = std::unique_ptr<GENERAL_NAMES, Deleter<GENERAL_NAMES_free>>;
using Number = std::unique_ptr<BIGNUM, Deleter<BN_free>>;

constexpr long kDaySeconds = 24L * 3600;
constexpr long kAuthorityDays = 3650;
constexpr long kLeafDays = 730;
constexpr int kSerialBits = 127;
constexpr long kX509Version3 = 2;

absl::Status opensslError(absl::string_view what) {
  char text[256];
  ERR_error_string_n(ERR_get_error(), text, sizeof(text));
  return absl::InternalError(absl::StrCat("making certificates: ", what, ": ", text));
}

struct Pair {
  Key key;
  Certificate cert;
};

absl::Status addExtension(X509* cert, X509* issuer, int nid, const char* value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, cert, nullptr, nullptr, 0);
  Extension extension(X509V3_EXT_conf_nid(nullptr, &context, nid, value));
  if (!extension || !X509_add_ext(cert, extension.get(), -1)) {
    return opensslError(absl::StrCat("extension ", OBJ_nid2sn(nid)));
  }
  return absl::OkStatus();
}

/// The host as IP or DNS entry, built without OpenSSL's configuration syntax: no injection.
absl::Status addHost(X509* cert, const std::string& host) {
  AlternativeNames names(GENERAL_NAMES_new());
  GENERAL_NAME* name = GENERAL_NAME_new();
  if (ASN1_OCTET_STRING* ip = a2i_IPADDRESS(host.c_str())) {
    GENERAL_NAME_set0_value(name, GEN_IPADD, ip);
  } else {
    ASN1_IA5STRING* dns = ASN1_IA5STRING_new();
    ASN1_STRING_set(dns, host.data(), static_cast<int>(host.size()));
    GENERAL_NAME_set0_value(name, GEN_DNS, dns);
  }
  sk_GENERAL_NAME_push(names.get(), name);
  if (!X509_add1_ext_i2d(cert, NID_subject_alt_name, names.get(), 0, X509V3_ADD_DEFAULT)) {
    return opensslError("subject alternative name");
  }
  return absl::OkStatus();
}

absl::Status setSerial(X509* cert) {
  Number serial(BN_new());
  if (!BN_rand(serial.get(), kSerialBits, BN_RAND_TOP_ONE, BN_RAND_BOTTOM_ANY) ||
      !BN_to_ASN1_INTEGER(serial.get(), X509_get_serialNumber(cert))) {
    return opensslError("serial number");
  }
  return absl::OkStatus();
}

/// A fresh key and an unsigned certificate for it with the subject CN=`name`.
absl::StatusOr<Pair> newPair(const std::string& name, long days) {
  Pair pair{Key(EVP_EC_gen("P-256")), Certificate(X509_new())};
  if (!pair.key || !pair.cert) {
    return opensslError("P-256 key");
  }
  X509* cert = pair.cert.get();
  GR_RETURN_IF_ERROR(setSerial(cert));
  X509_NAME* subject = X509_get_subject_name(cert);
  bool ok =
      X509_set_version(cert, kX509Version3) &&
      X509_gmtime_adj(X509_getm_notBefore(cert), -3600) &&  // clocks differ
      X509_gmtime_adj(X509_getm_notAfter(cert), days * kDaySeconds) &&
      X509_set_pubkey(cert, pair.key.get()) &&
      X509_NAME_add_entry_by_txt(subject, "O", MBSTRING_ASC,
                                 reinterpret_cast<const unsigned char*>("GraphRun"), -1, -1, 0) &&
      X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC,
                                 reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0);
  if (!ok) {
    return opensslError(absl::StrCat("certificate of ", name));
  }
  return pair;
}

absl::Status sign(X509* cert, X509* issuer, EVP_PKEY* issuerKey) {
  if (!X509_set_issuer_name(cert, X509_get_subject_name(issuer)) ||
      !X509_sign(cert, issuerKey, EVP_sha256())) {
    return opensslError("signature");
  }
  return absl::OkStatus();
}

absl::StatusOr<Pair> makeAuthority() {
  GR_ASSIGN_OR_RETURN(Pair ca, newPair("graphrun cluster CA", kAuthorityDays));
  X509* cert = ca.cert.get();
  GR_RETURN_IF_ERROR(addExtension(cert, cert, NID_basic_constraints, "critical,CA:TRUE,pathlen:0"));
  GR_RETURN_IF_ERROR(addExtension(cert, cert, NID_key_usage, "critical,keyCertSign,cRLSign"));
  GR_RETURN_IF_ERROR(addExtension(cert, cert, NID_subject_key_identifier, "hash"));
  GR_RETURN_IF_ERROR(sign(cert, cert, ca.key.get()));
  return ca;
}

/// `host` "" makes the coordinator's certificate, which has no host and only authenticates clients.
absl::StatusOr<Pair> makeLeaf(const Pair& ca, const std::string& name, const std::string& host) {
  GR_ASSIGN_OR_RETURN(Pair leaf, newPair(name, kLeafDays));
  X509* cert = leaf.cert.get();
  X509* issuer = ca.cert.get();
  GR_RETURN_IF_ERROR(addExtension(cert, issuer, NID_basic_constraints, "critical,CA:FALSE"));
  GR_RETURN_IF_ERROR(addExtension(cert, issuer, NID_key_usage, "critical,digitalSignature"));
  GR_RETURN_IF_ERROR(
      addExtension(cert, issuer, NID_ext_key_usage, host.empty() ? "clientAuth" : "serverAuth"));
  GR_RETURN_IF_ERROR(addExtension(cert, issuer, NID_authority_key_identifier, "keyid"));
  if (!host.empty()) {
    GR_RETURN_IF_ERROR(addHost(cert, host));
  }
  GR_RETURN_IF_ERROR(sign(cert, issuer, ca.key.get()));
  return leaf;
}

absl::Status writeNew(const std::string& path, BIO* text, mode_t mode) {
  // O_EXCL also refuses symbolic links: the key lands in a file that is ours.
  int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
  if (fd < 0) {
    absl::string_view why = std::strerror(errno);
    return errno == EEXIST
               ? absl::AlreadyExistsError(
                     absl::StrCat("'", path, "' exists; certificates are never overwritten"))
               : absl::PermissionDeniedError(absl::StrCat("cannot create '", path, "': ", why));
  }
  char* data = nullptr;
  long size = BIO_get_mem_data(text, &data);
  bool ok = write(fd, data, static_cast<size_t>(size)) == size && fsync(fd) == 0;
  ok = close(fd) == 0 && ok;
  return ok ? absl::OkStatus()
            : absl::ResourceExhaustedError(
                  absl::StrCat("cannot write '", path, "': ", std::strerror(errno)));
}

absl::Status writePair(const std::string& dir, const std::string& name, const Pair& pair) {
  Bio cert(BIO_new(BIO_s_mem()));
  Bio key(BIO_new(BIO_s_secmem()));
  if (!PEM_write_bio_X509(cert.get(), pair.cert.get()) ||
      !PEM_write_bio_PrivateKey(key.get(), pair.key.get(), nullptr, nullptr, 0, nullptr, nullptr)) {
    return opensslError(absl::StrCat("PEM of ", name));
  }
  GR_RETURN_IF_ERROR(writeNew(absl::StrCat(dir, "/", name, ".key"), key.get(), 0600));
  return writeNew(absl::StrCat(dir, "/", name, ".pem"), cert.get(), 0644);
}

bool isPlain(const std::string& text, absl::string_view extra) {
  if (text.empty() || text.size() > 200 || text[0] == '.' || text[0] == '-') {
    return false;
  }
  for (char c : text) {
    if (!absl::ascii_isalnum(static_cast<unsigned char>(c)) &&
        extra.find(c) == absl::string_view::npos) {
      return false;
    }
  }
  return true;
}

absl::Status checkNames(absl::Span<const CertificateName> workers) {
  std::set<std::string> seen = {"ca", "coordinator"};
  for (const CertificateName& worker : workers) {
    if (!isPlain(worker.name, "._-")) {
      return absl::InvalidArgumentError(
          absl::StrCat("worker name '", worker.name,
                       "': expected letters, digits, '.', '_' and '-', not starting with '.'"));
    }
    if (!seen.insert(worker.name).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("worker name '", worker.name, "' is taken: give each worker its own"));
    }
    bool plainHost = isPlain(worker.host, "._-:") || worker.host == "::1";
    if (!plainHost) {
      return absl::InvalidArgumentError(absl::StrCat(
          "host '", worker.host, "' of worker '", worker.name, "': expected a host name or an IP"));
    }
  }
  return absl::OkStatus();
}

absl::Status checkFree(const std::string& dir, absl::Span<const CertificateName> workers) {
  std::vector<std::string> names = {"ca", "coordinator"};
  for (const CertificateName& worker : workers) {
    names.push_back(worker.name);
  }
  for (const std::string& name : names) {
    for (absl::string_view ending : {".pem", ".key"}) {
      std::string path = absl::StrCat(dir, "/", name, ending);
      struct stat info;
      if (lstat(path.c_str(), &info) == 0) {
        return absl::AlreadyExistsError(
            absl::StrCat("'", path,
                         "' exists; certificates are never overwritten: give an empty "
                         "directory or remove the old set yourself"));
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status writeCertificates(const std::string& dir, absl::Span<const CertificateName> workers) {
  GR_RETURN_IF_ERROR(checkNames(workers));
  if (mkdir(dir.c_str(), 0700) != 0 && errno != EEXIST) {
    return absl::PermissionDeniedError(
        absl::StrCat("cannot make directory '", dir, "': ", std::strerror(errno)));
  }
  GR_RETURN_IF_ERROR(checkFree(dir, workers));
  GR_RETURN_IF_ERROR(initOpenssl());
  GR_ASSIGN_OR_RETURN(Pair ca, makeAuthority());
  GR_RETURN_IF_ERROR(writePair(dir, "ca", ca));
  GR_ASSIGN_OR_RETURN(Pair coordinator, makeLeaf(ca, "coordinator", ""));
  GR_RETURN_IF_ERROR(writePair(dir, "coordinator", coordinator));
  for (const CertificateName& worker : workers) {
    GR_ASSIGN_OR_RETURN(Pair leaf, makeLeaf(ca, worker.name, worker.host));
    GR_RETURN_IF_ERROR(writePair(dir, worker.name, leaf));
  }
  return absl::OkStatus();
}

}  // namespace graphrun::runtime
