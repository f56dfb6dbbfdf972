// These functions of tensors are the operations of the gr dialect. Public.
//
// Element-wise operations broadcast as in NumPy. Axes may count from the end (-1 is the last).
// Every function takes a name as its last argument: `relu(x, "act")`.
#ifndef GRAPHRUN_FRONTENDS_BUILDER_OPS_H_
#define GRAPHRUN_FRONTENDS_BUILDER_OPS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "frontends/builder/tensor.h"

namespace graphrun::builder {

// --- One operand, element-wise -------------------------------------------------------------------

// One function for each row of the table, which says behind it what it computes: abs, neg, exp,
// log, sqrt, floor, sin, tanh, relu, sigmoid, softplus, hardSwish, swish, elu, logicalNot and so
// on.
#define GR_UNARY(Class, name, builder, rule, flops, onnx, since) \
  Tensor builder(const Tensor& x, const At& at = {});
#define GR_FORM_OF_ALPHA(Class, name, builder, flops, form, usual) \
  Tensor builder(const Tensor& x, double alpha = usual, const At& at = {});
// Those with more options follow.
#define GR_FORM_OF_TWO(Class, name, builder, flops, form, first, firstUsual, second, secondUsual)
#define GR_OWN_UNARY(Class, name, builder, rule, flops)
#include "devices/functions/elementwise.def"

/// x where x >= 0, else alpha * x.
Tensor leakyRelu(const Tensor& x, double alpha = 0.01, const At& at = {});

struct Selu {
  double alpha = 1.67326319217681884765625;
  double gamma = 1.05070102214813232421875;
};
/// gamma * x where x > 0, else gamma * alpha * (exp(x) - 1).
Tensor selu(const Tensor& x, const Selu& options = {}, const At& at = {});

struct HardSigmoid {
  double alpha = 0.2;
  double beta = 0.5;
};
/// max(0, min(1, alpha * x + beta)).
Tensor hardSigmoid(const Tensor& x, const HardSigmoid& options = {}, const At& at = {});

struct Gelu {
  bool approximate = false;  ///< the tanh form
};
/// x times the normal distribution's cumulative function at x.
Tensor gelu(const Tensor& x, const Gelu& options = {}, const At& at = {});
/// min(max(x, low), high).
Tensor clip(const Tensor& x, double low, double high, const At& at = {});
struct Cast {
  /// To an 8-bit floating-point type: what is out of range becomes the largest value of its sign;
  /// else infinity, or NaN where the type has none.
  bool saturate = true;
  /// To f8e8m0, which holds powers of two: "up", "down" or "nearest".
  const char* roundMode = "up";
};
/// Converts the elements; floating point to integer truncates, to bool is x != 0.
Tensor cast(const Tensor& x, ElementType type, const Cast& options, const At& at = {});
inline Tensor cast(const Tensor& x, ElementType type, const At& at = {}) {
  return cast(x, type, Cast{}, at);
}
/// The bits of the elements as another type of the same width.
Tensor bitcast(const Tensor& x, ElementType type, const At& at = {});

// --- Two or three operands, element-wise; each may be a number -----------------------------------

// One function for each row of the table: add, sub, mul, div, min, max, equal, less, lessEqual,
// logicalAnd, logicalOr, logicalXor, shiftLeft, shiftRight.
#define GR_BINARY(Class, name, builder, rule, flops, onnx, since, neutral) \
  Tensor builder(const Operand& x, const Operand& y, const At& at = {});
#define GR_OWN_BINARY(Class, name, builder, flops, neutral)
#include "devices/functions/elementwise.def"

struct Mod {
  bool truncate = false;  ///< x / y is rounded towards zero, not down
};
/// Returns the remainder of x / y: it has the sign of y, or of x when truncated.
Tensor mod(const Operand& x, const Operand& y, const Mod& options = {}, const At& at = {});
/// x to the power of y.
Tensor pow(const Operand& x, const Operand& y, const At& at = {});
/// x where x >= 0, else slope * x.
Tensor prelu(const Tensor& x, const Operand& slope, const At& at = {});
/// x != y, as bools: not equal.
Tensor notEqual(const Operand& x, const Operand& y, const At& at = {});
/// x > y, as bools: less with its operands exchanged.
Tensor greater(const Operand& x, const Operand& y, const At& at = {});
/// x >= y, as bools: lessEqual with its operands exchanged.
Tensor greaterEqual(const Operand& x, const Operand& y, const At& at = {});
/// x where the condition (bools) holds, else y; one of x and y must be a tensor.
Tensor where(const Tensor& condition, const Operand& x, const Operand& y, const At& at = {});

// --- Reductions and products ---------------------------------------------------------------------

/// Has an enumerator for each row of the table, which says behind it what elements become.
enum class Reduction {
#define GR_REDUCE_KIND(Kind, name, rule, flops, nothing, onnx, axesInput) k##Kind,
#include "devices/functions/reductions.def"
};
struct Reduce {
  std::vector<int64_t> axes{};  ///< default: all
  bool keepdims = true;         ///< keep each reduced dim as 1
};
/// Reduces over axes.
Tensor reduce(const Tensor& x, Reduction kind, const Reduce& options = {}, const At& at = {});

struct MatMul {
  bool transposeLhs = false;  ///< exchange the last two dims first
  bool transposeRhs = false;
};
/// Matrix product over the last two dims; leading dims broadcast, as in NumPy.
Tensor matmul(const Tensor& lhs, const Tensor& rhs, const MatMul& options = {}, const At& at = {});

/// The sum of products that an equation names, as in NumPy: `einsum("bij,bjk->bik", {x, y})`.
Tensor einsum(const std::string& equation, const std::vector<Tensor>& operands, const At& at = {});

// --- Neural networks; tensors are N x C x spatial dims -------------------------------------------

/// Padding says how a sliding window meets the border: with `pads`, or so that the result has
/// ceil(size / stride) positions (the odd element of padding at the end, or at the beginning).
enum class Padding { kExplicit, kSameUpper, kSameLower };

struct Conv {
  Tensor bias{};                     ///< one value a result channel; default: none
  std::vector<int64_t> strides{};    ///< one a spatial dim; default: 1 each
  std::vector<int64_t> dilations{};  ///< one a spatial dim; default: 1 each
  std::vector<int64_t> pads{};       ///< all begins, then all ends; default: 0 each
  Padding padding = Padding::kExplicit;
  int64_t groups = 1;
};
/// Cross-correlation of the input with a filter of O x C/groups x K1 …
Tensor conv(const Tensor& input, const Tensor& filter, const Conv& options = {}, const At& at = {});

struct ConvTranspose {
  Tensor bias{};  ///< as in Conv, down to `padding`
  std::vector<int64_t> strides{};
  std::vector<int64_t> dilations{};
  std::vector<int64_t> pads{};
  Padding padding = Padding::kExplicit;
  std::vector<int64_t> outputPadding{};  ///< added at the end of each spatial dim; default: 0 each
  std::vector<int64_t> outputShape{};    ///< fixes the result's spatial dims; default: they follow
  int64_t groups = 1;
};
/// Transposed convolution with a filter of C x O/groups x K1 …
Tensor convTranspose(const Tensor& input, const Tensor& filter, const ConvTranspose& options = {},
                     const At& at = {});

struct DeformConv {
  Tensor bias{};  ///< as in Conv, down to `groups`
  std::vector<int64_t> strides{};
  std::vector<int64_t> dilations{};
  std::vector<int64_t> pads{};
  Padding padding = Padding::kExplicit;
  int64_t groups = 1;
  Tensor mask{};             ///< N x offsetGroups * K1 … x result dims; default: 1 each
  int64_t offsetGroups = 1;  ///< each serves as many of the input's channels
};
/// Convolution that reads the input at positions bent by `offsets` (N x offsetGroups * K1 … *
/// spatial dims x result dims), interpolated and times the mask.
Tensor deformConv(const Tensor& input, const Tensor& filter, const Tensor& offsets,
                  const DeformConv& options = {}, const At& at = {});

struct Pool {
  std::vector<int64_t> strides{};    ///< one a spatial dim; default: 1 each
  std::vector<int64_t> dilations{};  ///< one a spatial dim; default: 1 each
  std::vector<int64_t> pads{};       ///< all begins, then all ends; default: 0 each
  Padding padding = Padding::kExplicit;
  bool ceilMode = false;         ///< round the number of windows up
  bool countIncludePad = false;  ///< avgPool: divide by the window's size also at the border
};
/// Largest element of each window of `kernel` (one size a spatial dim).
Tensor maxPool(const Tensor& x, const std::vector<int64_t>& kernel, const Pool& options = {},
               const At& at = {});
/// The same, and where in the whole input the elements are (i64): row-major, or with the spatial
/// dims in reverse order.
std::vector<Tensor> maxPoolWithIndices(const Tensor& x, const std::vector<int64_t>& kernel,
                                       const Pool& options = {}, bool columnMajor = false,
                                       const At& at = {});
/// p-norm of each window of `kernel`.
Tensor lpPool(const Tensor& x, const std::vector<int64_t>& kernel, double p = 2,
              const Pool& options = {}, const At& at = {});
/// Mean of each window of `kernel`.
Tensor avgPool(const Tensor& x, const std::vector<int64_t>& kernel, const Pool& options = {},
               const At& at = {});

/// (x - mean) / sqrt(variance + epsilon) * scale + bias, with one value of each a channel.
Tensor batchNorm(const Tensor& x, const Tensor& scale, const Tensor& bias, const Tensor& mean,
                 const Tensor& variance, double epsilon = 1e-5, const At& at = {});
struct BatchNormTraining {
  Tensor output;
  Tensor mean, variance;  ///< of all elements of each channel
};
/// The same by the statistics of each channel over the batch.
BatchNormTraining batchNormTraining(const Tensor& x, const Tensor& scale, const Tensor& bias,
                                    double epsilon = 1e-5, const At& at = {});
/// Normalises each channel of each sample by its own statistics, then scales and shifts it.
Tensor instanceNorm(const Tensor& x, const Tensor& scale, const Tensor& bias, double epsilon = 1e-5,
                    const At& at = {});

struct LayerNorm {
  Tensor bias{};      ///< default: none
  int64_t axis = -1;  ///< the dims from here on are normalised
  double epsilon = 1e-5;
};
/// Normalises over the trailing dims, then scales and shifts.
Tensor layerNorm(const Tensor& x, const Tensor& scale, const LayerNorm& options = {},
                 const At& at = {});

struct Lrn {
  double alpha = 1e-4;
  double beta = 0.75;
  double bias = 1;
};
/// x / (bias + alpha / size * sum of squares over `size` channels) ^ beta.
Tensor lrn(const Tensor& x, int64_t size, const Lrn& options = {}, const At& at = {});

/// Exponentials normalised to sum 1 along an axis.
Tensor softmax(const Tensor& x, int64_t axis = -1, const At& at = {});
/// The logarithm of softmax.
Tensor logSoftmax(const Tensor& x, int64_t axis = -1, const At& at = {});

enum class Cell { kRnn, kLstm, kGru };
struct RecurrentWeights {
  Tensor input;   ///< G*H x C
  Tensor hidden;  ///< G*H x H
  Tensor bias;    ///< G*H
};
/// A cell over the steps of `input` (T x N x C), beginning with `hidden` (N x H) and, of an LSTM,
/// `state` (N x H): the hidden values of all steps (T x N x H). Weights hold the cell's G gates one
/// after the other: of an LSTM input, forget, cell and output; of a GRU update, reset and new
/// value.
Tensor recurrent(const Tensor& input, Cell cell, const RecurrentWeights& weights,
                 const Tensor& hidden, const Tensor& state = {}, const At& at = {});

struct Attention {
  Tensor mask{};                  ///< added to the scores; broadcasts to N x H x S x T
  std::optional<double> scale{};  ///< of the scores; default: 1 / sqrt(D)
  bool causal = false;            ///< the query at s sees the keys up to s only
};
/// softmax(scale * query * transpose(key) + mask) * value for a query of N x H x S x D, a key of
/// N x G x T x D and a value of N x G x T x V; H / G neighbouring heads of the query share a head
/// of the keys.
Tensor attention(const Tensor& query, const Tensor& key, const Tensor& value,
                 const Attention& options = {}, const At& at = {});

enum class ResizeMode { kNearest, kLinear, kCubic };
/// Coordinates say where a result element lies in the input; ONNX's coordinate_transformation_mode.
enum class Coordinates {
  kHalfPixel,
  kPytorchHalfPixel,
  kHalfPixelSymmetric,
  kAlignCorners,
  kAsymmetric
};
/// Rounding says which neighbour kNearest takes; ONNX's nearest_mode.
enum class Rounding { kPreferFloor, kPreferCeil, kFloor, kCeil };
struct Resize {
  Floats scales{};  ///< one a dim; either these
  Ints sizes{};     ///< or the sizes of all dims
  ResizeMode mode = ResizeMode::kNearest;
  Coordinates coordinates = Coordinates::kHalfPixel;
  Rounding rounding = Rounding::kPreferFloor;
  double cubicCoeff = -0.75;
  bool excludeOutside = false;
};
/// Resamples to another size.
Tensor resize(const Tensor& x, const Resize& options, const At& at = {});

// --- Shapes and movement of data; constants are made by Graph ------------------------------------

/// The dims [start, end) as a 1-D int64 tensor.
Tensor shape(const Tensor& x, int64_t start = 0, std::optional<int64_t> end = {},
             const At& at = {});

struct Reshape {
  bool allowZero = false;  ///< 0 is a size, not "the input's dim at this index"
};
/// The same elements in another shape; one dim may be -1 and follows from the rest.
Tensor reshape(const Tensor& x, const Ints& shape, const Reshape& options = {}, const At& at = {});
/// Drops dims of 1.
Tensor squeeze(const Tensor& x, const std::vector<int64_t>& axes, const At& at = {});
/// Inserts dims of 1 at these indices of the result.
Tensor unsqueeze(const Tensor& x, const std::vector<int64_t>& axes, const At& at = {});
/// Permutes the dims: result dim i is input dim permutation[i].
Tensor transpose(const Tensor& x, const std::vector<int64_t>& permutation, const At& at = {});
/// Joins tensors along an axis.
Tensor concat(const std::vector<Tensor>& inputs, int64_t axis, const At& at = {});
/// Cuts into parts of these sizes along an axis.
std::vector<Tensor> split(const Tensor& x, int64_t axis, const std::vector<int64_t>& sizes,
                          const At& at = {});
/// Cuts into `parts` equal parts, the last one smaller where the dim does not divide.
std::vector<Tensor> splitEqually(const Tensor& x, int64_t axis, int64_t parts, const At& at = {});

struct Slice {
  Ints starts{};  ///< negative: from the end; out of range: clamped
  Ints ends{};
  Ints axes{};   ///< default: the first dims, one for each start
  Ints steps{};  ///< default: 1 each; may be negative
};
/// A range with a step of each named axis.
Tensor slice(const Tensor& x, const Slice& options, const At& at = {});

enum class PadMode { kConstant, kReflect, kEdge, kWrap };
struct Pad {
  PadMode mode = PadMode::kConstant;
  Operand value = 0;  ///< for kConstant: a number or a scalar tensor
};
/// Adds elements around a tensor; `pads`: begin of each dim, then end of each; negative ones crop.
Tensor pad(const Tensor& x, const Ints& pads, const Pad& options = {}, const At& at = {});
/// Picks slices along an axis by index (a list, or a tensor of any rank).
Tensor gather(const Tensor& x, const Ints& indices, int64_t axis = 0, const At& at = {});
/// Broadcasts to a shape.
Tensor expand(const Tensor& x, const Ints& shape, const At& at = {});
/// Repeats along each dim.
Tensor tile(const Tensor& x, const Ints& repeats, const At& at = {});
/// A tensor of a shape that is computed when the model runs, filled with one value.
Tensor fill(const Tensor& shape, Scalar value, ElementType type, const At& at = {});

// --- Random numbers ------------------------------------------------------------------------------

enum class Distribution {
  kUniform,  ///< in [first, second)
  kNormal    ///< with mean `first` and standard deviation `second`
};
struct Random {
  Distribution kind = Distribution::kUniform;
  double first = 0;
  double second = 1;
  ElementType type = ElementType::kF32;
  Tensor step{};  ///< one i64 of rank 0: others for each; default: 0
};
/// Random numbers of a shape (a 1-D i64 tensor). They depend on the seed, the step and their index
/// alone, on every device.
Tensor random(const Tensor& shape, int64_t seed, const Random& options = {}, const At& at = {});

// --- Collectives ---------------------------------------------------------------------------------
//
// Operand i and result i belong to member i. What they compute does not depend on where members
// run: that is decided by whoever places the model (`--pin 'NAME/0=…'` says where member 0 does).
// So a program for several devices is one graph, with the part of each device written down once:
//
//   std::vector<Tensor> sums = allReduce({matmul(x0, w0), matmul(x1, w1)});

/// Every member gets the element-wise combination of what all have, in the order of the operands,
/// which have one type. A mean of integers is rounded towards zero.
std::vector<Tensor> allReduce(const std::vector<Tensor>& inputs, Reduction kind = Reduction::kSum,
                              const At& at = {});
/// Every member gets what all have, joined along an axis. Operands have one type.
std::vector<Tensor> allGather(const std::vector<Tensor>& inputs, int64_t axis, const At& at = {});
/// Member i gets part i of the combination, cut along an axis whose dim their number divides.
std::vector<Tensor> reduceScatter(const std::vector<Tensor>& inputs, int64_t axis,
                                  Reduction kind = Reduction::kSum, const At& at = {});

}  // namespace graphrun::builder

#endif  // GRAPHRUN_FRONTENDS_BUILDER_OPS_H_
