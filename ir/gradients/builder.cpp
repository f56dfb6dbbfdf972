#include "ir/gradients/builder.h"

#include <numeric>

#include "ir/builders.h"
#include "ir/folding.h"
#include "llvm/Support/ErrorHandling.h"
#include "mlir/IR/TypeUtilities.h"

namespace graphrun::ir {
namespace {

/// A tensor of a term that is a number, beside the tensor `other`.
Term tensorOf(Term term, Term other) {
  return term.number() ? other.builder()->scalar(*term.number(), other.element()) : term;
}

Term binary(llvm::StringRef name, Term a, Term b) {
  GradientBuilder* builder = a.builder() ? a.builder() : b.builder();
  return builder->emit(name, {tensorOf(a, b), tensorOf(b, a)});
}

}  // namespace

Term operator+(Term a, Term b) {
  if (a.isZero() || b.isZero()) {
    return a.isZero() ? b : a;
  }
  return a.number() && b.number() ? Term(*a.number() + *b.number()) : binary("gr.add", a, b);
}

Term operator-(Term a, Term b) {
  if (a.isZero() || b.isZero()) {
    return a.isZero() ? -b : a;
  }
  return a.number() && b.number() ? Term(*a.number() - *b.number()) : binary("gr.sub", a, b);
}

Term operator*(Term a, Term b) {
  if (a.isZero() || b.isZero()) {
    return Term();
  }
  return a.number() && b.number() ? Term(*a.number() * *b.number()) : binary("gr.mul", a, b);
}

Term operator/(Term a, Term b) {
  if (a.isZero()) {
    return Term();
  }
  assert(!b.isZero() && "a rule divides by zero");
  return a.number() && b.number() ? Term(*a.number() / *b.number()) : binary("gr.div", a, b);
}

Term operator-(Term a) {
  if (a.isZero()) {
    return a;
  }
  return a.number() ? Term(-*a.number()) : apply("gr.neg", a);
}

Term apply(llvm::StringRef name, Term x) {
  assert(x.value() && "a function is of a tensor");
  return x.builder()->emit(name, {x});
}

Term apply(llvm::StringRef name, Term x, Term y) {
  assert((x.value() || y.value()) && "a function is of a tensor");
  return binary(name, x, y);
}

Term select(Term condition, Term yes, Term no) {
  if (!yes.value() && !no.value()) {
    assert(yes.isZero() && no.isZero() && "a choice between numbers has no type");
    return Term();
  }
  Term one = yes.isZero() ? Term(0.0) : yes;
  Term other = no.isZero() ? Term(0.0) : no;
  return condition.builder()->emit("gr.where",
                                   {condition, tensorOf(one, other), tensorOf(other, one)});
}

GradientBuilder::GradientBuilder(mlir::OpBuilder& builder, mlir::Location loc, mlir::Operation* op,
                                 mlir::ValueRange gradients,
                                 llvm::SmallVectorImpl<GradientRefusal>& refusals)
    : builder_(builder),
      loc_(loc),
      op_(op),
      gradients_(gradients),
      refusals_(refusals),
      wanted_(op->getNumOperands(), false),
      given_(op->getNumOperands()) {}

void GradientBuilder::give(unsigned i, Term gradient) {
  if (!wanted_[i] || gradient.isZero()) {
    return;
  }
  auto type = llvm::cast<mlir::RankedTensorType>(op_->getOperand(i).getType());
  given_[i] = sumTo(gradient, type.getShape()).value();
  assert(given_[i].getType() == type && "a gradient has its operand's type");
}

mlir::LogicalResult GradientBuilder::refuse(unsigned i, const llvm::Twine& why) {
  refusals_.push_back({op_, i, why.str()});
  return mlir::failure();
}

mlir::LogicalResult GradientBuilder::refuseAll(const llvm::Twine& why) {
  auto first = llvm::find(wanted_, true) - wanted_.begin();
  return refuse(static_cast<unsigned>(first), why);
}

llvm::SmallVector<Term> GradientBuilder::emitMany(llvm::StringRef name,
                                                  llvm::ArrayRef<Term> operands,
                                                  llvm::ArrayRef<mlir::NamedAttribute> attributes,
                                                  unsigned results) {
  llvm::SmallVector<mlir::Value> values;
  for (const Term& operand : operands) {
    values.push_back(operand.value());
  }
  mlir::FailureOr<mlir::Operation*> made =
      createOp(builder_, loc_, name, values, attributes, results);
  if (mlir::failed(made)) {  // a bug; what does not fit has been reported
    llvm::report_fatal_error("the gradient rule of " + op_->getName().getStringRef() + " made a " +
                             name + " that does not fit");
  }
  llvm::SmallVector<Term> terms;
  for (mlir::Value result : (*made)->getResults()) {
    terms.push_back(wrap(result));
  }
  return terms;
}

mlir::NamedAttribute GradientBuilder::integer(llvm::StringRef name, int64_t value) {
  return builder_.getNamedAttr(name, builder_.getI64IntegerAttr(value));
}
mlir::NamedAttribute GradientBuilder::integers(llvm::StringRef name,
                                               llvm::ArrayRef<int64_t> values) {
  return builder_.getNamedAttr(name, builder_.getDenseI64ArrayAttr(values));
}
mlir::NamedAttribute GradientBuilder::real(llvm::StringRef name, double value) {
  return builder_.getNamedAttr(name, builder_.getF64FloatAttr(value));
}
mlir::NamedAttribute GradientBuilder::boolean(llvm::StringRef name, bool value) {
  return builder_.getNamedAttr(name, builder_.getBoolAttr(value));
}
mlir::NamedAttribute GradientBuilder::text(llvm::StringRef name, llvm::StringRef value) {
  return builder_.getNamedAttr(name, builder_.getStringAttr(value));
}

mlir::NamedAttribute GradientBuilder::segments(llvm::ArrayRef<int32_t> sizes) {
  return builder_.getNamedAttr("operandSegmentSizes", builder_.getDenseI32ArrayAttr(sizes));
}

Term GradientBuilder::scalar(double value, mlir::Type element) {
  return wrap(createScalar(builder_, loc_, element, value));
}

Term GradientBuilder::full(mlir::RankedTensorType type, double value) {
  return wrap(createFull(builder_, loc_, type, value));
}

Term GradientBuilder::ints(llvm::ArrayRef<int64_t> values, llvm::ArrayRef<int64_t> dims) {
  auto type = mlir::RankedTensorType::get(dims, builder_.getI64Type());
  return wrap(builder_.create<ConstantOp>(loc_, type, mlir::DenseElementsAttr::get(type, values)));
}

Term GradientBuilder::floats(llvm::ArrayRef<double> values, mlir::Type element) {
  auto type = mlir::RankedTensorType::get({static_cast<int64_t>(values.size())}, element);
  return wrap(builder_.create<ConstantOp>(loc_, type, makeFloats(type, values)));
}

Term GradientBuilder::positions(int64_t axis, llvm::ArrayRef<int64_t> dims) {
  llvm::SmallVector<int64_t> numbers(dims[axis]);
  std::iota(numbers.begin(), numbers.end(), 0);
  llvm::SmallVector<int64_t> shape(dims.size(), 1);
  shape[axis] = dims[axis];
  return ints(numbers, shape);
}

Term GradientBuilder::castTo(Term x, mlir::Type element) {
  if (x.isZero() || x.element() == element) {
    return x;
  }
  return emit("gr.cast", {x}, {builder_.getNamedAttr("to", mlir::TypeAttr::get(element))});
}

Term GradientBuilder::reshape(Term x, llvm::ArrayRef<int64_t> dims) {
  if (x.isZero() || x.dims() == dims) {
    return x;
  }
  return emit("gr.reshape", {x, ints(dims)}, {boolean("allow_zero", true)});
}

Term GradientBuilder::transpose(Term x, llvm::ArrayRef<int64_t> permutation) {
  if (x.isZero() || llvm::equal(permutation, axesFrom(0, x.rank()))) {
    return x;
  }
  return emit("gr.transpose", {x}, {integers("permutation", permutation)});
}

Term GradientBuilder::expand(Term x, llvm::ArrayRef<int64_t> dims) {
  return x.isZero() || x.dims() == dims ? x : emit("gr.expand", {x, ints(dims)});
}

Term GradientBuilder::sumTo(Term x, llvm::ArrayRef<int64_t> dims) {
  if (x.isZero() || x.dims() == dims) {
    return x;
  }
  auto more = x.rank() - static_cast<int64_t>(dims.size());
  llvm::SmallVector<int64_t> axes;
  for (int64_t axis = 0; axis < x.rank(); ++axis) {
    if (axis < more || dims[axis - more] != x.dims()[axis]) {
      axes.push_back(axis);
    }
  }
  return reshape(sum(x, axes), dims);
}

Term GradientBuilder::reduce(Term x, ReduceKind kind, llvm::ArrayRef<int64_t> axes) {
  if (x.isZero() || axes.empty()) {
    return x;
  }
  return emit(
      "gr.reduce", {x},
      {text("kind", stringifyReduceKind(kind)), integers("axes", axes), boolean("keepdims", true)});
}

Term GradientBuilder::slice(Term x, int64_t axis, int64_t begin, int64_t end) {
  if (x.isZero() || (begin == 0 && end == x.dims()[axis])) {
    return x;
  }
  return emit("gr.slice", {x, ints({begin}), ints({end}), ints({axis}), ints({1})});
}

Term GradientBuilder::reverse(Term x, int64_t axis) {
  if (x.isZero()) {
    return x;
  }
  return emit("gr.slice", {x, ints({-1}), ints({INT64_MIN}), ints({axis}), ints({-1})});
}

Term GradientBuilder::pad(Term x, llvm::ArrayRef<int64_t> before, llvm::ArrayRef<int64_t> after) {
  llvm::SmallVector<int64_t> pads(before);
  llvm::append_range(pads, after);
  if (x.isZero() || llvm::all_of(pads, [](int64_t count) { return count == 0; })) {
    return x;
  }
  return emit("gr.pad", {x, ints(pads), scalar(0, x.element())}, {text("mode", "constant")});
}

Term GradientBuilder::cumulative(Term x, int64_t axis, llvm::StringRef kind, bool exclusive,
                                 bool reverse) {
  if (x.isZero()) {
    return x;
  }
  return emit("gr.cumulative", {x, ints({axis}, {})},
              {text("kind", kind), boolean("exclusive", exclusive), boolean("reverse", reverse)});
}

Term GradientBuilder::matmul(Term lhs, Term rhs, bool transposeLhs, bool transposeRhs) {
  if (lhs.isZero() || rhs.isZero()) {
    return Term();
  }
  return emit("gr.matmul", {lhs, rhs},
              {boolean("transpose_lhs", transposeLhs), boolean("transpose_rhs", transposeRhs)});
}

Term GradientBuilder::addSlices(Term x, int64_t axis, Term indices, int64_t size) {
  if (x.isZero()) {
    return x;
  }
  // Indexed dims come first in gr.scatter_nd.
  llvm::SmallVector<int64_t> toFront = {axis};
  llvm::SmallVector<int64_t> back;
  for (int64_t i = 0; i < x.rank(); ++i) {
    if (i != axis) {
      toFront.push_back(i);
    }
    back.push_back(i == axis ? 0 : i < axis ? i + 1 : i);
  }
  Term front = transpose(x, toFront);
  llvm::SmallVector<int64_t> dims(front.dims());
  dims[0] = size;
  Term zeros = full(mlir::RankedTensorType::get(dims, x.element()), 0);
  Term sums = emit("gr.scatter_nd", {zeros, reshape(indices, {countOf(indices.dims()), 1}), front},
                   {text("reduction", "add")});
  return transpose(sums, back);
}

bool isDifferentiable(mlir::Type type) {
  mlir::Type element = mlir::getElementTypeOrSelf(type);
  return llvm::isa<mlir::FloatType>(element) && isComputed(element);
}

llvm::SmallVector<int64_t> axesFrom(int64_t first, int64_t last) {
  llvm::SmallVector<int64_t> axes(std::max<int64_t>(last - first, 0));
  std::iota(axes.begin(), axes.end(), first);
  return axes;
}

int64_t countOf(llvm::ArrayRef<int64_t> dims) {
  return std::accumulate(dims.begin(), dims.end(), int64_t{1}, std::multiplies<>());
}

}  // namespace graphrun::ir
