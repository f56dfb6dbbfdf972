// Defines the errors that a generated kernel may find in what it reads, and how it reports them.
// Compilers and programs share this.
#ifndef GRAPHRUN_DEVICES_CUDA_KERNELS_KERNEL_ERRORS_H_
#define GRAPHRUN_DEVICES_CUDA_KERNELS_KERNEL_ERRORS_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace graphrun::devices::cuda {

/// Attribute (bool) of a generated instruction whose kernel has two more parameters, behind all
/// others: the address of the program's ErrorRecord, and what the instruction adds its error to.
inline constexpr char kReportsErrors[] = "reports_errors";

/// Kinds of errors.
enum class KernelError : uint8_t {
  kIndex = 1,
  kDivision,
  kLength,
  kDelta,
  kRegion,
  kSamples,
  kCount,
  kAxis
};

inline constexpr uint32_t kErrorKinds = 256;

/// The first error. An index fills what is behind the word: what it is, its number among the
/// indices, and how many there may be; nothing where it may be none at all.
struct ErrorRecord {
  uint32_t word = 0;  ///< 0: there is none; else the instruction's base and the kind
  int64_t index = 0;
  int64_t position = 0;
  int64_t bound = 0;  ///< from -bound to bound - 1; 0: this is not told
};
/// Behind the word, in units of 8 bytes.
inline constexpr int64_t kErrorDetails = 1;
static_assert(sizeof(ErrorRecord) == 32 && offsetof(ErrorRecord, index) == 8 * kErrorDetails);

/// The number to which instruction `index` adds the kind of its error.
inline uint32_t errorBase(uint32_t index) { return (index + 1) * kErrorKinds; }
inline uint32_t instructionOfError(uint32_t word) { return word / kErrorKinds - 1; }

/// InvalidArgument, as reference kernels on the CPU say it; Internal for a word that no kernel
/// makes.
inline absl::Status statusOfError(const ErrorRecord& error) {
  constexpr std::array<const char*, 9> kTexts = {
      nullptr,
      "an index is out of range",
      "integer division by zero",
      "start, limit and delta at run time give another length than was planned",
      "delta is 0",
      "a region names an image that is not there",
      "a region is so large that a part of it has more than 2^20 samples a side",
      "k at run time is another one than was planned",
      "the axis is out of range"};
  uint32_t kind = error.word % kErrorKinds;
  if (kind == static_cast<uint32_t>(KernelError::kIndex) && error.bound > 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "index ", error.index, ", number ", error.position,
        " of the indices, is out of range, expected ", -error.bound, " to ", error.bound - 1));
  }
  return kind > 0 && kind < kTexts.size()
             ? absl::InvalidArgumentError(kTexts[kind])
             : absl::InternalError(absl::StrCat("a kernel left the error ", error.word));
}

}  // namespace graphrun::devices::cuda

#endif  // GRAPHRUN_DEVICES_CUDA_KERNELS_KERNEL_ERRORS_H_
