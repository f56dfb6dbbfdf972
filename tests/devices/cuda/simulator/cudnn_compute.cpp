// What the graphs of the simulator's cuDNN compute, element by element.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "tests/devices/cuda/simulator/cudnn_objects.h"
#include "tests/devices/cuda/simulator/gpu_state.h"
#include "tests/devices/cuda/simulator/small_float.h"

namespace graphrun::testing {
namespace {

using Dims = std::vector<int64_t>;

/// The elements of a tensor, wherever they lie.
class Elements {
 public:
  Elements() = default;
  explicit Elements(const CudnnObject& tensor)
      : type_(tensor.one(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_DATA_FLOAT)),
        dims_(tensor.integers(CUDNN_ATTR_TENSOR_DIMENSIONS)),
        strides_(tensor.integers(CUDNN_ATTR_TENSOR_STRIDES)) {}

  const Dims& dims() const { return dims_; }
  size_t bytes() const {
    int64_t last = 0;
    for (size_t d = 0; d < dims_.size(); ++d) {
      last += (dims_[d] - 1) * strides_[d];
    }
    return static_cast<size_t>(last + 1) * static_cast<size_t>(cudnnElementBytes(type_));
  }
  void lieAt(void* data) { data_ = static_cast<uint8_t*>(data); }

  double get(const Dims& index) const {
    switch (type_) {
      case CUDNN_DATA_FLOAT:
        return read<float>(index);
      case CUDNN_DATA_HALF:
        return static_cast<double>(read<_Float16>(index));
      case CUDNN_DATA_INT32:
        return read<int32_t>(index);
      case CUDNN_DATA_INT8:
        return read<int8_t>(index);
      case CUDNN_DATA_UINT8:
      case CUDNN_DATA_BOOLEAN:
        return read<uint8_t>(index);
      default: {
        uint32_t bits = uint32_t{read<uint16_t>(index)} << 16;
        float value = 0;
        std::memcpy(&value, &bits, sizeof(value));
        return value;
      }
    }
  }
  void set(const Dims& index, double value) {
    switch (type_) {
      case CUDNN_DATA_FLOAT:
        return write(index, static_cast<float>(value));
      case CUDNN_DATA_HALF:
        return write(index, static_cast<_Float16>(value));
      case CUDNN_DATA_INT32:
        return write(index, static_cast<int32_t>(value));
      case CUDNN_DATA_INT8:
        return write(index, static_cast<int8_t>(value));
      case CUDNN_DATA_UINT8:
        return write(index, static_cast<uint8_t>(value));
      case CUDNN_DATA_BOOLEAN:
        return write(index, static_cast<uint8_t>(value != 0));
      default: {
        auto single = static_cast<float>(value);
        uint32_t bits = 0;
        std::memcpy(&bits, &single, sizeof(bits));
        // To nearest, ties to even; what is no number keeps a bit that says so.
        bits = std::isnan(single) ? bits | 0x400000 : bits + 0x7fff + (bits >> 16 & 1);
        return write(index, static_cast<uint16_t>(bits >> 16));
      }
    }
  }

 private:
  template <typename T>
  T read(const Dims& index) const {
    T value{};
    std::memcpy(&value, address(index, sizeof(T)), sizeof(T));
    return value;
  }
  template <typename T>
  void write(const Dims& index, T value) {
    std::memcpy(address(index, sizeof(T)), &value, sizeof(T));
  }
  uint8_t* address(const Dims& index, size_t size) const {
    int64_t at = 0;
    for (size_t d = 0; d < index.size(); ++d) {
      at += index[d] * strides_[d];
    }
    return data_ + static_cast<size_t>(at) * size;
  }

  cudnnDataType_t type_ = CUDNN_DATA_FLOAT;
  Dims dims_, strides_;
  uint8_t* data_ = nullptr;
};

/// Calls `visit(index)` for each element of `dims`.
template <typename Visit>
void forEach(const Dims& dims, Visit visit) {
  Dims index(dims.size(), 0);
  for (size_t d = dims.size(); d > 0;) {
    visit(index);
    for (d = dims.size(); d > 0; --d) {
      if (++index[d - 1] < dims[d - 1]) {
        break;
      }
      index[d - 1] = 0;
    }
  }
}

/// One run of a graph.
class Run {
 public:
  Run(const CudnnMemory& memory, bool onTensorCores)
      : memory_(memory), onTensorCores_(onTensorCores) {}

  CUresult operator()(const CudnnObject& graph) {
    for (const CudnnPart& operation : graph.parts.at(CUDNN_ATTR_OPERATIONGRAPH_OPS)) {
      switch (operation->type) {
        case CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR:
          convolve(operation->part(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC),
                   operation->one(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, 1.0F),
                   open(*operation, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X),
                   open(*operation, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W),
                   open(*operation, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y), false);
          break;
        case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR:
          convolve(operation->part(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC),
                   operation->one(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA, 1.0F),
                   open(*operation, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX),
                   open(*operation, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W),
                   open(*operation, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY), true);
          break;
        case CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR:
          apply(*operation);
          break;
        case CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR:
          multiply(*operation);
          break;
        case CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR:
          reduce(*operation);
          break;
        default:
          pool(*operation);
      }
      if (failed_ != CUDA_SUCCESS) {
        return failed_;
      }
    }
    return CUDA_SUCCESS;
  }

 private:
  /// The tensor in its memory, or in that of this run.
  Elements open(const CudnnObject& operation, cudnnBackendAttributeName_t name) {
    const CudnnObject& tensor = operation.part(name);
    Elements elements(tensor);
    auto id = tensor.one<int64_t>(CUDNN_ATTR_TENSOR_UNIQUE_ID, 0);
    if (tensor.one(CUDNN_ATTR_TENSOR_IS_VIRTUAL, false)) {
      inner_[id].resize(elements.bytes());
      elements.lieAt(inner_[id].data());
      return elements;
    }
    if (auto value = memory_.values.find(id); value != memory_.values.end()) {
      inner_[id] = value->second;
      elements.lieAt(inner_[id].data());
      return elements;
    }
    CUdeviceptr address = memory_.tensors.at(id);
    void* data = gpu().view(address, elements.bytes());
    if (data == nullptr) {
      failed_ = CUDA_ERROR_ILLEGAL_ADDRESS;
    } else if (address % static_cast<uint64_t>(
                             tensor.one<int64_t>(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, 1)) !=
               0) {
      failed_ = CUDA_ERROR_MISALIGNED_ADDRESS;
    }
    elements.lieAt(data);
    return elements;
  }

  /// A correlation of `image` to `result`, or what its sums give back to the image, times `alpha`,
  /// whose bits are an i32 where sums are.
  void convolve(const CudnnObject& window, float alpha, Elements image, Elements filter,
                Elements result, bool back) {
    if (failed_ != CUDA_SUCCESS) {
      return;
    }
    Dims strides = window.integers(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES);
    Dims dilations = window.integers(CUDNN_ATTR_CONVOLUTION_DILATIONS);
    Dims before = window.integers(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS);
    int64_t groups = image.dims()[1] / filter.dims()[1];
    Elements& to = back ? image : result;
    std::map<Dims, double> sums;
    forEach(result.dims(), [&](const Dims& at) {
      forEach(filter.dims(), [&](const Dims& tap) {
        if (tap[0] != at[1]) {
          return;
        }
        Dims from = {at[0], at[1] / (filter.dims()[0] / groups) * filter.dims()[1] + tap[1]};
        for (size_t d = 2; d < at.size(); ++d) {
          from.push_back(at[d] * strides[d - 2] + tap[d] * dilations[d - 2] - before[d - 2]);
          if (from[d] < 0 || from[d] >= image.dims()[d]) {
            return;
          }
        }
        double factor = (back ? result : image).get(back ? at : from);
        sums[back ? from : at] += onTensorCores_
                                      ? ptx::roundToTf32(filter.get(tap)) * ptx::roundToTf32(factor)
                                      : filter.get(tap) * factor;
      });
    });
    const bool sumsWhole =
        window.one(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_DATA_FLOAT) == CUDNN_DATA_INT32;
    const double factor = sumsWhole ? std::bit_cast<int32_t>(alpha) : double{alpha};
    forEach(to.dims(), [&](const Dims& at) { to.set(at, factor * sums[at]); });
  }

  void apply(const CudnnObject& operation) {
    const CudnnObject& function = operation.part(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR);
    Elements x = open(operation, CUDNN_ATTR_OPERATION_POINTWISE_XDESC);
    Elements y = open(operation, CUDNN_ATTR_OPERATION_POINTWISE_YDESC);
    bool takesTwo = operation.has(CUDNN_ATTR_OPERATION_POINTWISE_BDESC);
    bool selects = operation.has(CUDNN_ATTR_OPERATION_POINTWISE_TDESC);
    Elements b = takesTwo ? open(operation, CUDNN_ATTR_OPERATION_POINTWISE_BDESC) : Elements();
    Elements t = selects ? open(operation, CUDNN_ATTR_OPERATION_POINTWISE_TDESC) : Elements();
    auto axis = static_cast<size_t>(function.one<int64_t>(CUDNN_ATTR_POINTWISE_AXIS, 0));
    bool indexes = function.has(CUDNN_ATTR_POINTWISE_AXIS);
    if (failed_ != CUDA_SUCCESS) {
      return;
    }
    forEach(y.dims(), [&](const Dims& at) {
      double other = takesTwo ? b.get(within(at, b.dims())) : 0;
      if (selects) {
        y.set(at, t.get(at) != 0 ? x.get(at) : other);
      } else {
        y.set(at, indexes ? static_cast<double>(at[axis]) : valueOf(function, x.get(at), other));
      }
    });
  }

  /// `at`, but 0 along dims that broadcast.
  static Dims within(Dims at, const Dims& dims) {
    for (size_t d = 0; d < at.size(); ++d) {
      at[d] = std::min(at[d], dims[d] - 1);
    }
    return at;
  }

  /// Batches of B may be fewer: neighbours of A share one.
  void multiply(const CudnnObject& operation) {
    Elements a = open(operation, CUDNN_ATTR_OPERATION_MATMUL_ADESC);
    Elements b = open(operation, CUDNN_ATTR_OPERATION_MATMUL_BDESC);
    Elements c = open(operation, CUDNN_ATTR_OPERATION_MATMUL_CDESC);
    if (failed_ != CUDA_SUCCESS) {
      return;
    }
    size_t row = c.dims().size() - 2, column = row + 1;
    forEach(c.dims(), [&](const Dims& at) {
      Dims left = at, right = at;
      for (size_t d = 0; d < row; ++d) {
        right[d] = at[d] / (c.dims()[d] / b.dims()[d]);
      }
      double sum = 0;
      for (int64_t k = 0; k < a.dims()[column]; ++k) {
        left[column] = right[row] = k;
        sum += a.get(left) * b.get(right);
      }
      c.set(at, sum);
    });
  }

  void reduce(const CudnnObject& operation) {
    auto kind = operation.part(CUDNN_ATTR_OPERATION_REDUCTION_DESC)
                    .one(CUDNN_ATTR_REDUCTION_OPERATOR, CUDNN_REDUCE_TENSOR_ADD);
    Elements x = open(operation, CUDNN_ATTR_OPERATION_REDUCTION_XDESC);
    Elements y = open(operation, CUDNN_ATTR_OPERATION_REDUCTION_YDESC);
    if (kind != CUDNN_REDUCE_TENSOR_ADD && kind != CUDNN_REDUCE_TENSOR_MAX) {
      failed_ = CUDA_ERROR_NOT_SUPPORTED;
    }
    if (failed_ != CUDA_SUCCESS) {
      return;
    }
    bool isMax = kind == CUDNN_REDUCE_TENSOR_MAX;
    std::map<Dims, double> results;
    forEach(x.dims(), [&](const Dims& at) {
      double value = x.get(at);
      auto [found, isNew] = results.emplace(within(at, y.dims()), value);
      if (!isNew) {
        found->second = isMax ? std::max(found->second, value) : found->second + value;
      }
    });
    for (const auto& [at, value] : results) {
      y.set(at, value);
    }
  }

  double valueOf(const CudnnObject& function, double x, double b) {
    auto parameter = [&](cudnnBackendAttributeName_t name, float otherwise) {
      return static_cast<double>(function.one(name, otherwise));
    };
    switch (function.one(CUDNN_ATTR_POINTWISE_MODE, CUDNN_POINTWISE_IDENTITY)) {
      case CUDNN_POINTWISE_ADD:
        return x + b;
      case CUDNN_POINTWISE_SUB:
        return x - b;
      case CUDNN_POINTWISE_MUL:
        return x * b;
      case CUDNN_POINTWISE_DIV:
        return x / b;
      case CUDNN_POINTWISE_MAX:
        return std::max(x, b);
      case CUDNN_POINTWISE_MIN:
        return std::min(x, b);
      case CUDNN_POINTWISE_CMP_GE:
        return x >= b ? 1 : 0;
      case CUDNN_POINTWISE_RELU_FWD:
        return x > 0 ? x : x * parameter(CUDNN_ATTR_POINTWISE_RELU_LOWER_CLIP_SLOPE, 0);
      case CUDNN_POINTWISE_ELU_FWD:
        return x > 0 ? x : std::expm1(x) * parameter(CUDNN_ATTR_POINTWISE_ELU_ALPHA, 1);
      case CUDNN_POINTWISE_SWISH_FWD:
        return x / (1 + std::exp(-x * parameter(CUDNN_ATTR_POINTWISE_SWISH_BETA, 1)));
      case CUDNN_POINTWISE_GELU_FWD:
        return x / 2 * (1 + std::erf(x / std::sqrt(2.0)));
      case CUDNN_POINTWISE_GELU_APPROX_TANH_FWD:
        return x / 2 * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
      case CUDNN_POINTWISE_SIGMOID_FWD:
        return 1 / (1 + std::exp(-x));
      case CUDNN_POINTWISE_TANH_FWD:
        return std::tanh(x);
      case CUDNN_POINTWISE_SOFTPLUS_FWD:
        return std::log1p(std::exp(x));
      case CUDNN_POINTWISE_ABS:
        return std::abs(x);
      case CUDNN_POINTWISE_SQRT:
        return std::sqrt(x);
      case CUDNN_POINTWISE_EXP:
        return std::exp(x);
      case CUDNN_POINTWISE_LOG:
        return std::log(x);
      default:
        failed_ = CUDA_ERROR_NOT_SUPPORTED;
        return 0;
    }
  }

  void pool(const CudnnObject& operation) {
    const CudnnObject& window = operation.part(CUDNN_ATTR_OPERATION_RESAMPLE_FWD_DESC);
    Elements x = open(operation, CUDNN_ATTR_OPERATION_RESAMPLE_FWD_XDESC);
    Elements y = open(operation, CUDNN_ATTR_OPERATION_RESAMPLE_FWD_YDESC);
    if (failed_ != CUDA_SUCCESS) {
      return;
    }
    auto mode = window.one(CUDNN_ATTR_RESAMPLE_MODE, CUDNN_RESAMPLE_MAXPOOL);
    Dims kernel = window.integers(CUDNN_ATTR_RESAMPLE_WINDOW_DIMS);
    Dims strides = window.integers(CUDNN_ATTR_RESAMPLE_STRIDES);
    Dims before = window.integers(CUDNN_ATTR_RESAMPLE_PRE_PADDINGS);
    forEach(y.dims(), [&](const Dims& at) {
      double sum = 0;
      double most = -std::numeric_limits<double>::infinity();
      int64_t taps = 0;
      int64_t inside = 0;
      forEach(kernel, [&](const Dims& tap) {
        ++taps;
        Dims from = {at[0], at[1]};
        for (size_t d = 0; d < tap.size(); ++d) {
          from.push_back(at[d + 2] * strides[d] + tap[d] - before[d]);
          if (from[d + 2] < 0 || from[d + 2] >= x.dims()[d + 2]) {
            return;
          }
        }
        ++inside;
        sum += x.get(from);
        most = std::max(most, x.get(from));
      });
      bool isMax = mode == CUDNN_RESAMPLE_MAXPOOL;
      int64_t count = mode == CUDNN_RESAMPLE_AVGPOOL_INCLUDE_PADDING ? taps : inside;
      y.set(at, isMax ? most : sum / static_cast<double>(count));
    });
  }

  const CudnnMemory& memory_;
  bool onTensorCores_;
  std::map<int64_t, std::vector<uint8_t>> inner_;
  CUresult failed_ = CUDA_SUCCESS;
};

}  // namespace

CUresult runCudnnGraph(const CudnnObject& graph, const CudnnMemory& memory, bool onTensorCores) {
  return Run(memory, onTensorCores)(graph);
}

}  // namespace graphrun::testing
