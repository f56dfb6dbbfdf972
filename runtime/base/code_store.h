// A code store keeps machine code by the name of what it was made from.
#ifndef GRAPHRUN_RUNTIME_BASE_CODE_STORE_H_
#define GRAPHRUN_RUNTIME_BASE_CODE_STORE_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/types/span.h"

namespace graphrun::runtime {

/// A CodeStore keeps what a compiler generated for later calls and other processes. A compiler may
/// ask from several threads.
class CodeStore {
 public:
  virtual ~CodeStore() = default;
  /// The code that was stored under `name`, valid as long as the store; nothing when there is none.
  virtual std::optional<absl::Span<const uint8_t>> find(const std::string& name) = 0;
  virtual void store(const std::string& name, absl::Span<const uint8_t> code) = 0;
};

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_BASE_CODE_STORE_H_
