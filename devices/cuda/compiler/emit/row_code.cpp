#include "devices/cuda/compiler/emit/row_code.h"

#include "devices/codegen/index_maps.h"
#include "devices/codegen/memory_elements.h"
#include "devices/codegen/scalar_emitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace graphrun::devices::cuda {
namespace {

namespace arith = mlir::arith;
namespace NVVM = mlir::NVVM;

constexpr int64_t kBlockThreads = 256;
constexpr int64_t kWarpThreads = 32;
constexpr int64_t kVectorBytes = 16;
constexpr int64_t kLongRow = 1024;  // more elements are worth a block

int64_t teamOf(Rows rows) {
  return rows.inner > 1 ? 1 : rows.size > kLongRow ? kBlockThreads : kWarpThreads;
}

/// Threads that keep a GPU busy, the least elements that are worth a thread of one part, and a
/// block, and the most parts, which one warp reduces again.
constexpr int64_t kBusyThreads = int64_t{1} << 16;
constexpr int64_t kLeastOfThread = 64, kLeastOfBlock = 4096;
constexpr int64_t kMostParts = 1024;

/// So many vectors of a row stay in registers.
constexpr int64_t kMostHeld = 8;

int64_t lanesOf(Rows rows, int64_t widest) {
  int64_t lanes = rows.inner > 1 ? 1 : kVectorBytes / widest;
  while (rows.size % lanes != 0) {
    lanes /= 2;
  }
  return lanes;
}

/// Rows that have a warp each share a block only where there are many: few are spread over the GPU.
int64_t blockOf(Rows rows) {
  int64_t threads = rows.count() * rows.parts * kWarpThreads;
  return teamOf(rows) == kWarpThreads && threads < kBusyThreads / 2 ? kWarpThreads : kBlockThreads;
}

}  // namespace

mlir::Type rowComputeType(mlir::Type element) {
  bool isNarrow = llvm::isa<mlir::IntegerType>(element) && element.getIntOrFloatBitWidth() < 32;
  return isNarrow ? mlir::IntegerType::get(element.getContext(), 32)
                  : codegen::computeType(element);
}

Rows inParts(Rows rows, int64_t elementBytes) {
  int64_t threads = std::max<int64_t>(rows.count() * teamOf(rows), 1);
  int64_t least = rows.inner > 1 ? kLeastOfThread : kLeastOfBlock;
  int64_t parts = std::min({kBusyThreads / threads, rows.size / least, kMostParts});
  if (parts > 1) {
    // Of whole vectors, so that all threads begin at one.
    int64_t unit = lanesOf(rows, elementBytes) * teamOf(rows);
    rows.partSize = llvm::divideCeilSigned(llvm::divideCeilSigned(rows.size, parts), unit) * unit;
    rows.parts = llvm::divideCeilSigned(rows.size, rows.partSize);
  }
  return rows;
}

RowCode::RowCode(mlir::Operation* op, Rows rows, int64_t widest)
    : op_(op),
      rows_(rows),
      lanes_(lanesOf(rows, widest)),
      team_(teamOf(rows)),
      block_(blockOf(rows)),
      code_(op) {
  mlir::Type element = codegen::tensorOf(op->getOperand(0)).getElementType();
  memory_ = codegen::memoryType(element);
  compute_ = rowComputeType(element);
  isUnsigned_ = element.isUnsignedInteger() || element.isInteger(1);
  if (rows.arePartial) {
    memory_ = compute_;
  }
  if (rows.parts > 1 || rows.arePartial) {
    code_.useScratch();
  }
  for (int64_t size :
       {rows.count(), rows.size, rows.parts, rows.count() * rows.parts, rows.partSize}) {
    code_.sizes().add(size);
  }
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
  int64_t units = rows_.count() * rows_.parts;
  code_.begin(module, symbol, block_, units * team_);
  thread_ = code_.threadOfBlock();
  member_ = remainder(thread_, team_);
  mlir::Value first = code_.make<arith::MulIOp>(code_.block(), code_.constant(block_ / team_));
  mlir::Value unit = code_.make<arith::AddIOp>(first, quotient(thread_, team_));
  auto emit = [&] {
    takeUnit(unit);
    if (rows_.inner == 1) {
      begin_ = code_.make<arith::MulIOp>(row_, code_.number(rows_.size));
    } else {
      mlir::Value inner = code_.number(rows_.inner);
      mlir::Value outer = code_.make<arith::MulIOp>(code_.make<arith::DivUIOp>(row_, inner),
                                                    code_.number(rows_.size * rows_.inner));
      begin_ = code_.make<arith::AddIOp>(outer, code_.make<arith::RemUIOp>(row_, inner));
    }
    holdRow();
    work();
  };
  if (team_ == kBlockThreads) {
    emit();  // a block for each row
  } else {
    mlir::Value works =
        code_.make<arith::CmpIOp>(arith::CmpIPredicate::ult, unit, code_.number(units));
    code_.emitIf(works, emit);
  }
  return code_.end();
}

/// Neighbouring threads take neighbouring rows; then the next part of all rows follows.
void RowCode::takeUnit(mlir::Value unit) {
  row_ = unit;
  from_ = code_.constant(0);
  to_ = code_.number(rows_.size);
  if (rows_.parts > 1) {
    mlir::Value count = code_.number(rows_.count()), size = code_.number(rows_.partSize);
    row_ = code_.make<arith::RemUIOp>(unit, count);
    part_ = code_.make<arith::DivUIOp>(unit, count);
    from_ = code_.make<arith::MulIOp>(part_, size);
    to_ = code_.make<arith::MinUIOp>(code_.make<arith::AddIOp>(from_, size), to_);
  }
}

/// Reads what the thread has of its row, if that is a few whole vectors.
void RowCode::holdRow() {
  const int64_t turn = team_ * lanes_;
  if (rows_.inner > 1 || rows_.parts > 1 || rows_.size % turn != 0 ||
      rows_.size / turn > kMostHeld) {
    return;
  }
  for (int64_t begin = 0; begin < rows_.size; begin += turn) {
    heldColumns_.push_back(code_.make<arith::AddIOp>(firstColumn(), code_.constant(begin)));
    held_.push_back(elementsAt(heldColumns_.back()));
  }
}

mlir::Value RowCode::asFloat(int64_t size) {
  mlir::Value whole =
      code_.make<arith::IndexCastOp>(code_.builder().getI64Type(), code_.number(size));
  return code_.make<arith::SIToFPOp>(compute_, whole);
}

/// Elements as they are computed in: narrow integers, of which a bool is one, in 32 bits.
mlir::Value RowCode::computed(mlir::Value elements) {
  if (!llvm::isa<mlir::IntegerType>(memory_) || memory_ == compute_) {
    return codegen::fromMemory(code_.builder(), code_.loc(), elements, compute_);
  }
  auto vector = llvm::dyn_cast<mlir::VectorType>(elements.getType());
  mlir::Type type = vector ? mlir::Type(vector.clone(compute_)) : compute_;
  return isUnsigned_ ? code_.make<arith::ExtUIOp>(type, elements)
                     : code_.make<arith::ExtSIOp>(type, elements);
}

mlir::Value RowCode::elementAddress(mlir::Value offset) {
  return rows_.arePartial ? code_.scratchAddress(0, memory_, offset)
                          : code_.address(0, memory_, offset);
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
  mlir::Value element = code_.load(elementAddress(begin_), memory_, 1);
  return spread(computed(element));
}

mlir::Value RowCode::offsetOf(mlir::Value column) {
  mlir::Value offset =
      rows_.inner == 1 ? column : code_.make<arith::MulIOp>(column, code_.number(rows_.inner));
  return code_.make<arith::AddIOp>(begin_, offset);
}

mlir::Value RowCode::elementsAt(mlir::Value column) {
  mlir::Value elements = code_.load(elementAddress(offsetOf(column)), memory_, lanes_);
  return computed(elements);
}

mlir::Value RowCode::loadColumn(unsigned operand, mlir::Value column) {
  mlir::Type memory = memoryTypeOf(op_->getOperand(operand));
  mlir::Value elements = code_.load(code_.address(operand, memory, column), memory, lanes_);
  return computed(elements);
}

void RowCode::storeAt(mlir::Value column, mlir::Value value) {
  mlir::Type memory = memoryTypeOf(op_->getResult(0));
  mlir::Value address = code_.address(op_->getNumOperands(), memory, offsetOf(column));
  code_.store(codegen::toMemory(code_.builder(), code_.loc(), value, memory), address);
}

mlir::Type RowCode::memoryTypeOf(mlir::Value value) const {
  return codegen::memoryType(codegen::tensorOf(value).getElementType());
}

void RowCode::storeRow(mlir::Value scalar) {
  auto store = [&] {
    if (rows_.parts > 1) {
      mlir::Value offset = code_.make<arith::MulIOp>(row_, code_.number(rows_.parts));
      offset = code_.make<arith::AddIOp>(offset, part_);
      return code_.store(scalar, code_.scratchAddress(0, compute_, offset));
    }
    mlir::Type memory = memoryTypeOf(op_->getResult(0));
    mlir::Value address = code_.address(op_->getNumOperands(), memory, row_);
    bool isNarrow = llvm::isa<mlir::IntegerType>(memory) && memory.getIntOrFloatBitWidth() < 32;
    code_.store(isNarrow ? code_.make<arith::TruncIOp>(memory, scalar)
                         : codegen::toMemory(code_.builder(), code_.loc(), scalar, memory),
                address);
  };
  if (team_ == 1) {
    return store();
  }
  mlir::Value isFirst =
      code_.make<arith::CmpIOp>(arith::CmpIPredicate::eq, member_, code_.constant(0));
  code_.emitIf(isFirst, store);
}

mlir::Value RowCode::firstColumn() {
  mlir::Value first = code_.make<arith::MulIOp>(member_, code_.constant(lanes_));
  return rows_.parts > 1 ? code_.make<arith::AddIOp>(from_, first) : first;
}

void RowCode::forEach(llvm::function_ref<void(mlir::Value, mlir::Value)> body) {
  if (!held_.empty()) {
    for (auto [elements, column] : llvm::zip(held_, heldColumns_)) {
      body(elements, column);
    }
    return;
  }
  mlir::OpBuilder& builder = code_.builder();
  auto loop = builder.create<mlir::scf::ForOp>(code_.loc(), firstColumn(), to_,
                                               code_.constant(team_ * lanes_));
  mlir::OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  body(elementsAt(loop.getInductionVar()), loop.getInductionVar());
}

/// One value a lane: `combine` of what the thread has of the row.
mlir::Value RowCode::reduceByThread(mlir::Value start, Element element, Combine combine) {
  if (!held_.empty()) {
    for (mlir::Value elements : held_) {
      start = combine(start, element(elements));
    }
    return start;
  }
  mlir::OpBuilder& builder = code_.builder();
  auto loop = builder.create<mlir::scf::ForOp>(
      code_.loc(), firstColumn(), to_, code_.constant(team_ * lanes_), mlir::ValueRange{start});
  mlir::OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  mlir::Value x = element(elementsAt(loop.getInductionVar()));
  mlir::Value next = combine(loop.getRegionIterArg(0), x);
  builder.create<mlir::scf::YieldOp>(code_.loc(), next);
  return loop.getResult(0);
}

mlir::Value RowCode::reduce(mlir::Value start, Element element, Combine combine) {
  mlir::Value value = acrossLanes(reduceByThread(start, element, combine), combine);
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
    code_.store(value, code_.element(array, value.getType(), quotient(thread_, kWarpThreads)));
  });
  code_.barrier();
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
