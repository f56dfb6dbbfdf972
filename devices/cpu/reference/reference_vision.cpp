// Sampling of images at the points of a grid.
#include <algorithm>
#include <array>

#include "devices/cpu/reference/reference_grid.h"
#include "devices/cpu/vectors/wide.h"

namespace graphrun::devices::cpu {
namespace {

/// Points of a grid that are worked out together, and then used for all channels.
constexpr int64_t kBlock = 32;

/// The elements of one sample, the same in each channel.
class Sample {
 public:
  template <typename G>
  void fill(const std::vector<GridAxis>& axes, const G* point) {
    for (size_t d = 0; d < axes.size(); ++d) {
      axes[d].tapsAt(load(point[axes.size() - 1 - d]), taps_[d]);
    }
    count_ = 0;
    axes.size() == 2 ? listPixels(axes) : list(axes, 0, 0, 1);
  }

  /// A sum of four elements, as between pixels of an image.
  struct Four {
    size_t sample;
    std::array<int64_t, 4> index;
    std::array<float, 4> weight;
  };
  /// True when this is such a sum, which it then makes `sum`.
  bool isFour(size_t sample, Four& sum) const {
    if (count_ != sum.index.size()) {
      return false;
    }
    sum.sample = sample;
    std::copy_n(index_.begin(), count_, sum.index.begin());
    std::transform(weight_.begin(), weight_.begin() + sum.weight.size(), sum.weight.begin(),
                   [](double weight) { return static_cast<float>(weight); });
    return true;
  }

  template <typename T>
  T value(const std::vector<GridAxis>& axes, const T* in) const {
    if (axes[0].mode == Mode::kNearest) {
      return count_ == 0 ? store<T>(Compute<T>(0)) : in[index_[0]];
    }
    double exact = 0;
    if (count_ > kListed) {
      exact = sum(axes, in, 0, 0);
    } else {
      for (size_t i = 0; i < count_; ++i) {
        exact += weight_[i] * static_cast<double>(load(in[index_[i]]));
      }
    }
    return store<T>(
        convert<Compute<T>>(std::is_integral_v<Compute<T>> ? std::nearbyint(exact) : exact));
  }

 private:
  static constexpr size_t kListed = 16;  // cubic in two dims, linear in four

  /// Lists the elements that count, of two dims, as mostly.
  void listPixels(const std::vector<GridAxis>& axes) {
    auto taps = static_cast<size_t>(axes[0].taps());
    for (size_t row = 0; row < taps; ++row) {
      for (size_t t = 0; t < taps; ++t) {
        if (taps_[0].index[row] >= 0 && taps_[1].index[t] >= 0 && taps_[0].weight[row] != 0 &&
            taps_[1].weight[t] != 0) {
          index_[count_] = taps_[0].index[row] * axes[1].size + taps_[1].index[t];
          weight_[count_++] = taps_[0].weight[row] * taps_[1].weight[t];
        }
      }
    }
  }

  /// Lists the elements that count, of dims [d, rank). Recurses once a dim.
  void list(const std::vector<GridAxis>& axes, size_t d, int64_t from, double weight) {
    if (d == axes.size()) {
      if (count_ < kListed) {
        index_[count_] = from;
        weight_[count_] = weight;
      }
      ++count_;
      return;
    }
    for (size_t t = 0; t < static_cast<size_t>(axes[d].taps()); ++t) {
      if (taps_[d].index[t] >= 0 && taps_[d].weight[t] != 0) {
        list(axes, d + 1, from * axes[d].size + taps_[d].index[t], weight * taps_[d].weight[t]);
      }
    }
  }

  /// Weighted sum over the taps of dims [d, rank), where they are too many to list. Recurses once a
  /// dim.
  template <typename T>
  double sum(const std::vector<GridAxis>& axes, const T* in, size_t d, int64_t from) const {
    if (d == axes.size()) {
      return static_cast<double>(load(in[from]));
    }
    double total = 0;
    for (size_t t = 0; t < static_cast<size_t>(axes[d].taps()); ++t) {
      if (taps_[d].index[t] >= 0 && taps_[d].weight[t] != 0) {
        total += taps_[d].weight[t] * sum(axes, in, d + 1, from * axes[d].size + taps_[d].index[t]);
      }
    }
    return total;
  }

  std::array<Taps, kMostSpatial> taps_;
  std::array<int64_t, kListed> index_;
  std::array<double, kListed> weight_;
  size_t count_ = 0;
};

/// The samples of a block of points, those apart that are sums of four floats.
class SampleBlock {
 public:
  /// `floats`: whether elements are f32.
  template <typename G>
  void fill(const std::vector<GridAxis>& axes, const G* grids, size_t count, bool floats) {
    for (size_t i = 0; i < count; ++i) {
      samples_[i].fill(axes, grids + i * axes.size());
    }
    fourCount_ = otherCount_ = 0;
    for (size_t i = 0; i < count; ++i) {
      if (floats && samples_[i].isFour(i, fours_[fourCount_])) {
        ++fourCount_;
      } else {
        others_[otherCount_++] = i;
      }
    }
  }

  /// The samples of each of `channels` planes of `plane` elements, the results `points` apart.
  template <typename T>
  void write(const std::vector<GridAxis>& axes, const T* x, int64_t plane, int64_t channels, T* y,
             int64_t points) const {
    int64_t c = 0;
    for (; c + 4 <= channels; c += 4) {
      writePlanes<4>(axes, x + c * plane, plane, y + c * points, points);
    }
    for (; c < channels; ++c) {
      writePlanes<1>(axes, x + c * plane, plane, y + c * points, points);
    }
  }

 private:
  template <int64_t planes, typename T>
  void writePlanes(const std::vector<GridAxis>& axes, const T* x, int64_t plane, T* y,
                   int64_t points) const {
    if constexpr (std::is_same_v<T, float>) {
      for (size_t i = 0; i < fourCount_; ++i) {
        const Sample::Four& four = fours_[i];
        const int64_t a = four.index[0], b = four.index[1], c = four.index[2], d = four.index[3];
        const float wa = four.weight[0], wb = four.weight[1], wc = four.weight[2],
                    wd = four.weight[3];
        float* to = y + four.sample;
        for (int64_t p = 0; p < planes; ++p) {
          const float* in = x + p * plane;
          to[p * points] = (in[a] * wa + in[b] * wb) + (in[c] * wc + in[d] * wd);
        }
      }
    }
    for (size_t i = 0; i < otherCount_; ++i) {
      for (int64_t p = 0; p < planes; ++p) {
        y[p * points + static_cast<int64_t>(others_[i])] =
            samples_[others_[i]].value(axes, x + p * plane);
      }
    }
  }

  std::array<Sample, kBlock> samples_;
  std::array<size_t, kBlock> others_;
  std::array<Sample::Four, kBlock> fours_;
  size_t fourCount_ = 0;
  size_t otherCount_ = 0;
};

/// Works out the samples of `count` points, the first of which is `first` in the grid.
using FillBlock = void (*)(SampleBlock& samples, const std::vector<GridAxis>& axes,
                           const void* grid, int64_t first, size_t count, bool floats);
template <typename G>
void fillBlock(SampleBlock& samples, const std::vector<GridAxis>& axes, const void* grid,
               int64_t first, size_t count, bool floats) {
  const G* points = static_cast<const G*>(grid) + first * static_cast<int64_t>(axes.size());
  runWide([&] { samples.fill(axes, points, count, floats); });
}

/// GridPlanes say where the planes of one image and of its samples lie.
struct GridPlanes {
  int64_t channels, plane, points;
};

/// Writes the samples of all channels of image `n` from point `first` on.
using WriteBlock = void (*)(const SampleBlock& samples, const std::vector<GridAxis>& axes,
                            const GridPlanes& of, const void* image, void* result, int64_t n,
                            int64_t first);
template <typename T>
void writeBlock(const SampleBlock& samples, const std::vector<GridAxis>& axes, const GridPlanes& of,
                const void* image, void* result, int64_t n, int64_t first) {
  const T* x = static_cast<const T*>(image) + n * of.channels * of.plane;
  T* y = static_cast<T*>(result) + n * of.channels * of.points + first;
  runWide([&] { samples.write(axes, x, of.plane, of.channels, y, of.points); });
}

KernelOr makeGridSample(const Instruction& instruction, std::vector<GridAxis> axes, FillBlock fill,
                        WriteBlock write) {
  const Dims& in = instruction.inputs[0].desc.dims;
  int64_t batch = in[0];
  GridPlanes of{in[1], countOf(absl::MakeConstSpan(in).subspan(2)),
                countOf(absl::MakeConstSpan(instruction.outputs[0].desc.dims).subspan(2))};
  bool floats = instruction.outputs[0].desc.type == runtime::ElementType::kF32;
  uint32_t image = instruction.inputs[0].buffer;
  uint32_t grid = instruction.inputs[1].buffer;
  uint32_t result = instruction.outputs[0].buffer;
  int64_t blocks = (of.points + kBlock - 1) / kBlock;
  return makeKernel([=, axes = std::move(axes)](void* const* buffers) {
    parallelFor(batch * blocks, kBlock * of.channels * 16, [&](int64_t block) {
      int64_t n = block / blocks;
      int64_t first = block % blocks * kBlock;
      auto count = static_cast<size_t>(std::min(kBlock, of.points - first));
      SampleBlock samples;
      fill(samples, axes, buffers[grid], n * of.points + first, count, floats);
      write(samples, axes, of, buffers[image], buffers[result], n, first);
    });
    return 0;
  });
}

KernelOr createGridSample(const Instruction& instruction) {
  GR_ASSIGN_OR_RETURN(std::vector<GridAxis> axes,
                      gridAxes(instruction, instruction.outputs[0].desc.dims));
  return dispatchElement(instruction.outputs[0].desc.type, [&]<typename T>() -> KernelOr {
    return dispatchFloat(instruction.inputs[1].desc.type, [&]<typename G>() -> KernelOr {
      return makeGridSample(instruction, std::move(axes), fillBlock<G>, writeBlock<T>);
    });
  });
}

constexpr ReferenceEntry kEntries[] = {
    {"gr.grid_sample", TypeRule::kResize, createGridSample, 2},
};

}  // namespace

absl::Span<const ReferenceEntry> referenceVision() { return kEntries; }

}  // namespace graphrun::devices::cpu
