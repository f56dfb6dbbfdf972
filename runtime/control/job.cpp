#include "runtime/control/job.h"

#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/control/limits.h"

namespace graphrun::runtime {

absl::StatusOr<std::string> randomSecret() {
  std::string secret(kSecretBytes, '\0');
  // So few bytes come whole or not at all.
  if (getrandom(secret.data(), secret.size(), 0) != static_cast<ssize_t>(secret.size())) {
    return absl::InternalError("no random numbers from the kernel: cannot make a secret");
  }
  return secret;
}

absl::StatusOr<uint64_t> randomIncarnation() {
  GR_ASSIGN_OR_RETURN(std::string bytes, randomSecret());
  uint64_t number = 0;
  std::memcpy(&number, bytes.data(), sizeof(number));
  return number | 1;
}

std::string jobLabel(const std::string& job) {
  return absl::BytesToHexString(absl::string_view(job).substr(0, 4));
}

std::string processLabel() {
  char host[256] = "";
  gethostname(host, sizeof(host) - 1);
  return absl::StrCat(host, ":", getpid());
}

absl::StatusOr<std::string> LinkTokens::tokenOf(uint32_t a, uint32_t b) {
  auto [it, isNew] = tokens_.try_emplace({std::min(a, b), std::max(a, b)});
  if (isNew) {
    GR_ASSIGN_OR_RETURN(it->second, randomSecret());
  }
  return it->second;
}

}  // namespace graphrun::runtime
