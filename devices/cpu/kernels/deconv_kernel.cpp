#include "devices/cpu/kernels/deconv_kernel.h"

#include <oneapi/dnnl/dnnl.h>

#include <algorithm>

#include "devices/cpu/base/onednn_layouts.h"
#include "devices/cpu/kernels/given_layouts.h"
#include "devices/cpu/reference/reference_support.h"
#include "devices/cpu/vectors/wide.h"
#include "devices/executable/window.h"

namespace graphrun::devices::cpu {
namespace {

absl::Status declined(absl::string_view what) {
  return absl::UnimplementedError(absl::StrCat("gr.conv_transpose: products are spread ", what));
}

/// Sizes of a transposed convolution. Every pixel of the input gives `taps` x `outGroup` products
/// a group; each result element is the sum of those that fall on it.
struct Shape {
  int64_t batch, groups, in, out;  ///< in, out: channels
  int64_t pixels;                  ///< of one image
  int64_t taps;                    ///< elements of the window
  Dims input, kernel, output;      ///< spatial dims
  Window window;

  int64_t inGroup() const { return in / groups; }
  int64_t outGroup() const { return out / groups; }
  /// Products of one image.
  int64_t products() const { return pixels * taps * out; }
};

absl::Status checkInstruction(const Instruction& instruction) {
  if (!isFloatProduct(instruction) || !instruction.postOps.empty()) {
    return declined("if they are of f32, and nothing is fused behind");
  }
  size_t rank = instruction.inputs[0].desc.dims.size();
  if (rank < 3 || rank > 5 || instruction.outputs[0].desc.dims.size() != rank ||
      countOf(instruction.inputs[0].desc.dims) == 0 ||
      countOf(instruction.outputs[0].desc.dims) == 0) {
    return declined("over 1 to 3 spatial dims, not empty");
  }
  return absl::OkStatus();
}

absl::StatusOr<Shape> shapeOf(const Instruction& instruction) {
  GR_RETURN_IF_ERROR(checkInstruction(instruction));
  const Dims& in = instruction.inputs[0].desc.dims;
  const Dims& out = instruction.outputs[0].desc.dims;
  GR_ASSIGN_OR_RETURN(int64_t groups, attributeOr<int64_t>(instruction, "groups", 1));
  GR_ASSIGN_OR_RETURN(Dims filter, packedDeconvDims(instruction, groups));
  Shape shape{in[0], groups, in[1], out[1], 1, 1, {}, {}, {}, {}};
  shape.input.assign(in.begin() + 2, in.end());
  shape.output.assign(out.begin() + 2, out.end());
  shape.kernel.assign(filter.begin() + 2, filter.end() - 1);
  shape.pixels = countOf(shape.input);
  shape.taps = countOf(shape.kernel);
  bool fits = in[0] == out[0] && filter[0] == groups && groups * filter[1] == in[1] &&
              groups * filter.back() == out[1] && shape.taps > 0 &&
              (instruction.inputs.size() == 2 || instruction.inputs[2].desc.dims == Dims{out[1]});
  if (!fits) {
    return invalidInstruction(instruction,
                              "the shapes of input, filter, bias and result do not fit");
  }
  GR_ASSIGN_OR_RETURN(shape.window,
                      transposedWindowOf(instruction, shape.input, shape.kernel, shape.output));
  return shape;
}

/// Pairs of a pixel and a tap along one dim that fall on each result index.
std::vector<std::vector<std::pair<int64_t, int64_t>>> pixelTapPairs(const Shape& shape,
                                                                    size_t dim) {
  const Window& w = shape.window;
  std::vector<std::vector<std::pair<int64_t, int64_t>>> found(
      static_cast<size_t>(shape.output[dim]));
  for (int64_t pixel = 0; pixel < shape.input[dim]; ++pixel) {
    for (int64_t tap = 0; tap < shape.kernel[dim]; ++tap) {
      int64_t at = pixel * w.strides[dim] + tap * w.dilations[dim] - w.padsBegin[dim];
      if (at >= 0 && at < shape.output[dim]) {
        found[static_cast<size_t>(at)].emplace_back(pixel, tap);
      }
    }
  }
  return found;
}

/// For each index over some result dims, the offsets of the products that are summed there.
using Offsets = std::vector<Dims>;

/// Adds the products: rows of the result are those along its last spatial dim.
class Spread {
 public:
  explicit Spread(const Shape& shape) : shape_(shape) {
    // A product lies at (pixel * taps + tap) * outGroup in its group.
    size_t last = shape.input.size() - 1;
    int64_t pixels = 1;
    int64_t taps = 1;
    for (const Dims& column : times({{0}}, last, shape.taps, 1)) {
      offsets_.insert(offsets_.end(), column.begin(), column.end());
      ends_.push_back(static_cast<int64_t>(offsets_.size()));
    }
    rows_ = {{0}};
    for (size_t d = last; d-- > 0;) {
      pixels *= shape.input[d + 1];
      taps *= shape.kernel[d + 1];
      rows_ = times(rows_, d, pixels * shape.taps, taps);
    }
  }

  int64_t rows() const { return static_cast<int64_t>(rows_.size()); }

  /// Row `row` of one image's result, of group `group`. `bias` is the group's.
  void makeRow(int64_t row, int64_t group, const float* products, const float* bias,
               float* image) const {
    auto width = static_cast<int64_t>(ends_.size());
    float* to = image + row * width * shape_.out + group * shape_.outGroup();
    const Dims& sources = rows_[static_cast<size_t>(row)];
    for (int64_t x = 0; sources.empty() && x < width; ++x) {
      std::copy_n(bias, shape_.outGroup(), to + x * shape_.out);
    }
    for (size_t i = 0; i < sources.size(); ++i) {
      addRow(products + sources[i], i == 0 ? bias : nullptr, to);
    }
  }

 private:
  /// The offsets over one more dim, outside those of `inner`.
  Offsets times(const Offsets& inner, size_t dim, int64_t pixelStride, int64_t tapStride) const {
    Offsets product;
    for (const auto& index : pixelTapPairs(shape_, dim)) {
      for (const Dims& offsets : inner) {
        product.emplace_back();
        for (auto [pixel, tap] : index) {
          for (int64_t offset : offsets) {
            product.back().push_back(offset +
                                     (pixel * pixelStride + tap * tapStride) * shape_.outGroup());
          }
        }
      }
    }
    return product;
  }

  /// Adds to what is there, or to the bias where there is one.
  void addRow(const float* products, const float* bias, float* to) const {
    // Few channels, in a number that the compiler knows, are summed in registers.
    switch (shape_.outGroup()) {
      case 1:
        return addPixels<1>(products, bias, to);
      case 2:
        return addPixels<2>(products, bias, to);
      case 3:
        return addPixels<3>(products, bias, to);
      case 4:
        return addPixels<4>(products, bias, to);
      default:
        return addWidePixels(products, bias, to);
    }
  }

  template <size_t channels>
  void addPixels(const float* products, const float* bias, float* to) const {
    int64_t i = 0;
    for (int64_t end : ends_) {
      std::array<float, channels> sum;
      std::copy_n(bias == nullptr ? to : bias, channels, sum.begin());
      for (; i < end; ++i) {
        const float* from = products + offsets_[static_cast<size_t>(i)];
        for (size_t c = 0; c < channels; ++c) {
          sum[c] += from[c];
        }
      }
      std::copy_n(sum.begin(), channels, to);
      to += shape_.out;
    }
  }

  void addWidePixels(const float* products, const float* bias, float* to) const {
    int64_t channels = shape_.outGroup();
    int64_t i = 0;
    for (int64_t end : ends_) {
      const float* before = bias == nullptr ? to : bias;
      if (i == end && bias != nullptr) {
        std::copy_n(bias, channels, to);
      }
      for (; i < end; ++i, before = to) {
        const float* from = products + offsets_[static_cast<size_t>(i)];
#pragma omp simd
        for (int64_t c = 0; c < channels; ++c) {
          to[c] = before[c] + from[c];
        }
      }
      to += shape_.out;
    }
  }

  Shape shape_;
  Offsets rows_;
  Dims offsets_;  ///< of the columns, one after the other
  Dims ends_;     ///< of each column in `offsets_`
};

/// The products of one image, a group after the other; a code of the library.
int multiply(const Shape& shape, const float* x, const float* filter, float* products) {
  int64_t columns = shape.taps * shape.outGroup();
  for (int64_t g = 0; g < shape.groups; ++g) {
    dnnl_status_t status =
        dnnl_sgemm('N', 'N', shape.pixels, columns, shape.inGroup(), 1.0F, x + g * shape.inGroup(),
                   shape.in, filter + g * shape.inGroup() * columns, columns, 0.0F,
                   products + g * shape.pixels * columns, columns);
    if (status != dnnl_success) {
      return status;
    }
  }
  return 0;
}

class DeconvKernel : public OneDnnKernel {
 public:
  DeconvKernel(const Instruction& instruction, const Shape& shape, uint32_t products)
      : shape_(shape),
        spread_(shape),
        x_(instruction.inputs[0].buffer),
        filter_(instruction.inputs[1].buffer),
        products_(products),
        y_(instruction.outputs[0].buffer) {
    if (instruction.inputs.size() == 3) {
      bias_ = instruction.inputs[2].buffer;
    } else {
      zeros_.resize(static_cast<size_t>(shape.out));
    }
  }

  int run(void* const* buffers) override {
    const float* x = static_cast<const float*>(buffers[x_]);
    auto* products = static_cast<float*>(buffers[products_]);
    auto* y = static_cast<float*>(buffers[y_]);
    const float* bias = bias_ ? static_cast<const float*>(buffers[*bias_]) : zeros_.data();
    int64_t perGroup = shape_.products() / shape_.groups;
    for (int64_t n = 0; n < shape_.batch; ++n) {
      int code = multiply(shape_, x + n * shape_.pixels * shape_.in,
                          static_cast<const float*>(buffers[filter_]), products);
      if (code != 0) {
        return code;
      }
      float* image = y + n * countOf(shape_.output) * shape_.out;
      parallelFor(spread_.rows(), shape_.products() / spread_.rows(), [&](int64_t row) {
        for (int64_t g = 0; g < shape_.groups; ++g) {
          runWide([&] {
            spread_.makeRow(row, g, products + g * perGroup, bias + g * shape_.outGroup(), image);
          });
        }
      });
    }
    return 0;
  }

 private:
  Shape shape_;
  Spread spread_;
  uint32_t x_, filter_, products_, y_;
  std::optional<uint32_t> bias_;
  std::vector<float> zeros_;  ///< without a bias
};

/// The share of the peak that products and their spreading reach together, as measured. Spreading
/// one takes as long as so many multiplications: more where the products of an image do not stay in
/// a cache, and never less for the channels of a pixel.
double shareOf(const Shape& shape) {
  constexpr double kProducts = 0.95;
  constexpr double kCached = 24, kUncached = 60, kPixel = 360;
  constexpr int64_t kCache = 1 << 20;  // floats
  auto depth = static_cast<double>(shape.inGroup());
  double spread = std::max(shape.products() > kCache ? kUncached : kCached,
                           kPixel / static_cast<double>(shape.outGroup()));
  return kProducts * depth / (depth + spread);
}

absl::StatusOr<TensorDesc> channelsLast(const TensorDesc& desc) {
  return stridedDesc(desc.type, desc.dims, channelsLastStrides(desc.dims));
}

}  // namespace

absl::StatusOr<Dims> packedDeconvDims(const Instruction& instruction, int64_t groups) {
  const Dims& filter = instruction.inputs[1].desc.dims;
  size_t rank = instruction.inputs[0].desc.dims.size();
  if (filter.size() == rank + 1) {
    return filter;
  }
  if (filter.size() != rank || groups < 1 || filter[0] % groups != 0) {
    return invalidInstruction(instruction, "the filter does not fit the input");
  }
  Dims packed = {groups, filter[0] / groups};
  packed.insert(packed.end(), filter.begin() + 2, filter.end());
  packed.push_back(filter[1]);
  return packed;
}

absl::StatusOr<TensorDesc> deconvFilterSource(const TensorDesc& packed) {
  return movedLastDesc(packed.type, packed.dims, 2);
}

absl::StatusOr<LayoutChoice> chooseDeconvProduct(const Instruction& instruction) {
  GR_ASSIGN_OR_RETURN(Shape shape, shapeOf(instruction));
  LayoutChoice choice;
  GR_ASSIGN_OR_RETURN(TensorDesc in, channelsLast(instruction.inputs[0].desc));
  GR_ASSIGN_OR_RETURN(TensorDesc out, channelsLast(instruction.outputs[0].desc));
  TensorDesc filter{ElementType::kF32, {}};
  GR_ASSIGN_OR_RETURN(filter.dims, packedDeconvDims(instruction, shape.groups));
  const TensorDesc& given = instruction.inputs[1].desc;
  bool fits = (instruction.inputs[0].desc.any || sameLayout(instruction.inputs[0].desc, in)) &&
              (instruction.outputs[0].desc.any || sameLayout(instruction.outputs[0].desc, out)) &&
              (given.any || sameLayout(given, filter));
  if (!fits) {
    return declined("with the channels last, and from a filter of its own layout");
  }
  GR_ASSIGN_OR_RETURN(TensorDesc source, deconvFilterSource(filter));
  choice.inputs = {std::move(in), std::move(filter)};
  choice.sources = {TensorDesc{ElementType::kF32, instruction.inputs[0].desc.dims},
                    std::move(source)};
  if (instruction.inputs.size() == 3) {
    TensorDesc bias{ElementType::kF32, instruction.inputs[2].desc.dims};
    choice.inputs.push_back(bias);
    choice.sources.push_back(std::move(bias));
  }
  choice.outputs = {std::move(out)};
  choice.scratchBytes = static_cast<uint64_t>(shape.products()) * sizeof(float);
  choice.implementation = "product";
  choice.share = shareOf(shape);
  return choice;
}

absl::StatusOr<std::unique_ptr<Kernel>> createDeconvProduct(const Instruction& instruction,
                                                            KernelContext&) {
  GR_ASSIGN_OR_RETURN(LayoutChoice choice, chooseDeconvProduct(instruction));
  GR_ASSIGN_OR_RETURN(Shape shape, shapeOf(instruction));
  GR_ASSIGN_OR_RETURN(uint32_t products, scratchBuffer(instruction, choice.scratchBytes));
  return std::make_unique<DeconvKernel>(instruction, shape, products);
}

}  // namespace graphrun::devices::cpu
