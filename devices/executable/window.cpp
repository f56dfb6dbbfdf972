#include "devices/executable/window.h"

#include <algorithm>

namespace graphrun::devices {
namespace {

constexpr int64_t kLimit = int64_t{1} << 31;  // products of two stay within 64 bits

/// Strides, dilations and pads as given, each of the right length and in range.
absl::StatusOr<Window> readWindow(const Instruction& instruction,
                                  absl::Span<const int64_t> kernel) {
  size_t n = kernel.size();
  Window w;
  w.kernel.assign(kernel.begin(), kernel.end());
  GR_ASSIGN_OR_RETURN(w.strides, attributeOr(instruction, "strides", std::vector<int64_t>(n, 1)));
  GR_ASSIGN_OR_RETURN(w.dilations,
                      attributeOr(instruction, "dilations", std::vector<int64_t>(n, 1)));
  GR_ASSIGN_OR_RETURN(std::vector<int64_t> pads,
                      attributeOr(instruction, "pads", std::vector<int64_t>(2 * n, 0)));
  auto outside = [](int64_t low) { return [low](int64_t v) { return v < low || v > kLimit; }; };
  if (w.strides.size() != n || w.dilations.size() != n || pads.size() != 2 * n ||
      std::any_of(w.strides.begin(), w.strides.end(), outside(1)) ||
      std::any_of(w.dilations.begin(), w.dilations.end(), outside(1)) ||
      std::any_of(w.kernel.begin(), w.kernel.end(), outside(1)) ||
      std::any_of(pads.begin(), pads.end(), outside(-kLimit))) {
    return invalidInstruction(instruction,
                              "kernel, strides, dilations or pads do not fit the spatial dims");
  }
  w.padsBegin.assign(pads.begin(), pads.begin() + static_cast<int64_t>(n));
  w.padsEnd.assign(pads.begin() + static_cast<int64_t>(n), pads.end());
  return w;
}

/// Splits `total` padding as "same_upper" (more at the end) or "same_lower" says.
void splitPadding(bool upper, int64_t total, int64_t& begin, int64_t& end) {
  total = std::max<int64_t>(total, 0);
  begin = upper ? total / 2 : total - total / 2;
  end = total - begin;
}

absl::Status checkRanks(const Instruction& instruction, size_t input, size_t kernel,
                        size_t output) {
  if (input != kernel || output != kernel || kernel == 0) {
    return invalidInstruction(instruction,
                              "input, kernel and result have different numbers of spatial dims");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Window> windowOf(const Instruction& instruction, absl::Span<const int64_t> input,
                                absl::Span<const int64_t> kernel, absl::Span<const int64_t> output,
                                bool ceilMode) {
  GR_RETURN_IF_ERROR(checkRanks(instruction, input.size(), kernel.size(), output.size()));
  GR_ASSIGN_OR_RETURN(Window w, readWindow(instruction, kernel));
  GR_ASSIGN_OR_RETURN(std::string padding,
                      attributeOr(instruction, "padding", std::string("explicit")));
  for (size_t i = 0; i < kernel.size(); ++i) {
    if (input[i] > kLimit || output[i] > kLimit) {
      return invalidInstruction(instruction, "a spatial dim is too large");
    }
    int64_t reach = (output[i] - 1) * w.strides[i] + w.extent(i);
    if (padding != "explicit") {
      splitPadding(padding == "same_upper", reach - input[i], w.padsBegin[i], w.padsEnd[i]);
    }
    w.padsCovering.push_back(reach - input[i] - w.padsBegin[i]);
    int64_t slack = input[i] + w.padsBegin[i] + w.padsEnd[i] - w.extent(i);
    int64_t count = slack < 0 ? 0 : slack / w.strides[i] + 1;
    // Rounded up there may be one window more.
    bool fits =
        output[i] == count || (ceilMode && output[i] == count + 1 && slack % w.strides[i] != 0);
    if (!fits && output[i] != 0) {
      return invalidInstruction(instruction, absl::StrCat("spatial dim ", i, " of the result is ",
                                                          output[i], ", expected ", count));
    }
  }
  return w;
}

absl::StatusOr<Window> transposedWindowOf(const Instruction& instruction,
                                          absl::Span<const int64_t> input,
                                          absl::Span<const int64_t> kernel,
                                          absl::Span<const int64_t> output) {
  GR_RETURN_IF_ERROR(checkRanks(instruction, input.size(), kernel.size(), output.size()));
  GR_ASSIGN_OR_RETURN(Window w, readWindow(instruction, kernel));
  GR_ASSIGN_OR_RETURN(std::string padding,
                      attributeOr(instruction, "padding", std::string("explicit")));
  GR_ASSIGN_OR_RETURN(std::vector<int64_t> shape,
                      attributeOr(instruction, "output_shape", std::vector<int64_t>()));
  GR_ASSIGN_OR_RETURN(
      std::vector<int64_t> extra,
      attributeOr(instruction, "output_padding", std::vector<int64_t>(kernel.size(), 0)));
  if (extra.size() != kernel.size()) {
    return invalidInstruction(instruction, "output_padding does not fit the spatial dims");
  }
  for (size_t i = 0; i < kernel.size(); ++i) {
    if (input[i] > kLimit || output[i] > kLimit || std::abs(extra[i]) > kLimit) {
      return invalidInstruction(instruction, "a spatial dim is too large");
    }
    int64_t full = (input[i] - 1) * w.strides[i] + w.extent(i) + extra[i];
    if (!shape.empty() || padding != "explicit") {
      splitPadding(padding == "same_upper", full - output[i], w.padsBegin[i], w.padsEnd[i]);
    } else if (full - w.padsBegin[i] - w.padsEnd[i] != output[i]) {
      return invalidInstruction(instruction,
                                absl::StrCat("spatial dim ", i, " of the result is ", output[i],
                                             ", expected ", full - w.padsBegin[i] - w.padsEnd[i]));
    }
    w.padsCovering.push_back(full - extra[i] - w.padsBegin[i] - output[i]);
  }
  return w;
}

}  // namespace graphrun::devices
