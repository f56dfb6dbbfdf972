// A code image is generated machine code, loaded from memory.
#ifndef GRAPHRUN_DEVICES_CPU_BASE_CODE_IMAGE_H_
#define GRAPHRUN_DEVICES_CPU_BASE_CODE_IMAGE_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace graphrun::devices::cpu {

/// A kernel of the code image: computes iterations [begin, end) of its outermost loop. `arguments`
/// are the inputs, then the outputs.
using GeneratedFunction = void (*)(void* const* arguments, int64_t begin, int64_t end);

/// An ELF shared object that was never a file. Its functions live as long as it does.
class CodeImage {
 public:
  /// Loads `elf`. The code is trusted as the program itself is: InvalidArgument for what is no
  /// shared object of this machine, Internal with the linker's message for one that does not load.
  static absl::StatusOr<std::unique_ptr<CodeImage>> load(absl::Span<const uint8_t> elf);
  ~CodeImage();
  CodeImage(const CodeImage&) = delete;
  CodeImage& operator=(const CodeImage&) = delete;

  absl::StatusOr<GeneratedFunction> find(const std::string& symbol) const;

 private:
  explicit CodeImage(int file) : file_(file) {}

  int file_;
  void* handle_ = nullptr;
};

}  // namespace graphrun::devices::cpu

#endif  // GRAPHRUN_DEVICES_CPU_BASE_CODE_IMAGE_H_
