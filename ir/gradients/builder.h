// Gradient rules are written with terms, which have arithmetic, and the builder of one rule.
#ifndef GRAPHRUN_IR_GRADIENTS_BUILDER_H_
#define GRAPHRUN_IR_GRADIENTS_BUILDER_H_

#include <optional>

#include "ir/dialect.h"
#include "mlir/IR/Builders.h"

namespace graphrun::ir {

/// A tensor in a gradient rule, or a number, or zero: `dy * (1 - y * y)`. Zero is known to be zero
/// and costs nothing: a product with it is zero, a sum with it the other term. A number has the
/// element type of the tensor that it meets. Operators and functions make gr operations where the
/// builder stands; shapes broadcast. Cheap to copy; valid as long as its builder.
class Term {
 public:
  /// Zero.
  Term() = default;
  /*implicit*/ Term(double number) : number_(number) {}
  Term(GradientBuilder& builder, mlir::Value value) : builder_(&builder), value_(value) {}

  bool isZero() const { return !value_ && !number_; }
  std::optional<double> number() const { return number_; }
  /// Null for zero and for numbers.
  mlir::Value value() const { return value_; }
  /// Null for zero and for numbers.
  GradientBuilder* builder() const { return builder_; }

  // These are for tensors only.
  mlir::RankedTensorType type() const {
    return llvm::cast<mlir::RankedTensorType>(value_.getType());
  }
  mlir::Type element() const { return type().getElementType(); }
  llvm::ArrayRef<int64_t> dims() const { return type().getShape(); }
  int64_t rank() const { return type().getRank(); }

 private:
  GradientBuilder* builder_ = nullptr;
  mlir::Value value_;
  std::optional<double> number_;
};

Term operator+(Term a, Term b);
Term operator-(Term a, Term b);
Term operator*(Term a, Term b);
Term operator/(Term a, Term b);
Term operator-(Term a);

/// The element-wise operation `name` ("gr.exp") of a tensor, or of two.
Term apply(llvm::StringRef name, Term x);
Term apply(llvm::StringRef name, Term x, Term y);

inline Term exp(Term x) { return apply("gr.exp", x); }
inline Term log(Term x) { return apply("gr.log", x); }
inline Term sqrt(Term x) { return apply("gr.sqrt", x); }
inline Term abs(Term x) { return apply("gr.abs", x); }
inline Term sign(Term x) { return apply("gr.sign", x); }
inline Term less(Term x, Term y) { return apply("gr.less", x, y); }
inline Term lessEqual(Term x, Term y) { return apply("gr.less_equal", x, y); }
inline Term equal(Term x, Term y) { return apply("gr.equal", x, y); }
inline Term both(Term x, Term y) { return apply("gr.and", x, y); }
/// `yes` where `condition` (of bools) holds, else `no`; one of them is a tensor, or the result is
/// zero.
Term select(Term condition, Term yes, Term no);

/// Says why an operation has no gradient with respect to an operand.
struct GradientRefusal {
  mlir::Operation* op;
  unsigned operand;
  std::string why;
};

/// Builds the gradient of one operation, behind all that the rule reads: a rule reads operands,
/// results and the gradients of the results, and gives the gradients of the wanted operands.
class GradientBuilder {
 public:
  /// `gradients` has one value for each result of `op`; null is zero. Makes operations at `loc`.
  /// Borrows all.
  GradientBuilder(mlir::OpBuilder& builder, mlir::Location loc, mlir::Operation* op,
                  mlir::ValueRange gradients, llvm::SmallVectorImpl<GradientRefusal>& refusals);

  /// The gradient of result `i`; of an operation of one result never zero.
  Term gradient(unsigned i = 0) { return wrap(gradients_[i]); }
  Term operand(unsigned i) { return wrap(op_->getOperand(i)); }
  Term result(unsigned i = 0) { return wrap(op_->getResult(i)); }
  /// An operand by its name; zero where it is left out.
  Term wrap(mlir::Value value) { return value ? Term(*this, value) : Term(); }

  /// The gradient of operand `i` is asked for.
  bool wants(unsigned i) const { return wanted_[i]; }
  void setWanted(unsigned i) { wanted_[i] = true; }
  /// Gives the gradient of operand `i`: with its shape, or one that the operand broadcasts to,
  /// which is summed. What is not given is zero.
  void give(unsigned i, Term gradient);
  /// Says that operand `i` has no gradient, and why; fails, for a rule to return.
  mlir::LogicalResult refuse(unsigned i, const llvm::Twine& why);
  /// Says the same of the first wanted operand: of an operation that has no rule yet.
  mlir::LogicalResult refuseAll(const llvm::Twine& why);

  /// The gradients given, one an operand; null is zero.
  llvm::ArrayRef<mlir::Value> given() const { return given_; }

  /// The results of the new operation `name`. One that does not fit is a bug of the rule and ends
  /// the program.
  llvm::SmallVector<Term> emitMany(llvm::StringRef name, llvm::ArrayRef<Term> operands,
                                   llvm::ArrayRef<mlir::NamedAttribute> attributes,
                                   unsigned results);
  Term emit(llvm::StringRef name, llvm::ArrayRef<Term> operands,
            llvm::ArrayRef<mlir::NamedAttribute> attributes = {}) {
    return emitMany(name, operands, attributes, 1).front();
  }

  mlir::NamedAttribute integer(llvm::StringRef name, int64_t value);
  mlir::NamedAttribute integers(llvm::StringRef name, llvm::ArrayRef<int64_t> values);
  mlir::NamedAttribute real(llvm::StringRef name, double value);
  mlir::NamedAttribute boolean(llvm::StringRef name, bool value);
  mlir::NamedAttribute text(llvm::StringRef name, llvm::StringRef value);
  /// How many operands each of an operation's optional ones has.
  mlir::NamedAttribute segments(llvm::ArrayRef<int32_t> sizes);

  /// A constant of rank 0.
  Term scalar(double value, mlir::Type element);
  /// A constant of one value.
  Term full(mlir::RankedTensorType type, double value);
  Term full(Term like, double value) { return full(like.type(), value); }
  /// A constant of i64, row-major.
  Term ints(llvm::ArrayRef<int64_t> values, llvm::ArrayRef<int64_t> dims);
  Term ints(llvm::ArrayRef<int64_t> values) {
    return ints(values, {static_cast<int64_t>(values.size())});
  }
  /// A 1-D constant of floating-point numbers.
  Term floats(llvm::ArrayRef<double> values, mlir::Type element);
  /// A constant of i64: 0, 1 … along `axis` of a tensor of `dims`, which has 1 elsewhere.
  Term positions(int64_t axis, llvm::ArrayRef<int64_t> dims);

  // Each of these gives zero for zero, and `x` itself where nothing is to do.

  Term castTo(Term x, mlir::Type element);
  Term reshape(Term x, llvm::ArrayRef<int64_t> dims);
  Term transpose(Term x, llvm::ArrayRef<int64_t> permutation);
  /// Broadcasts to `dims`.
  Term expand(Term x, llvm::ArrayRef<int64_t> dims);
  /// Undoes a broadcast: sums over the dims that `x` has more, or larger, than `dims`.
  Term sumTo(Term x, llvm::ArrayRef<int64_t> dims);
  /// Reduces; each axis, in [0, rank), stays as a dim of 1.
  Term reduce(Term x, ReduceKind kind, llvm::ArrayRef<int64_t> axes);
  Term sum(Term x, llvm::ArrayRef<int64_t> axes) { return reduce(x, ReduceKind::kSum, axes); }
  Term mean(Term x, llvm::ArrayRef<int64_t> axes) { return reduce(x, ReduceKind::kMean, axes); }
  /// Elements [begin, end) along an axis.
  Term slice(Term x, int64_t axis, int64_t begin, int64_t end);
  Term reverse(Term x, int64_t axis);
  /// Adds zeros around; negative numbers crop.
  Term pad(Term x, llvm::ArrayRef<int64_t> before, llvm::ArrayRef<int64_t> after);
  /// The running sum or product along `axis`.
  Term cumulative(Term x, int64_t axis, llvm::StringRef kind, bool exclusive, bool reverse);
  Term matmul(Term lhs, Term rhs, bool transposeLhs, bool transposeRhs);
  /// Adds the slices of `x` along `axis` up in a tensor of zeros whose dim there is `size`: slice i
  /// at index `indices[i]` (1-D integers, negative ones count from the end).
  Term addSlices(Term x, int64_t axis, Term indices, int64_t size);

 private:
  mlir::OpBuilder& builder_;
  mlir::Location loc_;
  mlir::Operation* op_;
  llvm::SmallVector<mlir::Value> gradients_;
  llvm::SmallVectorImpl<GradientRefusal>& refusals_;
  llvm::SmallVector<bool> wanted_;
  llvm::SmallVector<mlir::Value> given_;
};

/// True for tensors whose elements can have gradients: of floating-point numbers that are computed
/// in.
bool isDifferentiable(mlir::Type type);

/// All dims [first, last).
llvm::SmallVector<int64_t> axesFrom(int64_t first, int64_t last);

/// The elements of a tensor of `dims`.
int64_t countOf(llvm::ArrayRef<int64_t> dims);

}  // namespace graphrun::ir

#endif  // GRAPHRUN_IR_GRADIENTS_BUILDER_H_
