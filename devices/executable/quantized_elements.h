// Stored elements of 8-bit floating-point types are converted on their way into a device's memory.
#ifndef GRAPHRUN_DEVICES_EXECUTABLE_QUANTIZED_ELEMENTS_H_
#define GRAPHRUN_DEVICES_EXECUTABLE_QUANTIZED_ELEMENTS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "devices/executable/executable.h"

namespace graphrun::devices {

/// InvalidArgument unless `quantized` is of an 8-bit floating-point type and `to` f32, f16 or bf16.
absl::Status checkQuantization(const Quantization& quantized, runtime::ElementType to);

/// Returns the numbers that the elements `given` (a byte each) stand for, of type `to`. Requires
/// checkQuantization.
std::vector<uint8_t> dequantized(const Quantization& quantized, runtime::ElementType to,
                                 absl::Span<const uint8_t> given);

/// The elements of a stored buffer's source (one for a splat) from those that the plan has: `given`
/// itself, or what it stands for, which is put into `made`.
absl::Span<const uint8_t> sourceElements(const Buffer& buffer, absl::Span<const uint8_t> given,
                                         std::vector<uint8_t>& made);

/// Returns the key of a buffer's Quantization, which tells its content from others'; "" without
/// one.
std::string quantizationKey(const Buffer& buffer);

}  // namespace graphrun::devices

#endif  // GRAPHRUN_DEVICES_EXECUTABLE_QUANTIZED_ELEMENTS_H_
