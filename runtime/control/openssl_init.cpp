#include "runtime/control/openssl_init.h"

#include <openssl/crypto.h>

namespace graphrun::runtime {

absl::Status initOpenssl() {
  return OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, nullptr) == 1
             ? absl::OkStatus()
             : absl::InternalError("OpenSSL does not start; is its configuration file in order?");
}

}  // namespace graphrun::runtime
