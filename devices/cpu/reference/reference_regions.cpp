// Pools of regions of images.
#include <algorithm>
#include <array>
#include <limits>

#include "devices/cpu/reference/reference_support.h"
#include "devices/cpu/vectors/wide.h"

namespace graphrun::devices::cpu {
namespace {

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

  static absl::StatusOr<Regions> make(const Instruction& instruction, int64_t fields) {
    const Dims& in = instruction.inputs[0].desc.dims;
    const Dims& rois = instruction.inputs[1].desc.dims;
    const Dims& out = instruction.outputs[0].desc.dims;
    GR_ASSIGN_OR_RETURN(int64_t rows, attribute<int64_t>(instruction, "height"));
    GR_ASSIGN_OR_RETURN(int64_t columns, attribute<int64_t>(instruction, "width"));
    GR_ASSIGN_OR_RETURN(double scale, attributeOr(instruction, "scale", 1.0));
    if (in.size() != 4 || rois.size() != 2 || rois[1] != fields ||
        out != Dims{rois[0], in[1], rows, columns}) {
      return invalidInstruction(instruction, "the shapes of input, regions and result do not fit");
    }
    return Regions{in[0],
                   in[1],
                   in[2],
                   in[3],
                   rois[0],
                   rows,
                   columns,
                   scale,
                   instruction.inputs[0].buffer,
                   instruction.inputs[1].buffer,
                   instruction.outputs[0].buffer};
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

KernelOr createRoiAlign(const Instruction& instruction) {
  GR_ASSIGN_OR_RETURN(Regions regions, Regions::make(instruction, 4));
  GR_ASSIGN_OR_RETURN(std::string kind, attribute<std::string>(instruction, "kind"));
  GR_ASSIGN_OR_RETURN(int64_t sampling, attributeOr<int64_t>(instruction, "sampling", 0));
  GR_ASSIGN_OR_RETURN(bool halfPixel, attributeOr(instruction, "half_pixel", true));
  GR_ASSIGN_OR_RETURN(IntOperand batch, IntOperand::make(instruction, 2));
  if ((kind != "mean" && kind != "max") || batch.count != regions.count) {
    return invalidInstruction(instruction,
                              "kind is neither mean nor max, or the number of images is wrong");
  }
  RoiRule rule{kind == "mean", sampling, halfPixel ? 0.5 : 0.0, batch};
  return dispatchFloat(instruction.outputs[0].desc.type, [&]<typename T>() -> KernelOr {
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

KernelOr createRoiMaxPool(const Instruction& instruction) {
  GR_ASSIGN_OR_RETURN(Regions regions, Regions::make(instruction, 5));
  return dispatchFloat(instruction.outputs[0].desc.type, [&]<typename T>() -> KernelOr {
    return makeKernel([=](void* const* buffers) { return poolRegions<T>(regions, buffers); },
                      kRegionMessages);
  });
}

constexpr ReferenceEntry kEntries[] = {
    {"gr.roi_align", TypeRule::kRegions, createRoiAlign, 3},
    {"gr.roi_max_pool", TypeRule::kRegions, createRoiMaxPool, 2},
};

}  // namespace

absl::Span<const ReferenceEntry> referenceRegions() { return kEntries; }

}  // namespace graphrun::devices::cpu
