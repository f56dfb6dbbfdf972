// These functions compute the discrete Fourier transform of any length. Internal to devices/cpu.
#ifndef GRAPHRUN_DEVICES_CPU_REFERENCE_FOURIER_H_
#define GRAPHRUN_DEVICES_CPU_REFERENCE_FOURIER_H_

#include <complex>
#include <cstdint>
#include <vector>

namespace graphrun::devices::cpu {

/// Transforms of one length: powers of two by halving (Cooley and Tukey, 1965), others as a
/// convolution of such a length (Bluestein, 1970). Any number of threads may use one.
class Fourier {
 public:
  using Complex = std::complex<double>;

  /// `length` is at least 1.
  explicit Fourier(int64_t length);

  int64_t length() const { return length_; }
  /// Values that `transform` needs beside its data.
  int64_t scratch() const { return padded_ == length_ ? 0 : padded_; }
  /// y[k] = sum of x[n] exp(-2 pi i k n / length), in place.
  void transform(Complex* data, Complex* scratch) const;

 private:
  void powerOfTwo(Complex* data) const;

  int64_t length_;
  int64_t padded_;                 ///< a power of two
  std::vector<Complex> roots_;     ///< exp(-2 pi i k / padded)
  std::vector<Complex> chirp_;     ///< exp(-pi i n^2 / length); empty for a power of two
  std::vector<Complex> spectrum_;  ///< of the chirp's conjugate, divided by padded
};

}  // namespace graphrun::devices::cpu

#endif  // GRAPHRUN_DEVICES_CPU_REFERENCE_FOURIER_H_
