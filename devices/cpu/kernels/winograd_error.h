// These bounds tell from the weights how exact Winograd convolutions are. Internal to devices/cpu.
#ifndef GRAPHRUN_DEVICES_CPU_KERNELS_WINOGRAD_ERROR_H_
#define GRAPHRUN_DEVICES_CPU_KERNELS_WINOGRAD_ERROR_H_

#include <cstdint>

#include "absl/types/span.h"

namespace graphrun::devices::cpu {

/// A Winograd convolution is taken where its bound is at most so many times that of a sum.
inline constexpr double kMostWinogradError = 20;

/// The bound of a Winograd convolution's rounding errors, for `tile` x `tile` results (2 or 4), as
/// a multiple of that of a direct sum in any order; the largest of all output channels. `taps` is
/// the filter, out x in x 3 x 3.
///
/// Channel k of a direct sum is within n * u * |w_k| * max|x| of the exact one, where n = 9 * in
/// products are added, u = 2^-24, and |w_k| is the sum of the filter's magnitudes. By the
/// transforms A^T [(G g G^T) * (B^T d B)] A it is within (in + r) * u * a_k * |w_k| * max|x|: r
/// roundings by the transforms follow those of the sum over channels, and a_k is what |A^T|
/// (|G||g||G^T| * |B^T| |B|) |A| makes of magnitudes (Barabasz, Anderson, Soodhalter and Gregg,
/// "Error Analysis and Improving the Accuracy of Winograd Convolution for Deep Neural Networks",
/// 2020). a_k depends on how the weights of a channel are spread over the taps: it is at most 16
/// for 2 x 2 results, 205 for 4 x 4, and 7 and 84 for equal weights.
///
/// Infinity where an output channel has weights that are not finite or over 2^40, and where all
/// weights, but not all of them 0, are below 2^-100: products of these lose digits.
double winogradError(int64_t tile, int64_t out, int64_t in, absl::Span<const float> taps);

}  // namespace graphrun::devices::cpu

#endif  // GRAPHRUN_DEVICES_CPU_KERNELS_WINOGRAD_ERROR_H_
