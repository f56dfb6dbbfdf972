// Secrets of one run: the job id, and the tokens that open tensor links.
#ifndef GRAPHRUN_RUNTIME_CONTROL_JOB_H_
#define GRAPHRUN_RUNTIME_CONTROL_JOB_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "absl/status/statusor.h"

namespace graphrun::runtime {

/// kSecretBytes from the cryptographic generator.
absl::StatusOr<std::string> randomSecret();

/// A random number that tells one process from the next at the same address; never 0.
absl::StatusOr<uint64_t> randomIncarnation();

/// First characters of a job id in hexadecimal, for messages: the whole is a secret.
std::string jobLabel(const std::string& job);

/// "host:pid" of this process, for messages.
std::string processLabel();

/// The tokens of a job: one secret for each pair of ranks, the same for both. Not synchronised.
class LinkTokens {
 public:
  /// The token of the link between `a` and `b`, made on first use.
  absl::StatusOr<std::string> tokenOf(uint32_t a, uint32_t b);

 private:
  std::map<std::pair<uint32_t, uint32_t>, std::string> tokens_;
};

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_CONTROL_JOB_H_
