#include "devices/cuda/compiler/row_code.h"

#include "devices/codegen/index_maps.h"
#include "devices/codegen/memory_elements.h"
#include "devices/codegen/scalar_emitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace graphrun::devices::cuda {
namespace {

namespace arith = mlir::arith;
namespace LLVM = mlir::LLVM;
namespace NVVM = mlir::NVVM;

constexpr int64_t kBlockThreads = 256;
constexpr int64_t kWarpThreads = 32;
constexpr int64_t kVectorBytes = 16;
constexpr int64_t kLongRow = 1024;  // more elements are worth a block

int64_t teamOf(Rows rows) {
  return rows.inner > 1 ? 1 : rows.size > kLongRow ? kBlockThreads : kWarpThreads;
}

int64_t lanesOf(Rows rows, int64_t widest) {
  int64_t lanes = rows.inner > 1 ? 1 : kVectorBytes / widest;
  while (rows.size % lanes != 0) {
    lanes /= 2;
  }
  return lanes;
}

}  // namespace

RowCode::RowCode(mlir::Operation* op, Rows rows, int64_t widest)
    : op_(op), rows_(rows), lanes_(lanesOf(rows, widest)), team_(teamOf(rows)), code_(op) {
  mlir::Type element = codegen::tensorOf(op->getOperand(0)).getElementType();
  memory_ = codegen::memoryType(element);
  compute_ = codegen::computeType(element);
  code_.sizes().add(rows.count());
  code_.sizes().add(rows.size);
  if (rows.inner > 1) {
    code_.sizes().add(rows.inner);
    code_.sizes().add(rows.size * rows.inner);
  }
}

mlir::Value RowCode::remainder(mlir::Value number, int64_t divisor) {
  return code_.make<arith::RemUIOp>(number, code_.constant(divisor));
}

mlir::Value RowCode::quotient(mlir::Value number, int64_t divisor) {
  return code_.make<arith::DivUIOp>(number, code_.constant(divisor));
}

KernelLaunch RowCode::build(mlir::ModuleOp module, const std::string& symbol,
                            llvm::function_ref<void()> work) {
  code_.begin(module, symbol, kBlockThreads, rows_.count() * team_);
  thread_ = code_.threadOfBlock();
  member_ = remainder(thread_, team_);
  mlir::Value first =
      code_.make<arith::MulIOp>(code_.block(), code_.constant(kBlockThreads / team_));
  row_ = code_.make<arith::AddIOp>(first, quotient(thread_, team_));
  auto emit = [&] {
    if (rows_.inner == 1) {
      begin_ = code_.make<arith::MulIOp>(row_, code_.number(rows_.size));
    } else {
      mlir::Value inner = code_.number(rows_.inner);
      mlir::Value outer = code_.make<arith::MulIOp>(code_.make<arith::DivUIOp>(row_, inner),
                                                    code_.number(rows_.size * rows_.inner));
      begin_ = code_.make<arith::AddIOp>(outer, code_.make<arith::RemUIOp>(row_, inner));
    }
    work();
  };
  if (team_ == kBlockThreads) {
    emit();  // a block for each row
  } else {
    mlir::Value works =
        code_.make<arith::CmpIOp>(arith::CmpIPredicate::ult, row_, code_.number(rows_.count()));
    code_.emitIf(works, emit);
  }
  return code_.end();
}

mlir::Value RowCode::sizeAsFloat() {
  mlir::Value size =
      code_.make<arith::IndexCastOp>(code_.builder().getI64Type(), code_.number(rows_.size));
  return code_.make<arith::SIToFPOp>(compute_, size);
}

mlir::Value RowCode::spread(mlir::Value scalar) {
  return lanes_ == 1 ? scalar
                     : code_.make<mlir::vector::BroadcastOp>(
                           codegen::laneType(scalar.getType(), lanes_), scalar);
}

mlir::Value RowCode::constant(double value) {
  return codegen::emitConstant(code_.builder(), code_.loc(), codegen::laneType(compute_, lanes_),
                               value);
}

mlir::Value RowCode::firstElement() {
  mlir::Value element = code_.load(code_.address(0, memory_, begin_), memory_, 1);
  return spread(codegen::fromMemory(code_.builder(), code_.loc(), element, compute_));
}

mlir::Value RowCode::placeOf(mlir::Value column) {
  mlir::Value offset =
      rows_.inner == 1 ? column : code_.make<arith::MulIOp>(column, code_.number(rows_.inner));
  return code_.make<arith::AddIOp>(begin_, offset);
}

mlir::Value RowCode::elementsAt(mlir::Value column) {
  mlir::Value elements = code_.load(code_.address(0, memory_, placeOf(column)), memory_, lanes_);
  return codegen::fromMemory(code_.builder(), code_.loc(), elements, compute_);
}

mlir::Value RowCode::loadColumn(unsigned operand, mlir::Value column) {
  mlir::Value elements = code_.load(code_.address(operand, memory_, column), memory_, lanes_);
  return codegen::fromMemory(code_.builder(), code_.loc(), elements, compute_);
}

void RowCode::storeAt(mlir::Value column, mlir::Value value) {
  mlir::Value address = code_.address(op_->getNumOperands(), memory_, placeOf(column));
  code_.store(codegen::toMemory(code_.builder(), code_.loc(), value, memory_), address);
}

void RowCode::storeRow(mlir::Value scalar) {
  auto store = [&] {
    mlir::Value address = code_.address(op_->getNumOperands(), memory_, row_);
    code_.store(codegen::toMemory(code_.builder(), code_.loc(), scalar, memory_), address);
  };
  if (team_ == 1) {
    return store();
  }
  mlir::Value isFirst =
      code_.make<arith::CmpIOp>(arith::CmpIPredicate::eq, member_, code_.constant(0));
  code_.emitIf(isFirst, store);
}

void RowCode::forEach(llvm::function_ref<void(mlir::Value, mlir::Value)> body) {
  mlir::OpBuilder& builder = code_.builder();
  mlir::Value first = code_.make<arith::MulIOp>(member_, code_.constant(lanes_));
  auto loop = builder.create<mlir::scf::ForOp>(code_.loc(), first, code_.number(rows_.size),
                                               code_.constant(team_ * lanes_));
  mlir::OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  body(elementsAt(loop.getInductionVar()), loop.getInductionVar());
}

mlir::Value RowCode::reduce(mlir::Value start, Element element, Combine combine) {
  mlir::OpBuilder& builder = code_.builder();
  mlir::Value first = code_.make<arith::MulIOp>(member_, code_.constant(lanes_));
  auto loop =
      builder.create<mlir::scf::ForOp>(code_.loc(), first, code_.number(rows_.size),
                                       code_.constant(team_ * lanes_), mlir::ValueRange{start});
  {
    mlir::OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    mlir::Value x = element(elementsAt(loop.getInductionVar()));
    mlir::Value next = combine(loop.getRegionIterArg(0), x);
    builder.create<mlir::scf::YieldOp>(code_.loc(), next);
  }
  mlir::Value value = acrossLanes(loop.getResult(0), combine);
  value = team_ > 1 ? acrossWarp(value, combine) : value;
  return team_ > kWarpThreads ? acrossBlock(value, combine) : value;
}

mlir::Value RowCode::acrossLanes(mlir::Value vector, Combine combine) {
  if (lanes_ == 1) {
    return vector;
  }
  mlir::Value value = code_.make<mlir::vector::ExtractOp>(vector, int64_t{0});
  for (int64_t lane = 1; lane < lanes_; ++lane) {
    value = combine(value, code_.make<mlir::vector::ExtractOp>(vector, lane));
  }
  return value;
}

/// Each thread has the result of all: after the step of distance d, that of the 2 d lanes around
/// it.
mlir::Value RowCode::acrossWarp(mlir::Value value, Combine combine) {
  for (int64_t distance = kWarpThreads / 2; distance > 0; distance /= 2) {
    value = combine(value, shuffle(value, distance));
  }
  return value;
}

/// The first thread of each warp leaves its value in shared memory, where all read all.
mlir::Value RowCode::acrossBlock(mlir::Value value, Combine combine) {
  constexpr int64_t kWarps = kBlockThreads / kWarpThreads;
  mlir::Value array = code_.sharedArray(value.getType(), kWarps);
  mlir::Value isFirst = code_.make<arith::CmpIOp>(
      arith::CmpIPredicate::eq, remainder(thread_, kWarpThreads), code_.constant(0));
  code_.emitIf(isFirst, [&] {
    mlir::Value warp = quotient(thread_, kWarpThreads);
    code_.store(value, code_.element(array, value.getType(), warp));
  });
  code_.builder().create<NVVM::Barrier0Op>(code_.loc());
  mlir::Value all = code_.load(array, value.getType(), 1);
  for (int64_t warp = 1; warp < kWarps; ++warp) {
    mlir::Value other = code_.load(code_.after(array, value.getType(), warp), value.getType(), 1);
    all = combine(all, other);
  }
  return all;
}

/// The value of the thread at `distance` in the warp; 64 bits travel in two halves.
mlir::Value RowCode::shuffle(mlir::Value value, int64_t distance) {
  mlir::OpBuilder& builder = code_.builder();
  mlir::Type i32 = builder.getI32Type(), i64 = builder.getI64Type();
  auto number = [&](int64_t n) { return code_.make<arith::ConstantIntOp>(n, 32); };
  auto exchange = [&](mlir::Value half) {
    return code_.make<NVVM::ShflOp>(half.getType(), number(-1), half, number(distance),
                                    number(kWarpThreads - 1), NVVM::ShflKind::bfly,
                                    mlir::UnitAttr());
  };
  mlir::Type type = value.getType();
  if (type.getIntOrFloatBitWidth() == 32) {
    return exchange(value);
  }
  mlir::Value bits = type == i64 ? value : code_.make<arith::BitcastOp>(i64, value);
  mlir::Value high = code_.make<arith::ShRUIOp>(bits, code_.make<arith::ConstantIntOp>(32, 64));
  mlir::Value low = exchange(code_.make<arith::TruncIOp>(i32, bits));
  high = exchange(code_.make<arith::TruncIOp>(i32, high));
  high = code_.make<arith::ShLIOp>(code_.make<arith::ExtUIOp>(i64, high),
                                   code_.make<arith::ConstantIntOp>(32, 64));
  bits = code_.make<arith::OrIOp>(high, code_.make<arith::ExtUIOp>(i64, low));
  return type == i64 ? bits : code_.make<arith::BitcastOp>(type, bits);
}

}  // namespace graphrun::devices::cuda
