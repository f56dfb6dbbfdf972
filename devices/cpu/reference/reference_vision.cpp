// Sampling of images at computed places: grids, regions, blocks.
#include <algorithm>
#include <array>
#include <limits>

#include "devices/cpu/reference/reference_support.h"
#include "devices/cpu/vectors/wide.h"

namespace graphrun::devices::cpu {
namespace {

constexpr size_t kMostSpatial = 8;
constexpr int64_t kMostTaps = 4;

enum class Mode { kNearest, kLinear, kCubic };
enum class Padding { kZeros, kBorder, kReflection };

/// Index of attribute `name`'s value in `values`, or InvalidArgument.
template <typename Enum, size_t N>
absl::StatusOr<Enum> parse(const Step& step, const char* name,
                           const absl::string_view (&values)[N]) {
  GR_ASSIGN_OR_RETURN(std::string value, attribute<std::string>(step, name));
  for (size_t i = 0; i < N; ++i) {
    if (values[i] == value) {
      return static_cast<Enum>(i);
    }
  }
  return invalidStep(step, absl::StrCat(name, " is \"", value, "\", which is unknown"));
}

/// Input elements along one dim that make up a sample; index -1 is in the zeros around it.
struct Taps {
  std::array<int64_t, kMostTaps> index;
  std::array<double, kMostTaps> weight;
};

/// One spatial dim that a grid points into.
struct GridAxis {
  Mode mode;
  Padding padding;
  bool corners;
  int64_t size;

  int64_t taps() const { return mode == Mode::kNearest ? 1 : mode == Mode::kLinear ? 2 : 4; }

  /// From [-1, 1] to elements, in the grid's own precision: ties depend on it.
  template <typename C>
  C place(C x) const {
    auto length = static_cast<C>(size);
    return corners ? (x + 1) / 2 * (length - 1) : ((x + 1) * length - 1) / 2;
  }

  /// The outermost centres or edges.
  double low() const { return corners ? 0 : -0.5; }
  double high() const { return static_cast<double>(size) - (corners ? 1 : 0.5); }

  /// `x` mirrored at the borders until it is between them.
  double reflect(double x) const {
    double range = high() - low();
    if (range <= 0 || (x >= low() && x <= high())) {
      return range <= 0 ? low() : x;
    }
    bool below = x < low();
    double way = below ? low() - x : x - high();
    double turns = std::floor(way / range);
    double rest = way - turns * range;
    return below == (std::fmod(turns, 2) == 0) ? low() + rest : high() - rest;
  }

  int64_t indexOf(int64_t i) const {
    bool inside = i >= 0 && i < size;
    if (inside || padding == Padding::kZeros) {
      return inside ? i : -1;
    }
    if (padding == Padding::kReflection) {
      i = static_cast<int64_t>(reflect(static_cast<double>(i)));
    }
    return std::clamp<int64_t>(i, 0, size - 1);
  }

  /// Makes `taps` those of a place; not as a result, which would be copied in one vector right
  /// after it was written in parts.
  template <typename C>
  void tapsAt(C coordinate, Taps& taps) const {
    constexpr double kFar = 0x1p40;
    C exact = place(coordinate);
    double x = std::isnan(exact) ? -kFar : std::clamp(static_cast<double>(exact), -kFar, kFar);
    x = mode == Mode::kNearest ? std::nearbyint(x) : x;
    x = padding == Padding::kReflection ? reflect(x) : x;
    if (mode == Mode::kNearest) {
      taps.index[0] = indexOf(static_cast<int64_t>(x));
      taps.weight[0] = 1;
      return;
    }
    auto first = static_cast<int64_t>(std::floor(x)) - taps_before();
    for (int64_t t = 0; t < this->taps(); ++t) {
      auto i = static_cast<size_t>(t);
      taps.index[i] = indexOf(first + t);
      taps.weight[i] = weightAt(x - static_cast<double>(first + t));
    }
  }

 private:
  int64_t taps_before() const { return mode == Mode::kCubic ? 1 : 0; }

  /// Linear, or cubic (Keys, "Cubic convolution interpolation", 1981) with a = -0.75.
  double weightAt(double distance) const {
    double d = std::fabs(distance);
    if (mode == Mode::kLinear) {
      return std::max(0.0, 1 - d);
    }
    constexpr double kA = -0.75;
    return d <= 1 ? ((kA + 2) * d - (kA + 3)) * d * d + 1
                  : ((kA * d - 5 * kA) * d + 8 * kA) * d - 4 * kA;
  }
};

/// Places of a grid that are worked out together, and then used for all channels.
constexpr int64_t kBlock = 32;

/// The elements of one sample, the same in each channel.
class Sample {
 public:
  template <typename G>
  void fill(const std::vector<GridAxis>& axes, const G* place) {
    for (size_t d = 0; d < axes.size(); ++d) {
      axes[d].tapsAt(load(place[axes.size() - 1 - d]), taps_[d]);
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

absl::StatusOr<std::vector<GridAxis>> gridAxes(const Step& step) {
  static constexpr absl::string_view kModes[] = {"nearest", "linear", "cubic"};
  static constexpr absl::string_view kPaddings[] = {"zeros", "border", "reflection"};
  GR_ASSIGN_OR_RETURN(Mode mode, parse<Mode>(step, "mode", kModes));
  GR_ASSIGN_OR_RETURN(Padding padding, parse<Padding>(step, "padding", kPaddings));
  GR_ASSIGN_OR_RETURN(bool corners, attributeOr(step, "align_corners", false));
  const Dims& in = step.inputs[0].desc.dims;
  const Dims& grid = step.inputs[1].desc.dims;
  const Dims& out = step.outputs[0].desc.dims;
  size_t rank = in.size();
  bool fits = rank >= 3 && rank <= kMostSpatial + 2 && grid.size() == rank && out.size() == rank &&
              grid[0] == in[0] && out[0] == in[0] && out[1] == in[1] &&
              grid.back() == static_cast<int64_t>(rank) - 2 &&
              std::equal(out.begin() + 2, out.end(), grid.begin() + 1) &&
              runtime::isFloat(step.inputs[1].desc.type) && (countOf(in) != 0 || countOf(out) == 0);
  if (!fits) {
    return invalidStep(step, "the shapes of input, grid and result do not fit");
  }
  std::vector<GridAxis> axes;
  for (size_t d = 2; d < rank; ++d) {
    axes.push_back({mode, padding, corners, in[d]});
  }
  return axes;
}

/// The samples of a block of places, those apart that are sums of four floats.
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

  /// The samples of each of `channels` planes of `plane` elements, the results `places` apart.
  template <typename T>
  void write(const std::vector<GridAxis>& axes, const T* x, int64_t plane, int64_t channels, T* y,
             int64_t places) const {
    int64_t c = 0;
    for (; c + 4 <= channels; c += 4) {
      writePlanes<4>(axes, x + c * plane, plane, y + c * places, places);
    }
    for (; c < channels; ++c) {
      writePlanes<1>(axes, x + c * plane, plane, y + c * places, places);
    }
  }

 private:
  template <int64_t planes, typename T>
  void writePlanes(const std::vector<GridAxis>& axes, const T* x, int64_t plane, T* y,
                   int64_t places) const {
    if constexpr (std::is_same_v<T, float>) {
      for (size_t i = 0; i < fourCount_; ++i) {
        const Sample::Four& four = fours_[i];
        const int64_t a = four.index[0], b = four.index[1], c = four.index[2], d = four.index[3];
        const float wa = four.weight[0], wb = four.weight[1], wc = four.weight[2],
                    wd = four.weight[3];
        float* to = y + four.sample;
        for (int64_t p = 0; p < planes; ++p) {
          const float* in = x + p * plane;
          to[p * places] = (in[a] * wa + in[b] * wb) + (in[c] * wc + in[d] * wd);
        }
      }
    }
    for (size_t i = 0; i < otherCount_; ++i) {
      for (int64_t p = 0; p < planes; ++p) {
        y[p * places + static_cast<int64_t>(others_[i])] =
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

/// Works out the samples of `count` places, the first of which is `first` in the grid.
using FillBlock = void (*)(SampleBlock& samples, const std::vector<GridAxis>& axes,
                           const void* grid, int64_t first, size_t count, bool floats);
template <typename G>
void fillBlock(SampleBlock& samples, const std::vector<GridAxis>& axes, const void* grid,
               int64_t first, size_t count, bool floats) {
  const G* places = static_cast<const G*>(grid) + first * static_cast<int64_t>(axes.size());
  runWide([&] { samples.fill(axes, places, count, floats); });
}

/// GridPlanes say where the planes of one image and of its samples lie.
struct GridPlanes {
  int64_t channels, plane, places;
};

/// Writes the samples of all channels of image `n` from place `first` on.
using WriteBlock = void (*)(const SampleBlock& samples, const std::vector<GridAxis>& axes,
                            const GridPlanes& of, const void* image, void* result, int64_t n,
                            int64_t first);
template <typename T>
void writeBlock(const SampleBlock& samples, const std::vector<GridAxis>& axes, const GridPlanes& of,
                const void* image, void* result, int64_t n, int64_t first) {
  const T* x = static_cast<const T*>(image) + n * of.channels * of.plane;
  T* y = static_cast<T*>(result) + n * of.channels * of.places + first;
  runWide([&] { samples.write(axes, x, of.plane, of.channels, y, of.places); });
}

KernelOr makeGridSample(const Step& step, std::vector<GridAxis> axes, FillBlock fill,
                        WriteBlock write) {
  const Dims& in = step.inputs[0].desc.dims;
  int64_t batch = in[0];
  GridPlanes of{in[1], countOf(absl::MakeConstSpan(in).subspan(2)),
                countOf(absl::MakeConstSpan(step.outputs[0].desc.dims).subspan(2))};
  bool floats = step.outputs[0].desc.type == runtime::ElementType::kF32;
  uint32_t image = step.inputs[0].buffer;
  uint32_t grid = step.inputs[1].buffer;
  uint32_t result = step.outputs[0].buffer;
  int64_t blocks = (of.places + kBlock - 1) / kBlock;
  return makeKernel([=, axes = std::move(axes)](void* const* buffers) {
    parallelFor(batch * blocks, kBlock * of.channels * 16, [&](int64_t block) {
      int64_t n = block / blocks;
      int64_t first = block % blocks * kBlock;
      auto count = static_cast<size_t>(std::min(kBlock, of.places - first));
      SampleBlock samples;
      fill(samples, axes, buffers[grid], n * of.places + first, count, floats);
      write(samples, axes, of, buffers[image], buffers[result], n, first);
    });
    return 0;
  });
}

KernelOr createGridSample(const Step& step) {
  GR_ASSIGN_OR_RETURN(std::vector<GridAxis> axes, gridAxes(step));
  return dispatchElement(step.outputs[0].desc.type, [&]<typename T>() -> KernelOr {
    return dispatchFloat(step.inputs[1].desc.type, [&]<typename G>() -> KernelOr {
      return makeGridSample(step, std::move(axes), fillBlock<G>, writeBlock<T>);
    });
  });
}

constexpr const char* kRegionMessages[] = {
    "a region names an image that is not there",
    "a region is so large that a part of it has more than 2^20 samples a side"};
constexpr int64_t kMostSamples = int64_t{1} << 20;

/// Regions hold what operations on regions of N x C x H x W share.
struct Regions {
  int64_t images, channels, height, width;  ///< of the input
  int64_t count, rows, columns;             ///< of the result
  double scale;
  uint32_t in, rois, out;

  int64_t plane() const { return height * width; }
  int64_t parts() const { return rows * columns; }

  static absl::StatusOr<Regions> make(const Step& step, int64_t fields) {
    const Dims& in = step.inputs[0].desc.dims;
    const Dims& rois = step.inputs[1].desc.dims;
    const Dims& out = step.outputs[0].desc.dims;
    GR_ASSIGN_OR_RETURN(int64_t rows, attribute<int64_t>(step, "height"));
    GR_ASSIGN_OR_RETURN(int64_t columns, attribute<int64_t>(step, "width"));
    GR_ASSIGN_OR_RETURN(double scale, attributeOr(step, "scale", 1.0));
    if (in.size() != 4 || rois.size() != 2 || rois[1] != fields ||
        out != Dims{rois[0], in[1], rows, columns}) {
      return invalidStep(step, "the shapes of input, regions and result do not fit");
    }
    return Regions{in[0],
                   in[1],
                   in[2],
                   in[3],
                   rois[0],
                   rows,
                   columns,
                   scale,
                   step.inputs[0].buffer,
                   step.inputs[1].buffer,
                   step.outputs[0].buffer};
  }
};

/// The samples of a region along one dim.
template <typename C>
struct SampledSide {
  C start, part;  ///< where the region starts, the size of one of its parts
  int64_t samples;

  SampledSide(C first, C last, C scale, const C& shift, int64_t parts, int64_t sampling)
      : start(first * scale - shift) {
    C size = last * scale - shift - start;
    size = shift == C{0} ? std::max(size, C{1}) : size;
    part = size / static_cast<C>(parts);
    samples = sampling > 0 ? sampling : convert<int64_t>(std::ceil(part));
  }
  C at(int64_t index, int64_t sample) const {
    return start + static_cast<C>(index) * part +
           (static_cast<C>(sample) + C(0.5)) * part / static_cast<C>(samples);
  }
};

/// The two elements around `x` in a dim of `size`, and the weight of the second.
template <typename C>
struct Neighbours {
  int64_t low, high;
  C weight;
  bool outside;

  Neighbours(C x, int64_t size) : outside(!(x >= C{-1} && x <= static_cast<C>(size))) {
    x = outside ? C{0} : std::max(x, C{0});
    low = std::min(static_cast<int64_t>(x), size - 1);
    high = std::min(low + 1, size - 1);
    weight = high == low ? C{0} : x - static_cast<C>(low);
  }
};

/// The elements around one sample, in any channel, and what of each counts; `at[0]` is -1 for a
/// sample outside the image.
template <typename C>
struct Spot {
  std::array<int64_t, 4> at;
  std::array<C, 4> weight;

  Spot(const Neighbours<C>& v, const Neighbours<C>& h, int64_t width)
      : at{v.low * width + h.low, v.low * width + h.high, v.high * width + h.low,
           v.high * width + h.high},
        weight{(1 - v.weight) * (1 - h.weight), (1 - v.weight) * h.weight,
               v.weight * (1 - h.weight), v.weight * h.weight} {
    at[0] = v.outside || h.outside ? -1 : at[0];
  }
  Spot() = default;

  /// The element's parts; zeros outside.
  template <typename T>
  std::array<C, 4> parts(const T* x) const {
    if (at[0] < 0) {
      return {};
    }
    return {weight[0] * load(x[at[0]]), weight[1] * load(x[at[1]]), weight[2] * load(x[at[2]]),
            weight[3] * load(x[at[3]])};
  }
};

/// Channels of a region that are pooled together: where its samples lie is worked out once.
constexpr int64_t kPooled = 64;
/// Samples of a part that are listed at a time.
constexpr int64_t kSpots = 64;

/// One part of a region in `channels` channels.
template <typename T, typename C>
class PooledPart {
 public:
  PooledPart(const Regions& r, const SampledSide<C>& tall, const SampledSide<C>& wide, bool mean)
      : r_(r), tall_(tall), wide_(wide), mean_(mean) {}

  void run(const T* x, int64_t part, int64_t channels, T* y) {
    int64_t samples = tall_.samples * wide_.samples;
    totals_.fill(mean_ ? C{0} : -std::numeric_limits<C>::infinity());
    for (int64_t first = 0; first < samples; first += kSpots) {
      int64_t count = std::min(kSpots, samples - first);
      list(part, first, count);
      for (int64_t c = 0; c < channels; ++c) {
        add(x + c * r_.plane(), count, totals_[static_cast<size_t>(c)]);
      }
    }
    auto divisor = static_cast<C>(mean_ ? std::max<int64_t>(samples, 1) : 1);
    for (int64_t c = 0; c < channels; ++c) {
      C total = samples == 0 ? C{0} : totals_[static_cast<size_t>(c)];
      y[c * r_.parts()] = store<T>(total / divisor);
    }
  }

 private:
  void list(int64_t part, int64_t first, int64_t count) {
    for (int64_t s = first; s < first + count; ++s) {
      Neighbours<C> v(tall_.at(part / r_.columns, s / wide_.samples), r_.height);
      Neighbours<C> h(wide_.at(part % r_.columns, s % wide_.samples), r_.width);
      spots_[static_cast<size_t>(s - first)] = Spot<C>(v, h, r_.width);
    }
  }

  void add(const T* x, int64_t count, C& total) const {
    for (int64_t s = 0; s < count; ++s) {
      std::array<C, 4> p = spots_[static_cast<size_t>(s)].parts(x);
      total = mean_ ? total + ((p[0] + p[1]) + (p[2] + p[3]))
                    : std::max(total, std::max(std::max(p[0], p[1]), std::max(p[2], p[3])));
    }
  }

  const Regions& r_;
  const SampledSide<C>&tall_, &wide_;
  bool mean_;
  std::array<Spot<C>, kSpots> spots_;
  std::array<C, kPooled> totals_;
};

struct RoiRule {
  bool mean;
  int64_t sampling;
  double shift;
  IntOperand batch;
};

template <typename T>
int alignRegions(const Regions& r, const RoiRule& rule, void* const* buffers) {
  using C = Compute<T>;
  const T* rois = static_cast<const T*>(buffers[r.rois]);
  auto scale = static_cast<C>(r.scale);
  auto shift = static_cast<C>(rule.shift);
  auto side = [&](int64_t i, int64_t field, int64_t parts) {
    return SampledSide<C>(load(rois[4 * i + field]), load(rois[4 * i + field + 2]), scale, shift,
                          parts, rule.sampling);
  };
  for (int64_t i = 0; i < r.count; ++i) {
    int64_t image = rule.batch.at(buffers, i);
    if (image < 0 || image >= r.images) {
      return 1;
    }
    if (side(i, 0, r.columns).samples > kMostSamples || side(i, 1, r.rows).samples > kMostSamples) {
      return 2;
    }
  }
  int64_t blocks = (r.channels + kPooled - 1) / kPooled;
  parallelFor(r.count * blocks, r.parts() * kPooled * 16, [&](int64_t i) {
    int64_t region = i / blocks;
    int64_t first = i % blocks * kPooled;
    SampledSide<C> wide = side(region, 0, r.columns);
    SampledSide<C> tall = side(region, 1, r.rows);
    PooledPart<T, C> pooled(r, tall, wide, rule.mean);
    const T* x = static_cast<const T*>(buffers[r.in]) +
                 (rule.batch.at(buffers, region) * r.channels + first) * r.plane();
    T* y = static_cast<T*>(buffers[r.out]) + (region * r.channels + first) * r.parts();
    for (int64_t part = 0; part < r.parts(); ++part) {
      pooled.run(x, part, std::min(kPooled, r.channels - first), y + part);
    }
  });
  return 0;
}

KernelOr createRoiAlign(const Step& step) {
  GR_ASSIGN_OR_RETURN(Regions regions, Regions::make(step, 4));
  GR_ASSIGN_OR_RETURN(std::string kind, attribute<std::string>(step, "kind"));
  GR_ASSIGN_OR_RETURN(int64_t sampling, attributeOr<int64_t>(step, "sampling", 0));
  GR_ASSIGN_OR_RETURN(bool halfPixel, attributeOr(step, "half_pixel", true));
  GR_ASSIGN_OR_RETURN(IntOperand batch, IntOperand::make(step, 2));
  if ((kind != "mean" && kind != "max") || batch.count != regions.count) {
    return invalidStep(step, "kind is neither mean nor max, or the number of images is wrong");
  }
  RoiRule rule{kind == "mean", sampling, halfPixel ? 0.5 : 0.0, batch};
  return dispatchFloat(step.outputs[0].desc.type, [&]<typename T>() -> KernelOr {
    return makeKernel([=](void* const* buffers) { return alignRegions<T>(regions, rule, buffers); },
                      kRegionMessages);
  });
}

/// The elements [begin, end) of part `index` of a region from `first` to `last`.
struct PartRange {
  int64_t begin, end;

  PartRange(double first, double last, int64_t index, int64_t parts, int64_t size) {
    double part = std::max(last - first + 1, 1.0) / static_cast<double>(parts);
    auto limit = [&](double x) {
      return convert<int64_t>(std::clamp(x + first, 0.0, static_cast<double>(size)));
    };
    begin = limit(std::floor(static_cast<double>(index) * part));
    end = limit(std::ceil(static_cast<double>(index + 1) * part));
  }
};

template <typename T>
Compute<T> largest(const T* x, int64_t width, const PartRange& rows, const PartRange& columns) {
  if (rows.begin >= rows.end || columns.begin >= columns.end) {
    return Compute<T>(0);
  }
  Compute<T> most = load(x[rows.begin * width + columns.begin]);
  for (int64_t i = rows.begin; i < rows.end; ++i) {
    for (int64_t j = columns.begin; j < columns.end; ++j) {
      most = std::max(most, load(x[i * width + j]));
    }
  }
  return most;
}

template <typename T>
int poolRegions(const Regions& r, void* const* buffers) {
  const T* rois = static_cast<const T*>(buffers[r.rois]);
  auto image = [&](int64_t i) { return convert<int64_t>(load(rois[5 * i])); };
  for (int64_t i = 0; i < r.count; ++i) {
    if (image(i) < 0 || image(i) >= r.images) {
      return 1;
    }
  }
  parallelFor(r.count * r.channels, r.parts() * 16, [&](int64_t i) {
    int64_t region = i / r.channels;
    auto edge = [&](int64_t field) {
      return std::round(static_cast<double>(load(rois[5 * region + field])) * r.scale);
    };
    const T* x = static_cast<const T*>(buffers[r.in]) +
                 (image(region) * r.channels + i % r.channels) * r.plane();
    T* y = static_cast<T*>(buffers[r.out]) + i * r.parts();
    for (int64_t part = 0; part < r.parts(); ++part) {
      PartRange rows(edge(2), edge(4), part / r.columns, r.rows, r.height);
      PartRange columns(edge(1), edge(3), part % r.columns, r.columns, r.width);
      y[part] = store<T>(largest(x, r.width, rows, columns));
    }
  });
  return 0;
}

KernelOr createRoiMaxPool(const Step& step) {
  GR_ASSIGN_OR_RETURN(Regions regions, Regions::make(step, 5));
  return dispatchFloat(step.outputs[0].desc.type, [&]<typename T>() -> KernelOr {
    return makeKernel([=](void* const* buffers) { return poolRegions<T>(regions, buffers); },
                      kRegionMessages);
  });
}

constexpr const char* kBlockMessages[] = {
    "the block, the image and the number of columns do not fit each other"};

/// BlockPlaces say where the columns of gr.col2im lie in the image, along each dim.
struct BlockPlaces {
  Dims image, strides, dilations, pads;
  int64_t columns;   ///< of the input
  int64_t elements;  ///< of a block
  IntOperand block;

  struct Side {
    int64_t block, places;
  };

  /// Reads the block; false when shapes do not fit.
  bool read(void* const* buffers, std::array<Side, kMostSpatial>& sides) const {
    int64_t blocks = 1;
    int64_t places = 1;
    for (size_t d = 0; d < image.size(); ++d) {
      Side& side = sides[d];
      side.block = block.at(buffers, static_cast<int64_t>(d));
      if (side.block < 1 || side.block > elements) {
        return false;
      }
      int64_t slack = image[d] + pads[d] + pads[image.size() + d] - dilations[d] * (side.block - 1);
      side.places = slack < 1 ? 0 : (slack - 1) / strides[d] + 1;
      blocks *= side.block;
      places *= side.places;
      if (blocks > elements || places > columns) {
        return false;
      }
    }
    return blocks == elements && places == columns;
  }

  /// The column in which block element `k` meets image place `at`; -1 when there is none.
  int64_t column(const std::array<Side, kMostSpatial>& sides,
                 const std::array<int64_t, kMostSpatial>& at, int64_t k) const {
    int64_t flat = 0;
    int64_t step = 1;
    for (size_t d = image.size(); d > 0; --d) {
      const Side& side = sides[d - 1];
      int64_t from = at[d - 1] + pads[d - 1] - k % side.block * dilations[d - 1];
      k /= side.block;
      if (from < 0 || from % strides[d - 1] != 0 || from / strides[d - 1] >= side.places) {
        return -1;
      }
      flat += from / strides[d - 1] * step;
      step *= side.places;
    }
    return flat;
  }
};

absl::StatusOr<BlockPlaces> blockPlaces(const Step& step) {
  constexpr int64_t kLimit = int64_t{1} << 31;  // products of two stay within 64 bits
  const Dims& in = step.inputs[0].desc.dims;
  const Dims& out = step.outputs[0].desc.dims;
  GR_ASSIGN_OR_RETURN(Dims strides, attribute<Dims>(step, "strides"));
  GR_ASSIGN_OR_RETURN(Dims dilations, attribute<Dims>(step, "dilations"));
  GR_ASSIGN_OR_RETURN(Dims pads, attribute<Dims>(step, "pads"));
  GR_ASSIGN_OR_RETURN(IntOperand block, IntOperand::make(step, 2));
  size_t rank = strides.size();
  auto tooSmall = [](int64_t v) { return v < 1 || v > kLimit; };
  auto tooFar = [](int64_t v) { return v < -kLimit || v > kLimit; };
  bool fits = rank >= 1 && rank <= kMostSpatial && in.size() == 3 && out.size() == rank + 2 &&
              dilations.size() == rank && pads.size() == 2 * rank && out[0] == in[0] &&
              out[1] > 0 && in[1] % out[1] == 0 && block.count == static_cast<int64_t>(rank) &&
              std::none_of(strides.begin(), strides.end(), tooSmall) &&
              std::none_of(dilations.begin(), dilations.end(), tooSmall) &&
              std::none_of(pads.begin(), pads.end(), tooFar) &&
              std::none_of(in.begin(), in.end(), tooFar) &&
              std::none_of(out.begin(), out.end(), tooFar);
  if (!fits) {
    return invalidStep(step, "the shapes of input, image, block and attributes do not fit");
  }
  return BlockPlaces{Dims(out.begin() + 2, out.end()),
                     std::move(strides),
                     std::move(dilations),
                     std::move(pads),
                     in[2],
                     in[1] / out[1],
                     block};
}

KernelOr createCol2Im(const Step& step) {
  GR_ASSIGN_OR_RETURN(BlockPlaces b, blockPlaces(step));
  const Dims& out = step.outputs[0].desc.dims;
  int64_t planes = out[0] * out[1];
  int64_t plane = countOf(b.image);
  uint32_t from = step.inputs[0].buffer;
  uint32_t to = step.outputs[0].buffer;
  return dispatchElement(step.outputs[0].desc.type, [&]<typename T>() -> KernelOr {
    return makeKernel(
        [=, b = std::move(b)](void* const* buffers) {
          std::array<BlockPlaces::Side, kMostSpatial> sides{};
          if (!b.read(buffers, sides)) {
            return 1;
          }
          parallelFor(planes * plane, b.elements, [&](int64_t i) {
            std::array<int64_t, kMostSpatial> at{};
            for (int64_t d = static_cast<int64_t>(b.image.size()) - 1, rest = i % plane; d >= 0;
                 --d) {
              auto dim = static_cast<size_t>(d);
              at[dim] = rest % b.image[dim];
              rest /= b.image[dim];
            }
            const T* x = static_cast<const T*>(buffers[from]) + i / plane * b.elements * b.columns;
            Sum<T> sum = 0;
            for (int64_t k = 0; k < b.elements; ++k) {
              int64_t column = b.column(sides, at, k);
              sum += column < 0 ? Sum<T>(0) : static_cast<Sum<T>>(load(x[k * b.columns + column]));
            }
            static_cast<T*>(buffers[to])[i] = store<T>(convert<Compute<T>>(sum));
          });
          return 0;
        },
        kBlockMessages);
  });
}

constexpr ReferenceEntry kEntries[] = {
    {"gr.grid_sample", TypeRule::kResize, createGridSample, 2},
    {"gr.roi_align", TypeRule::kRegions, createRoiAlign, 3},
    {"gr.roi_max_pool", TypeRule::kRegions, createRoiMaxPool, 2},
    {"gr.col2im", TypeRule::kAccumulate, createCol2Im, 3},
};

}  // namespace

absl::Span<const ReferenceEntry> referenceVision() { return kEntries; }

}  // namespace graphrun::devices::cpu
