// gr.grid_sample_backward: what samples at the points of a grid owe to the image and to the points.
#include "devices/cpu/reference/reference_grid.h"

namespace graphrun::devices::cpu {
namespace {

/// Sizes, and the buffers of operands and results.
struct GridGradients {
  std::vector<GridAxis> axes;
  int64_t batch, channels, plane, points;
  uint32_t image, grid, gradient, imageGradient, gridGradient;
};

/// The weights of one point's elements along each dim, and their derivatives.
struct PointTaps {
  std::array<Taps, kMostSpatial> weights, slopes;
};

/// The gradients of one image, which are summed in f64.
template <typename T, typename G>
class ImageGradients {
 public:
  ImageGradients(const GridGradients& of, void* const* buffers, int64_t image, double* sums)
      : of_(of),
        rank_(of.axes.size()),
        x_(static_cast<const T*>(buffers[of.image]) + image * of.channels * of.plane),
        dy_(static_cast<const T*>(buffers[of.gradient]) + image * of.channels * of.points),
        grid_(static_cast<const G*>(buffers[of.grid]) + image * of.points * rank()),
        dx_(static_cast<T*>(buffers[of.imageGradient]) + image * of.channels * of.plane),
        dGrid_(static_cast<G*>(buffers[of.gridGradient]) + image * of.points * rank()),
        sums_(sums) {}

  void run() {
    std::fill_n(sums_, of_.channels * of_.plane, 0);
    for (int64_t p = 0; p < of_.points; ++p) {
      addPoint(p);
    }
    std::transform(sums_, sums_ + of_.channels * of_.plane, dx_,
                   [](double x) { return store<T>(static_cast<Compute<T>>(x)); });
  }

 private:
  using Slopes = std::array<double, kMostSpatial>;
  int64_t rank() const { return static_cast<int64_t>(rank_); }

  void addPoint(int64_t p) {
    for (size_t d = 0; d < rank_; ++d) {
      Compute<G> coordinate = load(grid_[p * rank() + static_cast<int64_t>(rank_ - 1 - d)]);
      of_.axes[d].tapsAt(coordinate, taps_.weights[d]);
      of_.axes[d].slopesAt(coordinate, taps_.slopes[d]);
    }
    Slopes total = {};
    addElements(p, 0, 0, 1, {}, total);
    for (size_t d = 0; d < rank_; ++d) {
      dGrid_[p * rank() + static_cast<int64_t>(rank_ - 1 - d)] =
          store<G>(static_cast<Compute<G>>(total[d]));
    }
  }

  /// Adds what the elements of dims [d, rank) take part in: `weight` and `slopes`, its derivatives
  /// along the dims before. Recurses once a dim.
  void addElements(int64_t p, size_t d, int64_t from, double weight, const Slopes& slopes,
                   Slopes& total) {
    if (d == rank_) {
      return addElement(p, from, weight, slopes, total);
    }
    for (size_t t = 0; t < static_cast<size_t>(of_.axes[d].taps()); ++t) {
      if (taps_.weights[d].index[t] < 0) {
        continue;
      }
      const double here = taps_.weights[d].weight[t];
      Slopes next = slopes;
      for (size_t k = 0; k < d; ++k) {
        next[k] *= here;
      }
      next[d] = weight * taps_.slopes[d].weight[t];
      addElements(p, d + 1, from * of_.axes[d].size + taps_.weights[d].index[t], weight * here,
                  next, total);
    }
  }

  void addElement(int64_t p, int64_t from, double weight, const Slopes& slopes, Slopes& total) {
    double product = 0;
    for (int64_t c = 0; c < of_.channels; ++c) {
      const double dy = load(dy_[c * of_.points + p]);
      if (weight != 0) {
        sums_[c * of_.plane + from] += weight * dy;
      }
      product += dy * static_cast<double>(load(x_[c * of_.plane + from]));
    }
    for (size_t d = 0; d < rank_; ++d) {
      total[d] += slopes[d] == 0 ? 0 : slopes[d] * product;
    }
  }

  const GridGradients& of_;
  PointTaps taps_ = {};
  size_t rank_;
  const T* x_;
  const T* dy_;
  const G* grid_;
  T* dx_;
  G* dGrid_;
  double* sums_;
};

KernelOr createGridSampleBackward(const Instruction& instruction) {
  const Dims& in = instruction.inputs[0].desc.dims;
  const Dims& gradient = instruction.inputs[2].desc.dims;
  GridGradients of{};
  GR_ASSIGN_OR_RETURN(of.axes, gridAxes(instruction, gradient));
  if (instruction.outputs[0].desc.dims != in ||
      instruction.outputs[1].desc.dims != instruction.inputs[1].desc.dims) {
    return invalidInstruction(instruction, "the results have other shapes than input and grid");
  }
  of.batch = in[0];
  of.channels = in[1];
  of.plane = countOf(absl::MakeConstSpan(in).subspan(2));
  of.points = countOf(absl::MakeConstSpan(gradient).subspan(2));
  of.image = instruction.inputs[0].buffer;
  of.grid = instruction.inputs[1].buffer;
  of.gradient = instruction.inputs[2].buffer;
  of.imageGradient = instruction.outputs[0].buffer;
  of.gridGradient = instruction.outputs[1].buffer;
  return dispatchFloat(instruction.outputs[0].desc.type, [&]<typename T>() -> KernelOr {
    return dispatchFloat(instruction.inputs[1].desc.type, [&]<typename G>() -> KernelOr {
      std::vector<double> sums(static_cast<size_t>(countOf(in)));
      return makeKernel([of = std::move(of), sums = std::move(sums)](void* const* buffers) mutable {
        const int64_t image = of.channels * of.plane;
        parallelFor(of.batch, of.points * of.channels * 16, [&](int64_t n) {
          ImageGradients<T, G>(of, buffers, n, sums.data() + n * image).run();
        });
        return 0;
      });
    });
  });
}

constexpr ReferenceEntry kEntries[] = {
    {"gr.grid_sample_backward", TypeRule::kSamples, createGridSampleBackward, 3, 3, 2},
};

}  // namespace

absl::Span<const ReferenceEntry> referenceGridBackward() { return kEntries; }

}  // namespace graphrun::devices::cpu
