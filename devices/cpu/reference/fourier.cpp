#include "devices/cpu/reference/fourier.h"

#include <bit>
#include <numbers>

namespace graphrun::devices::cpu {
namespace {

/// exp(-2 pi i numerator / denominator).
std::complex<double> root(int64_t numerator, int64_t denominator) {
  double angle = -2 * std::numbers::pi * static_cast<double>(numerator % denominator) /
                 static_cast<double>(denominator);
  return std::polar(1.0, angle);
}

}  // namespace

Fourier::Fourier(int64_t length) : length_(length) {
  auto n = static_cast<uint64_t>(length);
  bool isPower = std::has_single_bit(n);
  padded_ = static_cast<int64_t>(isPower ? n : std::bit_ceil(2 * n - 1));
  for (int64_t k = 0; k < padded_ / 2; ++k) {
    roots_.push_back(root(k, padded_));
  }
  if (isPower) {
    return;
  }
  spectrum_.assign(static_cast<size_t>(padded_), 0);
  const uint64_t period = 2 * n;
  for (int64_t i = 0; i < length; ++i) {
    // i * i modulo 2 * length, so that the angle stays exact.
    auto square =
        static_cast<int64_t>(static_cast<unsigned __int128>(i) * static_cast<uint64_t>(i) % period);
    chirp_.push_back(root(square, 2 * length));
    Complex value = std::conj(chirp_.back()) / static_cast<double>(padded_);
    spectrum_[static_cast<size_t>(i)] = value;
    spectrum_[static_cast<size_t>(i == 0 ? 0 : padded_ - i)] = value;
  }
  powerOfTwo(spectrum_.data());
}

void Fourier::powerOfTwo(Complex* data) const {
  for (int64_t i = 1, j = 0; i < padded_; ++i) {  // j: i with its bits reversed
    int64_t bit = padded_ >> 1;
    for (; (j & bit) != 0; bit >>= 1) {
      j ^= bit;
    }
    j ^= bit;
    if (i < j) {
      std::swap(data[i], data[j]);
    }
  }
  for (int64_t half = 1; half < padded_; half *= 2) {
    int64_t stride = padded_ / (2 * half);
    for (int64_t base = 0; base < padded_; base += 2 * half) {
      for (int64_t k = 0; k < half; ++k) {
        Complex a = data[base + k];
        Complex b = data[base + k + half] * roots_[static_cast<size_t>(k * stride)];
        data[base + k] = a + b;
        data[base + k + half] = a - b;
      }
    }
  }
}

void Fourier::transform(Complex* data, Complex* scratch) const {
  if (chirp_.empty()) {
    return powerOfTwo(data);
  }
  for (int64_t i = 0; i < padded_; ++i) {
    scratch[i] = i < length_ ? data[i] * chirp_[static_cast<size_t>(i)] : 0;
  }
  powerOfTwo(scratch);
  // The inverse transform is the forward one of the conjugate.
  for (int64_t i = 0; i < padded_; ++i) {
    scratch[i] = std::conj(scratch[i] * spectrum_[static_cast<size_t>(i)]);
  }
  powerOfTwo(scratch);
  for (int64_t i = 0; i < length_; ++i) {
    data[i] = std::conj(scratch[i]) * chirp_[static_cast<size_t>(i)];
  }
}

}  // namespace graphrun::devices::cpu
