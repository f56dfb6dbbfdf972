#include "devices/cuda/compiler/emit/map_kernel.h"

#include "devices/codegen/linear_offsets.h"
#include "devices/codegen/memory_elements.h"
#include "devices/codegen/terms.h"
#include "devices/cuda/compiler/emit/thread_code.h"
#include "ir/dialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"

namespace graphrun::devices::cuda {
namespace {

using codegen::MapAccess;
using codegen::memoryType;
using codegen::tensorOf;
namespace arith = mlir::arith;

constexpr int64_t kBlockThreads = 256;
constexpr int64_t kVectorBytes = 16;  // the widest load and store of one thread
constexpr int64_t kMostStride = 16;  // up to which a thread's elements are addressed from the first

int64_t bytesOf(mlir::Type element) { return memoryType(element).getIntOrFloatBitWidth() / 8; }

/// Emits the work of one thread.
class MapKernelBuilder {
 public:
  MapKernelBuilder(mlir::Operation* op, llvm::ArrayRef<KernelLayout> operands, KernelLayout result)
      : op_(op),
        nest_(op, operands, result),
        loops_(nest_.loops()),
        lanes_(lanesOfThread()),
        code_(op) {}

  int64_t lanes() const { return lanes_; }

  KernelLaunch build(mlir::ModuleOp module, const std::string& symbol) {
    planSizes();
    code_.begin(module, symbol, kBlockThreads, threads());
    mlir::Value first = code_.make<arith::MulIOp>(code_.block(), code_.constant(kBlockThreads));
    mlir::Value thread = code_.make<arith::AddIOp>(first, code_.threadOfBlock());
    mlir::Value works =
        code_.make<arith::CmpIOp>(arith::CmpIPredicate::ult, thread, code_.number(threads()));
    code_.emitIf(works, [&] { emitWork(thread); });
    return code_.end();
  }

 private:
  /// The number of elements by which `offset` moves from one iteration of the innermost loop to the
  /// next; nothing where that differs.
  std::optional<int64_t> innermostStride(mlir::AffineExpr offset) const {
    auto flat = codegen::coefficientsOf(offset, loops_.size());
    return flat ? std::optional((*flat)[loops_.size() - 1]) : std::nullopt;
  }

  /// An offset with an innermost stride of one: vectors begin at multiples of their elements.
  bool isAligned(mlir::AffineExpr offset, int64_t lanes) const {
    auto flat = codegen::coefficientsOf(offset, loops_.size());
    if (!flat) {
      return false;
    }
    (*flat)[loops_.size() - 1] = 0;
    return llvm::all_of(*flat, [&](int64_t number) { return number % lanes == 0; });
  }

  /// Elements of one thread: 16 bytes of the widest that are read or written in order, where the
  /// innermost loop divides into them. A single loop needs not: what is left over is done one by
  /// one.
  int64_t lanesOfThread() const {
    if (innermostStride(nest_.store()) != 1) {
      return 1;
    }
    int64_t widest = 1;
    for (mlir::Value result : nest_.results()) {
      widest = std::max(widest, bytesOf(tensorOf(result).getElementType()));
    }
    for (const auto& [key, access] : nest_.accesses()) {
      bool isInOrder = innermostStride(access.offset) == 1;
      widest = isInOrder ? std::max(widest, bytesOf(access.element)) : widest;
    }
    int64_t lanes = kVectorBytes / widest;
    bool isSingle = loops_.size() == 1;
    while (lanes > 1 && (isSingle ? loops_.back() < lanes : loops_.back() % lanes != 0)) {
      lanes /= 2;
    }
    return lanes;
  }

  /// The innermost loop divides into vectors.
  bool isWhole() const { return loops_.back() % lanes_ == 0; }

  /// Vectors of the innermost loop, the last of which may not be whole.
  int64_t columns() const { return llvm::divideCeilSigned(loops_.back(), lanes_); }

  int64_t threads() const {
    int64_t count = columns();
    for (int64_t size : loops_.drop_back()) {
      count *= size;
    }
    return count;
  }

  void planSizes() {
    codegen::KernelSizes& sizes = code_.sizes();
    sizes.add(threads());
    for (size_t i = 1; i < loops_.size(); ++i) {
      sizes.add(i + 1 == loops_.size() ? columns() : loops_[i]);
    }
    if (!isWhole()) {
      sizes.add(loops_.back());
    }
    for (const auto& [key, access] : nest_.accesses()) {
      sizes.addOf(access.offset);
    }
    sizes.addOf(nest_.store());
  }

  /// The vector of number `thread`, or the elements that are left over.
  void emitWork(mlir::Value thread) {
    llvm::SmallVector<mlir::Value> indices(loops_.size());
    for (size_t i = loops_.size(); i-- > 1;) {
      mlir::Value count = code_.number(i + 1 == loops_.size() ? columns() : loops_[i]);
      indices[i] = code_.make<arith::RemUIOp>(thread, count);
      thread = code_.make<arith::DivUIOp>(thread, count);
    }
    indices[0] = thread;
    mlir::Value& last = indices.back();
    last = lanes_ > 1 ? code_.make<arith::MulIOp>(last, code_.constant(lanes_)) : last;
    if (isWhole()) {
      return emitBody(indices, lanes_);
    }
    mlir::Value size = code_.number(loops_.back());
    mlir::Value beyond = code_.make<arith::AddIOp>(last, code_.constant(lanes_));
    mlir::Value isInside = code_.make<arith::CmpIOp>(arith::CmpIPredicate::ule, beyond, size);
    code_.emitIf(isInside, [&] { emitBody(indices, lanes_); }, [&] { emitRest(last, size); });
  }

  /// Emits the elements that are left over at the end of the only loop.
  void emitRest(mlir::Value begin, mlir::Value end) {
    auto loop =
        code_.builder().create<mlir::scf::ForOp>(code_.loc(), begin, end, code_.constant(1));
    code_.builder().setInsertionPointToStart(loop.getBody());
    emitBody({loop.getInductionVar()}, 1);
  }

  void emitBody(mlir::ValueRange indices, int64_t lanes) {
    llvm::SmallVector<mlir::Value> values = nest_.emit(
        code_.builder(), code_.loc(), lanes,
        [&](const MapAccess& access) { return emitLoad(access, indices, lanes); },
        [&](mlir::Operation* op, mlir::ValueRange values) { checkDivisor(op, values); });
    for (auto [i, value] : llvm::enumerate(values)) {
      mlir::Type memory = memoryType(tensorOf(nest_.results()[i]).getElementType());
      mlir::Value stored = codegen::toMemory(code_.builder(), code_.loc(), value, memory);
      code_.store(stored, address(op_->getNumOperands() + i, memory, nest_.store(), indices));
    }
  }

  /// A division of integers complains about a divisor of 0, unless it is a known number.
  void checkDivisor(mlir::Operation* op, mlir::ValueRange values) {
    bool divides = llvm::isa<ir::DivOp, ir::ModOp>(op) &&
                   llvm::isa<mlir::IntegerType>(mlir::getElementTypeOrSelf(values[1].getType()));
    if (!divides) {
      return;
    }
    mlir::Value zero = codegen::emitConstant(code_.builder(), code_.loc(), values[1].getType(), 0);
    mlir::Attribute known;
    if (mlir::matchPattern(values[1], mlir::m_Constant(&known)) &&
        !mlir::matchPattern(values[1], mlir::m_Zero())) {
      return;
    }
    codegen::Term isZero{&code_.builder(), code_.loc(),
                         code_.make<arith::CmpIOp>(arith::CmpIPredicate::eq, values[1], zero)};
    code_.complainIf(codegen::anyOf(isZero).value, KernelError::kDivision);
  }

  mlir::Value address(unsigned argument, mlir::Type memory, mlir::AffineExpr offset,
                      mlir::ValueRange indices) {
    mlir::Value index = code_.sizes().apply(code_.builder(), code_.loc(), offset, indices);
    return code_.address(argument, memory, index);
  }

  /// One element, or as many as there are lanes: as a vector where they lie next to each other from
  /// a multiple of their number on, else one by one.
  mlir::Value emitLoad(const MapAccess& access, mlir::ValueRange indices, int64_t lanes) {
    mlir::Type memory = memoryType(access.element);
    mlir::Type compute = nest_.valueType(access.element);
    std::optional<int64_t> stride = innermostStride(access.offset);
    bool isOne = lanes == 1 || stride == 0;
    bool isVector = isOne || (stride == 1 && isAligned(access.offset, lanes));
    mlir::Value first = address(access.argument, memory, access.offset, indices);
    mlir::Value value = isVector ? code_.load(first, memory, isOne ? 1 : lanes)
                                 : emitGather(access, memory, first, indices, lanes);
    value = codegen::fromMemory(code_.builder(), code_.loc(), value, compute);
    return isOne && lanes > 1
               ? code_.make<mlir::vector::BroadcastOp>(codegen::laneType(compute, lanes), value)
               : value;
  }

  mlir::Value emitGather(const MapAccess& access, mlir::Type memory, mlir::Value first,
                         mlir::ValueRange indices, int64_t lanes) {
    mlir::Value vector = code_.make<mlir::LLVM::UndefOp>(codegen::laneType(memory, lanes));
    for (int64_t lane = 0; lane < lanes; ++lane) {
      mlir::Value address = laneAddress(access, memory, first, indices, lane);
      vector = code_.make<mlir::vector::InsertOp>(code_.load(address, memory, 1), vector, lane);
    }
    return vector;
  }

  /// The address of what lane `lane` reads: a few elements after the first one's, or at the offset
  /// that its index has.
  mlir::Value laneAddress(const MapAccess& access, mlir::Type memory, mlir::Value first,
                          mlir::ValueRange indices, int64_t lane) {
    std::optional<int64_t> stride = innermostStride(access.offset);
    if (lane == 0) {
      return first;
    }
    if (stride && std::abs(*stride) <= kMostStride) {
      return code_.after(first, memory, lane * *stride);
    }
    llvm::SmallVector<mlir::Value> moved(indices);
    moved.back() = code_.make<arith::AddIOp>(moved.back(), code_.constant(lane));
    return address(access.argument, memory, access.offset, moved);
  }

  mlir::Operation* op_;
  codegen::MapNest nest_;
  llvm::ArrayRef<int64_t> loops_;
  int64_t lanes_;
  ThreadCode code_;
};

}  // namespace

KernelLaunch buildMapKernel(mlir::ModuleOp module, mlir::Operation* op,
                            llvm::ArrayRef<KernelLayout> operands, KernelLayout result,
                            const std::string& symbol) {
  return MapKernelBuilder(op, operands, result).build(module, symbol);
}

int64_t vectorLanes(mlir::Operation* op, llvm::ArrayRef<KernelLayout> operands,
                    KernelLayout result) {
  return MapKernelBuilder(op, operands, result).lanes();
}

}  // namespace graphrun::devices::cuda
