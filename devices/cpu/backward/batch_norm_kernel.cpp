#include "devices/cpu/backward/batch_norm_kernel.h"

#include <algorithm>
#include <cmath>

#include "devices/cpu/backward/channel_layout.h"
#include "devices/cpu/backward/channel_sums.h"
#include "devices/cpu/kernels/given_layouts.h"
#include "devices/cpu/reference/reference_support.h"
#include "devices/cpu/vectors/wide.h"

namespace graphrun::devices::cpu {
namespace {

/// Channels that are treated together where they lie side by side.
constexpr int64_t kGroups = 16;
constexpr int64_t kWidth = kGroups * kVectorLanes;
/// Positions of them that are read one group after the other.
constexpr int64_t kSegment = 16;
/// Channels of so many bytes are summed and then changed while they are in the cache,
constexpr int64_t kCachedBytes = 1 << 20;
/// but where they are few only if they are of so many.
constexpr int64_t kFewBytes = 1 << 16;
constexpr int64_t kFewChunks = 8;
/// Others are cut into at most so many parts.
constexpr int64_t kMostParts = 16;

/// An element becomes `(x - center) * factor + shift`, and where there is a gradient
/// `(gradient - gradientCenter) * gradientFactor` more.
struct Lanes {
  std::array<float, kVectorLanes> center, factor, shift, gradientCenter, gradientFactor;
};

using Centers = std::array<std::array<double, kVectorLanes>, kGroups>;

/// The elements of an instruction; `gradient` is null while there is none.
struct Elements {
  const float* x;
  const float* gradient;
  float* y;
};

/// Cuts the channels into chunks, of one plane or of up to kWidth channels side by side, and those
/// into parts, which are images.
struct Cut {
  ChannelLayout layout;
  int64_t width, chunks, parts;
  bool isCached;

  explicit Cut(const ChannelLayout& channels, int64_t tensors) : layout(channels) {
    if (layout.positions == 1 && layout.isPlanes) {  // a matrix: channels lie side by side
      layout.isPlanes = false;
      layout.block = layout.channels;
    }
    width = layout.isPlanes ? 1 : std::min(kWidth, layout.block);
    chunks = (layout.padded + width - 1) / width;
    int64_t bytes =
        layout.images * layout.positions * width * tensors * static_cast<int64_t>(sizeof(float));
    isCached = bytes <= (chunks < kFewChunks ? kFewBytes : kCachedBytes);
    parts = isCached ? 1 : std::min(layout.images, kMostParts);
  }

  int64_t first(int64_t chunk) const { return chunk * width; }
  int64_t lanes(int64_t chunk) const { return std::min(width, layout.padded - first(chunk)); }
  /// Groups of kVectorLanes lanes; a plane's elements take turns in one.
  size_t groups(int64_t chunk) const {
    return static_cast<size_t>((lanes(chunk) + kVectorLanes - 1) / kVectorLanes);
  }
  /// Elements of a part, about.
  int64_t work() const { return layout.images * layout.positions * width / parts; }

  template <typename Body>
  void forImages(int64_t part, const Body& body) const {
    for (int64_t n = layout.images * part / parts; n < layout.images * (part + 1) / parts; ++n) {
      body(n);
    }
  }

  /// `body(offset, rows, step, group, width)` for rows of at most kVectorLanes lanes that together
  /// are the part.
  template <typename Body>
  void forRows(int64_t chunk, int64_t part, const Body& body) const {
    forImages(part, [&](int64_t n) {
      int64_t start = layout.offset(n, first(chunk));
      if (layout.isPlanes) {
        int64_t rows = layout.positions / kVectorLanes;
        body(start, rows, kVectorLanes, 0, kVectorLanes);
        body(start + rows * kVectorLanes, 1, kVectorLanes, 0, layout.positions % kVectorLanes);
        return;
      }
      for (int64_t p = 0; p < layout.positions; p += kSegment) {
        int64_t rows = std::min(kSegment, layout.positions - p);
        for (int64_t lane = 0; lane < lanes(chunk); lane += kVectorLanes) {
          body(start + p * layout.block + lane, rows, layout.block, lane / kVectorLanes,
               std::min(kVectorLanes, lanes(chunk) - lane));
        }
      }
    });
  }
};

/// Sums of x - center and of its square, or of the gradient and of its products with x - center.
template <bool kHasGradient>
void addPart(const Cut& cut, int64_t chunk, int64_t part, const Elements& elements,
             const Centers& centers, LaneSums* sums) {
  runVectors([&](auto bits) {
    cut.forRows(
        chunk, part, [&](int64_t at, int64_t rows, int64_t step, int64_t group, int64_t width) {
          const float* x = elements.x + at;
          const float* gradient = kHasGradient ? elements.gradient + at : nullptr;
          const double* center = centers[static_cast<size_t>(group)].data();
          addRows<bits>(rows, width, sums[group],
                        [&](auto& first, auto& second, int64_t row, int64_t lane, auto lanes)
                            __attribute__((always_inline)) {
                              functions::Pack<double, lanes> middle;
                              std::memcpy(&middle, center + lane, sizeof(middle));
                              auto v = loadDoubles<lanes>(x + row * step + lane) - middle;
                              if constexpr (kHasGradient) {
                                auto g = loadDoubles<lanes>(gradient + row * step + lane);
                                first += g;
                                second += g * v;
                              } else {
                                first += v;
                                second += v * v;
                              }
                            });
        });
  });
}

/// Changes the elements of a part as the lanes say.
template <bool kHasGradient>
void changePart(const Cut& cut, int64_t chunk, int64_t part, const Elements& elements,
                const Lanes* chunkLanes) {
  runWide([&] {
    cut.forRows(
        chunk, part, [&](int64_t at, int64_t rows, int64_t step, int64_t group, int64_t width) {
          const float* x = elements.x + at;
          const float* gradient = kHasGradient ? elements.gradient + at : nullptr;
          float* y = elements.y + at;
          const Lanes& lanes = chunkLanes[group];
          const float* center = lanes.center.data();
          const float* factor = lanes.factor.data();
          const float* shift = lanes.shift.data();
          const float* gradientCenter = lanes.gradientCenter.data();
          const float* gradientFactor = lanes.gradientFactor.data();
          auto change = [&](int64_t row, int64_t count) __attribute__((always_inline)) {
#pragma omp simd
            for (int64_t c = 0; c < count; ++c) {
              int64_t i = row * step + c;
              float value = (x[i] - center[c]) * factor[c] + shift[c];
              y[i] = kHasGradient ? (gradient[i] - gradientCenter[c]) * gradientFactor[c] + value
                                  : value;
            }
          };
          for (int64_t row = 0; row < rows; ++row) {
            width == kVectorLanes ? change(row, kVectorLanes) : change(row, width);
          }
        });
  });
}

/// The parameters of a channel, and what becomes of its sums.
template <bool kHasGradient>
class Normalization {
 public:
  Normalization(const Cut& cut, double epsilon) : cut_(cut), epsilon_(epsilon) {}

  /// Operands and results that have an element a channel.
  struct Vectors {
    const float* scale;
    const float* bias;  ///< the mean, where there is a gradient
    const float* variance;
    float* first;  ///< results
    float* second;
  };

  uint64_t scratchBytes() const {
    return cut_.isCached
               ? 0
               : static_cast<uint64_t>(cut_.chunks) * cut_.groups(0) *
                     (static_cast<uint64_t>(cut_.parts) * sizeof(LaneSums) + sizeof(Lanes));
  }

  void run(const Elements& elements, const Vectors& vectors, void* scratch) const {
    if (cut_.isCached) {
      parallelFor(cut_.chunks, 4 * cut_.work(), [&](int64_t chunk) {
        std::array<LaneSums, kGroups> sums;
        std::array<Lanes, kGroups> lanes;
        clear(chunk, sums.data());
        addPart<kHasGradient>(cut_, chunk, 0, elements, centersOf(chunk, elements, vectors),
                              sums.data());
        finish(chunk, elements, vectors, sums.data(), lanes.data());
        changePart<kHasGradient>(cut_, chunk, 0, elements, lanes.data());
      });
      return;
    }
    const auto groups = static_cast<int64_t>(cut_.groups(0));
    auto* sums = static_cast<LaneSums*>(scratch);
    auto* lanes = reinterpret_cast<Lanes*>(sums + cut_.chunks * cut_.parts * groups);
    parallelFor(cut_.chunks * cut_.parts, 2 * cut_.work(), [&](int64_t item) {
      int64_t chunk = item / cut_.parts;
      LaneSums* mine = sums + item * groups;
      clear(chunk, mine);
      addPart<kHasGradient>(cut_, chunk, item % cut_.parts, elements,
                            centersOf(chunk, elements, vectors), mine);
    });
    for (int64_t chunk = 0; chunk < cut_.chunks; ++chunk) {
      std::array<LaneSums, kGroups> whole;
      clear(chunk, whole.data());
      for (int64_t part = 0; part < cut_.parts; ++part) {
        add(chunk, sums + (chunk * cut_.parts + part) * groups, whole.data());
      }
      finish(chunk, elements, vectors, whole.data(), lanes + chunk * groups);
    }
    parallelFor(cut_.chunks * cut_.parts, 2 * cut_.work(), [&](int64_t item) {
      int64_t chunk = item / cut_.parts;
      changePart<kHasGradient>(cut_, chunk, item % cut_.parts, elements, lanes + chunk * groups);
    });
  }

 private:
  void clear(int64_t chunk, LaneSums* sums) const {
    for (size_t g = 0; g < cut_.groups(chunk); ++g) {
      sums[g].clear();
    }
  }

  void add(int64_t chunk, const LaneSums* part, LaneSums* whole) const {
    for (size_t g = 0; g < cut_.groups(chunk); ++g) {
      for (size_t c = 0; c < kVectorLanes; ++c) {
        whole[g].first[c] += part[g].first[c];
        whole[g].second[c] += part[g].second[c];
      }
    }
  }

  /// Calls `body(group, lane, channel)` for all lanes that are summed up or changed.
  template <typename Body>
  void forLanes(int64_t chunk, const Body& body) const {
    int64_t lanes = cut_.layout.isPlanes ? kVectorLanes : cut_.lanes(chunk);
    for (int64_t lane = 0; lane < lanes; ++lane) {
      int64_t channel = cut_.first(chunk) + (cut_.layout.isPlanes ? 0 : lane);
      body(static_cast<size_t>(lane / kVectorLanes), static_cast<size_t>(lane % kVectorLanes),
           channel);
    }
  }

  /// The numbers about which is summed: the mean, or while it is not known the first element.
  Centers centersOf(int64_t chunk, const Elements& elements, const Vectors& vectors) const {
    Centers centers;
    for (size_t g = 0; g < cut_.groups(chunk); ++g) {
      centers[g].fill(0);
    }
    forLanes(chunk, [&](size_t group, size_t lane, int64_t channel) {
      if (channel < cut_.layout.channels) {
        double center = static_cast<double>(
            kHasGradient ? vectors.bias[channel] : elements.x[cut_.layout.offset(0, channel)]);
        centers[group][lane] = kHasGradient || std::isfinite(center) ? center : 0;
      }
    });
    return centers;
  }

  /// Turns a chunk's sums into results, and into what becomes of its elements.
  void finish(int64_t chunk, const Elements& elements, const Vectors& vectors, LaneSums* sums,
              Lanes* lanes) const {
    if (cut_.layout.isPlanes) {  // all lanes are of one channel
      LaneSums& of = sums[0];
      for (size_t lane = 1; lane < kVectorLanes; ++lane) {
        of.first[0] += of.first[lane];
        of.second[0] += of.second[lane];
      }
      of.first.fill(of.first[0]);
      of.second.fill(of.second[0]);
    }
    for (size_t g = 0; g < cut_.groups(chunk); ++g) {
      lanes[g] = {};
    }
    const Centers centers = centersOf(chunk, elements, vectors);
    forLanes(chunk, [&](size_t group, size_t lane, int64_t channel) {
      if (channel < cut_.layout.channels) {
        finishLane(channel, vectors, centers[group][lane],
                   {sums[group].first[lane], sums[group].second[lane]}, lanes[group], lane);
      }
    });
  }

  void finishLane(int64_t channel, const Vectors& vectors, double center,
                  std::pair<double, double> sums, Lanes& lanes, size_t lane) const {
    const auto count = static_cast<double>(cut_.layout.images * cut_.layout.positions);
    const auto scale = static_cast<double>(vectors.scale[channel]);
    auto [first, second] = sums;
    if constexpr (kHasGradient) {
      const double inverse =
          1 / std::sqrt(static_cast<double>(vectors.variance[channel]) + epsilon_);
      const double factor = scale * inverse;
      lanes.center[lane] = static_cast<float>(center);
      lanes.factor[lane] = static_cast<float>(-factor * inverse * inverse * (second / count));
      lanes.gradientFactor[lane] = static_cast<float>(factor);
      const double mean = first / count;
      lanes.gradientCenter[lane] = static_cast<float>(mean);
      lanes.shift[lane] =
          static_cast<float>(factor * (static_cast<double>(lanes.gradientCenter[lane]) - mean));
      vectors.first[channel] = static_cast<float>(second * inverse);
      vectors.second[channel] = static_cast<float>(first);
    } else {
      const double mean = center + first / count;
      double variance = (second - first * (first / count)) / count;
      variance = variance < 0 ? 0 : variance;
      const double factor = scale / std::sqrt(variance + epsilon_);
      // Elements near the mean keep their digits where that is subtracted first.
      lanes.center[lane] = static_cast<float>(mean);
      lanes.factor[lane] = static_cast<float>(factor);
      const double rest = mean - static_cast<double>(lanes.center[lane]);
      lanes.shift[lane] =
          static_cast<float>(static_cast<double>(vectors.bias[channel]) - rest * factor);
      vectors.first[channel] = static_cast<float>(mean);
      vectors.second[channel] = static_cast<float>(variance);
    }
  }

  Cut cut_;
  double epsilon_;
};

bool isBackward(const Instruction& instruction) {
  return instruction.operation == "gr.batch_norm_backward";
}

/// The number of operands; the last one of a backward instruction has the first one's dims.
size_t operandsOf(const Instruction& instruction) { return isBackward(instruction) ? 5 : 3; }

absl::Status checkInstruction(const Instruction& instruction) {
  auto isFloat = [](const Argument& a) { return a.desc.type == ElementType::kF32; };
  if (instruction.inputs.size() != operandsOf(instruction) || instruction.outputs.size() != 3 ||
      !instruction.postOps.empty() ||
      !std::all_of(instruction.inputs.begin(), instruction.inputs.end(), isFloat) ||
      !std::all_of(instruction.outputs.begin(), instruction.outputs.end(), isFloat)) {
    return absl::UnimplementedError(
        absl::StrCat(instruction.operation, ": takes f32, and nothing is fused behind"));
  }
  const Dims& dims = instruction.inputs[0].desc.dims;
  bool fits = dims.size() >= 2 && instruction.outputs[0].desc.dims == dims &&
              (!isBackward(instruction) || instruction.inputs[4].desc.dims == dims);
  auto isVector = [&](const Argument& a) {
    return a.desc.dims == Dims{dims[1]} && isDense(a.desc);
  };
  fits = fits && isVector(instruction.outputs[1]) && isVector(instruction.outputs[2]);
  for (size_t i = 1; fits && i < std::min<size_t>(operandsOf(instruction), 4); ++i) {
    fits = isVector(instruction.inputs[i]);
  }
  return fits ? absl::OkStatus()
              : invalidInstruction(instruction, "the shapes of operands and results do not fit");
}

template <bool kHasGradient>
absl::StatusOr<Normalization<kHasGradient>> normalizationOf(const Instruction& instruction) {
  GR_ASSIGN_OR_RETURN(double epsilon, attributeOr(instruction, "epsilon", 1e-5));
  TensorDesc desc = instruction.inputs[0].desc;
  desc.any = false;
  GR_ASSIGN_OR_RETURN(ChannelLayout layout, channelLayoutOf(desc));
  return Normalization<kHasGradient>(Cut(layout, kHasGradient ? 2 : 1), epsilon);
}

template <bool kHasGradient>
absl::StatusOr<std::unique_ptr<Kernel>> create(const Instruction& instruction) {
  GR_RETURN_IF_ERROR(chooseBatchNorm(instruction).status());
  GR_ASSIGN_OR_RETURN(Normalization<kHasGradient> normalization,
                      normalizationOf<kHasGradient>(instruction));
  uint32_t scratch = instruction.inputs[0].buffer;
  if (normalization.scratchBytes() > 0) {
    GR_ASSIGN_OR_RETURN(scratch, scratchBuffer(instruction, normalization.scratchBytes()));
  }
  return makeKernel([=, in = instruction.inputs, out = instruction.outputs](void* const* buffers) {
    auto operand = [&](size_t i) { return static_cast<const float*>(buffers[in[i].buffer]); };
    auto result = [&](size_t i) { return static_cast<float*>(buffers[out[i].buffer]); };
    Elements elements{operand(0), kHasGradient ? operand(4) : nullptr, result(0)};
    normalization.run(
        elements,
        {operand(1), operand(2), kHasGradient ? operand(3) : nullptr, result(1), result(2)},
        buffers[scratch]);
    return 0;
  });
}

}  // namespace

absl::StatusOr<LayoutChoice> chooseBatchNorm(const Instruction& instruction) {
  GR_RETURN_IF_ERROR(checkInstruction(instruction));
  LayoutChoice choice = givenLayouts(instruction);
  if (isBackward(instruction)) {
    if (instruction.inputs[4].desc.any) {
      choice.inputs[4] = choice.inputs[0];
    }
    GR_ASSIGN_OR_RETURN(Normalization<true> normalization, normalizationOf<true>(instruction));
    choice.scratchBytes = normalization.scratchBytes();
  } else {
    GR_ASSIGN_OR_RETURN(Normalization<false> normalization, normalizationOf<false>(instruction));
    choice.scratchBytes = normalization.scratchBytes();
  }
  if (!mayLieAs(instruction, choice.inputs[0]) ||
      (isBackward(instruction) && !sameLayout(choice.inputs[0], choice.inputs[4]))) {
    return absl::UnimplementedError(
        absl::StrCat(instruction.operation, ": operands and result are to lie alike"));
  }
  TensorDesc vector{ElementType::kF32, {instruction.inputs[0].desc.dims[1]}, {}, false};
  choice.outputs = {choice.inputs[0], vector, vector};
  choice.implementation = "channels";
  return choice;
}

absl::StatusOr<std::unique_ptr<Kernel>> createBatchNormTraining(const Instruction& instruction,
                                                                KernelContext&) {
  return create<false>(instruction);
}

absl::StatusOr<std::unique_ptr<Kernel>> createBatchNormBackward(const Instruction& instruction,
                                                                KernelContext&) {
  return create<true>(instruction);
}

}  // namespace graphrun::devices::cpu
