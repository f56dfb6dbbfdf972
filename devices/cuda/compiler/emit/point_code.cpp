#include "devices/cuda/compiler/emit/point_code.h"

#include <limits>

#include "devices/codegen/index_maps.h"
#include "devices/codegen/memory_elements.h"
#include "devices/codegen/scalar_emitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace graphrun::devices::cuda {
namespace {

namespace arith = mlir::arith;

constexpr int64_t kBlockThreads = 256;
constexpr int64_t kVectorBytes = 16;  // the widest load and store of one thread

}  // namespace

PointCode::PointCode(mlir::Operation* op, llvm::ArrayRef<int64_t> dims)
    : op_(op), dims_(dims), code_(op) {
  addSizes({mlir::ShapedType::getNumElements(dims)});
  addSizes(llvm::ArrayRef(dims_).drop_front(dims_.empty() ? 0 : 1));
}

void PointCode::addSizes(llvm::ArrayRef<int64_t> sizes) {
  for (int64_t size : sizes) {
    code_.sizes().add(size);
    sizes_.insert(size);
  }
}

mlir::Value PointCode::number(int64_t size) {
  return sizes_.contains(size) ? code_.number(size) : constant(size);
}

KernelLaunch PointCode::build(mlir::ModuleOp module, const std::string& symbol, Work work) {
  int64_t count = mlir::ShapedType::getNumElements(dims_);
  code_.begin(module, symbol, kBlockThreads, count);
  mlir::Value first = code_.make<arith::MulIOp>(code_.block(), constant(kBlockThreads));
  mlir::Value thread = add(first, code_.threadOfBlock());
  mlir::Value works = code_.make<arith::CmpIOp>(arith::CmpIPredicate::ult, thread, number(count));
  code_.emitIf(works, [&] {
    Values index = indexOf(thread, dims_);
    work(index, thread);
  });
  return code_.end();
}

mlir::Value PointCode::add(mlir::Value a, mlir::Value b) { return code_.make<arith::AddIOp>(a, b); }

mlir::Value PointCode::subtract(mlir::Value a, mlir::Value b) {
  return code_.make<arith::SubIOp>(a, b);
}

mlir::Value PointCode::times(mlir::Value a, int64_t factor) {
  return factor == 1 ? a : code_.make<arith::MulIOp>(a, number(factor));
}

mlir::Value PointCode::select(mlir::Value condition, mlir::Value a, mlir::Value b) {
  return code_.make<arith::SelectOp>(condition, a, b);
}

mlir::Value PointCode::both(mlir::Value a, mlir::Value b) {
  return code_.make<arith::AndIOp>(a, b);
}

mlir::Value PointCode::isLess(mlir::Value a, mlir::Value b) {
  return code_.make<arith::CmpIOp>(arith::CmpIPredicate::slt, a, b);
}

mlir::Value PointCode::isInside(mlir::Value a, int64_t size) {
  return code_.make<arith::CmpIOp>(arith::CmpIPredicate::ult, a, number(size));
}

mlir::Value PointCode::clamped(mlir::Value a, int64_t size) {
  mlir::Value positive = code_.make<arith::MaxSIOp>(a, constant(0));
  return code_.make<arith::MinSIOp>(positive, subtract(number(size), constant(1)));
}

PointCode::Values PointCode::indexOf(mlir::Value offset, llvm::ArrayRef<int64_t> dims) {
  Values index(dims.size());
  for (size_t d = dims.size(); d-- > 1;) {
    index[d] = code_.make<arith::RemUIOp>(offset, number(dims[d]));
    offset = code_.make<arith::DivUIOp>(offset, number(dims[d]));
  }
  if (!index.empty()) {
    index[0] = offset;
  }
  return index;
}

mlir::Value PointCode::offsetOf(llvm::ArrayRef<mlir::Value> index, llvm::ArrayRef<int64_t> dims) {
  mlir::Value offset = constant(0);
  for (auto [i, value] : llvm::enumerate(index)) {
    offset = i == 0 ? value : add(times(offset, dims[i]), value);
  }
  return offset;
}

mlir::Type PointCode::elementOf(unsigned argument) const {
  unsigned operands = op_->getNumOperands();
  mlir::Value value =
      argument < operands ? op_->getOperand(argument) : op_->getResult(argument - operands);
  return codegen::tensorOf(value).getElementType();
}

mlir::Value PointCode::address(unsigned argument, mlir::Value offset) {
  return code_.address(argument, codegen::memoryType(elementOf(argument)), offset);
}

mlir::Value PointCode::load(unsigned argument, mlir::Value offset, int64_t lanes) {
  return code_.load(address(argument, offset), codegen::memoryType(elementOf(argument)), lanes);
}

void PointCode::store(mlir::Value value, unsigned argument, mlir::Value offset) {
  code_.store(value, address(argument, offset));
}

mlir::Value PointCode::compute(unsigned argument, mlir::Value offset) {
  return codegen::fromMemory(code_.builder(), code_.loc(), load(argument, offset),
                             codegen::computeType(elementOf(argument)));
}

void PointCode::storeComputed(mlir::Value value, unsigned argument, mlir::Value offset) {
  mlir::Type memory = codegen::memoryType(elementOf(argument));
  store(codegen::toMemory(code_.builder(), code_.loc(), value, memory), argument, offset);
}

mlir::Value PointCode::loadIndex(unsigned operand, mlir::Value offset, int64_t size, bool fromEnd,
                                 KernelError error) {
  mlir::Value wide = compute(operand, offset);
  // In the index's own type, as offsets may be computed in less bits; one unsigned comparison.
  if (size <= std::numeric_limits<int32_t>::max() || !wide.getType().isInteger(32)) {
    mlir::Value count = code_.make<arith::IndexCastOp>(wide.getType(), number(size));
    mlir::Value shifted = fromEnd ? code_.make<arith::AddIOp>(wide, count) : wide;
    mlir::Value most = fromEnd ? code_.make<arith::AddIOp>(count, count) : count;
    auto details = [&]() -> Values {
      mlir::Type type = code_.builder().getI64Type();
      auto asI64 = [&](mlir::Value value) { return code_.make<arith::IndexCastOp>(type, value); };
      mlir::Value given = wide.getType() == type ? wide : code_.make<arith::ExtSIOp>(type, wide);
      return {given, asI64(offset), asI64(number(size))};
    };
    mlir::Value isWrong = code_.make<arith::CmpIOp>(arith::CmpIPredicate::uge, shifted, most);
    if (error == KernelError::kIndex) {
      code_.complainIf(isWrong, error, details);
    } else {
      code_.complainIf(isWrong, error);
    }
  }
  mlir::Value index = code_.make<arith::IndexCastOp>(code_.builder().getIndexType(), wide);
  if (fromEnd) {
    index = select(isLess(index, constant(0)), add(index, number(size)), index);
  }
  return clamped(index, size);
}

PointCode::Values PointCode::repeat(mlir::Value count, llvm::ArrayRef<mlir::Value> start,
                                    Round body) {
  mlir::OpBuilder& builder = code_.builder();
  auto loop = builder.create<mlir::scf::ForOp>(code_.loc(), constant(0), count, constant(1),
                                               mlir::ValueRange(start));
  mlir::OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  Values next = body(loop.getInductionVar(), loop.getRegionIterArgs());
  if (!next.empty()) {  // else the loop has its end already
    builder.create<mlir::scf::YieldOp>(code_.loc(), next);
  }
  return Values(loop.getResults());
}

int64_t commonLanes(mlir::Type element, llvm::ArrayRef<int64_t> counts) {
  int64_t lanes = kVectorBytes / (codegen::memoryType(element).getIntOrFloatBitWidth() / 8);
  while (llvm::any_of(counts, [&](int64_t count) { return count % lanes != 0; })) {
    lanes /= 2;
  }
  return lanes;
}

}  // namespace graphrun::devices::cuda
