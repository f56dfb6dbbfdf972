// gr.dft, computed in double precision.
#include <algorithm>

#include "devices/cpu/reference/fourier.h"
#include "devices/cpu/reference/reference_support.h"

namespace graphrun::devices::cpu {
namespace {

using Complex = Fourier::Complex;

/// A transform of each line along an axis: line (o, i) of `outer` x `inner` has its values `inner`
/// complex (or real) numbers apart.
struct Lines {
  int64_t outer, inner;
  int64_t from, fromParts;  ///< values of a line of the input, and parts of each
  int64_t to, toParts;      ///< the same of the result
  int64_t length;           ///< of the transform
  bool inverse, onesided;

  bool isReal() const { return inverse && onesided; }
};

absl::StatusOr<Lines> linesOf(const Instruction& instruction) {
  const Dims& in = instruction.inputs[0].desc.dims;
  const Dims& out = instruction.outputs[0].desc.dims;
  GR_ASSIGN_OR_RETURN(int64_t axis, attribute<int64_t>(instruction, "axis"));
  GR_ASSIGN_OR_RETURN(int64_t length, attributeOr(instruction, "length", int64_t{0}));
  Lines lines{};
  GR_ASSIGN_OR_RETURN(lines.inverse, attributeOr(instruction, "inverse", false));
  GR_ASSIGN_OR_RETURN(lines.onesided, attributeOr(instruction, "onesided", false));
  auto rank = static_cast<int64_t>(in.size());
  if (rank < 2 || out.size() != in.size() || axis < 0 || axis > rank - 2) {
    return invalidInstruction(instruction, "the axis or the ranks do not fit");
  }
  lines.outer = countOf(absl::MakeSpan(in).first(static_cast<size_t>(axis)));
  lines.inner = countOf(absl::MakeSpan(in).subspan(static_cast<size_t>(axis) + 1)) / in.back();
  lines.from = in[static_cast<size_t>(axis)];
  lines.to = out[static_cast<size_t>(axis)];
  lines.fromParts = in.back();
  lines.toParts = out.back();
  lines.length = length > 0 ? length : lines.isReal() ? 2 * (lines.from - 1) : lines.from;
  Dims wanted = in;
  wanted[static_cast<size_t>(axis)] =
      lines.onesided && !lines.inverse ? lines.length / 2 + 1 : lines.length;
  wanted.back() = lines.isReal() ? 1 : 2;
  bool parts = lines.fromParts == 2 || (lines.fromParts == 1 && !lines.isReal());
  if (lines.length < 1 || lines.length > int64_t{1} << 32 || !parts || out != wanted) {
    return invalidInstruction(instruction, "the shapes of input and result do not fit");
  }
  return lines;
}

/// One line on its way: `data` holds the transform's values.
template <typename T>
class Line {
 public:
  Line(const Lines& lines, const Fourier& fourier, int64_t index, Complex* data)
      : lines_(lines), fourier_(fourier), index_(index), data_(data) {}

  void run(const T* x, T* y) {
    read(x + start(lines_.from * lines_.fromParts, lines_.fromParts));
    if (lines_.inverse) {
      std::transform(data_, data_ + lines_.length, data_, [](Complex z) { return std::conj(z); });
    }
    fourier_.transform(data_, data_ + lines_.length);
    write(y + start(lines_.to * lines_.toParts, lines_.toParts));
  }

 private:
  int64_t start(int64_t lineSize, int64_t parts) const {
    return index_ / lines_.inner * lineSize * lines_.inner + index_ % lines_.inner * parts;
  }

  void read(const T* x) {
    int64_t given = lines_.isReal() ? lines_.length / 2 + 1 : lines_.length;
    int64_t step = lines_.inner * lines_.fromParts;
    for (int64_t n = 0; n < given; ++n) {
      const T* at = x + n * step;
      bool inside = n < lines_.from;
      data_[n] = {inside ? static_cast<double>(load(at[0])) : 0,
                  inside && lines_.fromParts == 2 ? static_cast<double>(load(at[1])) : 0};
    }
    for (int64_t n = given; n < lines_.length; ++n) {
      data_[n] = std::conj(data_[lines_.length - n]);
    }
  }

  void write(T* y) const {
    double scale = lines_.inverse ? 1 / static_cast<double>(lines_.length) : 1;
    double sign = lines_.inverse ? -1 : 1;  // undoes the conjugation
    int64_t step = lines_.inner * lines_.toParts;
    for (int64_t k = 0; k < lines_.to; ++k) {
      y[k * step] = store<T>(static_cast<Compute<T>>(scale * data_[k].real()));
      if (lines_.toParts == 2) {
        y[k * step + 1] = store<T>(static_cast<Compute<T>>(scale * sign * data_[k].imag()));
      }
    }
  }

  const Lines& lines_;
  const Fourier& fourier_;
  int64_t index_;
  Complex* data_;
};

/// Lines that are transformed side by side, each with its own memory.
constexpr int64_t kWorkers = 16;

KernelOr createDft(const Instruction& instruction) {
  if (countOf(instruction.inputs[0].desc.dims) == 0) {
    return invalidInstruction(instruction, "has no values to transform");
  }
  GR_ASSIGN_OR_RETURN(Lines lines, linesOf(instruction));
  Fourier fourier(lines.length);
  int64_t size = lines.length + fourier.scratch();
  int64_t count = lines.outer * lines.inner;
  int64_t workers = std::min(kWorkers, count);
  std::vector<Complex> memory(static_cast<size_t>(workers * size));
  uint32_t from = instruction.inputs[0].buffer;
  uint32_t to = instruction.outputs[0].buffer;
  return dispatchFloat(instruction.outputs[0].desc.type, [&]<typename T>() -> KernelOr {
    return makeKernel([=, fourier = std::move(fourier),
                       memory = std::move(memory)](void* const* buffers) mutable {
      parallelFor(workers, size * 16 * (count / workers), [&](int64_t worker) {
        Complex* data = memory.data() + worker * size;
        for (int64_t line = worker; line < count; line += workers) {
          Line<T>(lines, fourier, line, data)
              .run(static_cast<const T*>(buffers[from]), static_cast<T*>(buffers[to]));
        }
      });
      return 0;
    });
  });
}

constexpr ReferenceEntry kEntries[] = {{"gr.dft", TypeRule::kFloat, createDft}};

}  // namespace

absl::Span<const ReferenceEntry> referenceSignal() { return kEntries; }

}  // namespace graphrun::devices::cpu
