#include "devices/cuda/compiler/emit/tile_kernel.h"

#include "devices/codegen/index_maps.h"
#include "devices/codegen/memory_elements.h"
#include "devices/cuda/compiler/emit/thread_code.h"
#include "devices/executable/executable.h"
#include "ir/dialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace graphrun::devices::cuda {
namespace {

using codegen::tensorOf;
namespace arith = mlir::arith;

constexpr int64_t kBlockThreads = 256;
constexpr int64_t kWarpThreads = 32;  // also the banks of shared memory
constexpr int64_t kBankBytes = 4;
/// Where fewer elements lie side by side, a warp touches few lines anyway.
constexpr int64_t kLeastSide = 16;

/// A dim of the result, and what its next element is away in the operand and in the result.
struct Dim {
  int64_t size = 1;
  int64_t from = 0;
  int64_t to = 0;
};

/// The dims of a transposition, the result's last one last; those that stay neighbours are one.
llvm::SmallVector<Dim> dimsOf(ir::TransposeOp op) {
  std::vector<int64_t> from = denseStrides(tensorOf(op.getInput()).getShape().vec());
  llvm::ArrayRef<int64_t> shape = tensorOf(op.getResult()).getShape();
  std::vector<int64_t> to = denseStrides(shape.vec());
  llvm::SmallVector<Dim> dims;
  for (auto [i, dim] : llvm::enumerate(op.getPermutation())) {
    Dim next{shape[i], from[static_cast<size_t>(dim)], to[i]};
    if (next.size == 1) {
      continue;
    }
    if (!dims.empty() && dims.back().from == next.from * next.size) {
      next.size *= dims.back().size;
      dims.pop_back();
    }
    dims.push_back(next);
  }
  return dims;
}

/// Emits the work of one thread: `rows` follow each other in the result, `columns` in the operand.
class TileKernelBuilder {
 public:
  explicit TileKernelBuilder(ir::TransposeOp op) : op_(op), others_(dimsOf(op)), code_(op) {
    rows_ = others_.pop_back_val();
    auto* columns = llvm::find_if(others_, [](const Dim& dim) { return dim.from == 1; });
    columns_ = *columns;
    others_.erase(columns);
    memory_ = codegen::memoryType(tensorOf(op.getInput()).getElementType());
    lanes_ = std::max<int64_t>(1, kBankBytes * 8 / memory_.getIntOrFloatBitWidth());
    while (rows_.size % lanes_ != 0 || columns_.size % lanes_ != 0) {
      lanes_ /= 2;
    }
    side_ = kWarpThreads * lanes_;
  }

  KernelLaunch build(mlir::ModuleOp module, const std::string& symbol) {
    int64_t blocks = tilesOf(rows_) * tilesOf(columns_);
    for (int64_t number : {tilesOf(columns_), tilesOf(rows_), rows_.size, rows_.from, columns_.size,
                           columns_.to, rows_.size - 1, columns_.size - lanes_}) {
      code_.sizes().add(number);
    }
    for (const Dim& dim : others_) {
      blocks *= dim.size;
      for (int64_t number : {dim.size, dim.from, dim.to}) {
        code_.sizes().add(number);
      }
    }
    code_.begin(module, symbol, kBlockThreads, blocks * kBlockThreads);
    emitOffset();
    tile_ = code_.sharedArray(memory_, side_ * side_);
    emitReads();
    code_.builder().create<mlir::NVVM::Barrier0Op>(code_.loc());
    emitWrites();
    return code_.end();
  }

 private:
  int64_t tilesOf(const Dim& dim) const { return llvm::divideCeilSigned(dim.size, side_); }
  mlir::Value add(mlir::Value a, mlir::Value b) { return code_.make<arith::AddIOp>(a, b); }
  mlir::Value times(mlir::Value a, int64_t number) {
    return code_.make<arith::MulIOp>(a, code_.number(number));
  }
  mlir::Value scaled(mlir::Value a, int64_t small) {
    return small == 1 ? a : code_.make<arith::MulIOp>(a, code_.constant(small));
  }
  mlir::Value divided(mlir::Value a, int64_t small) {
    return small == 1 ? a : code_.make<arith::DivUIOp>(a, code_.constant(small));
  }
  /// Takes the number in a dim of `size` off `rest`.
  mlir::Value takeOff(mlir::Value& rest, int64_t size) {
    mlir::Value count = code_.number(size);
    mlir::Value index = code_.make<arith::RemUIOp>(rest, count);
    rest = code_.make<arith::DivUIOp>(rest, count);
    return index;
  }

  /// Which tile the block has, and which part of it the thread.
  void emitOffset() {
    mlir::Value rest = code_.block();
    firstColumn_ = scaled(takeOff(rest, tilesOf(columns_)), side_);
    firstRow_ = scaled(takeOff(rest, tilesOf(rows_)), side_);
    from_ = to_ = code_.constant(0);
    for (const Dim& dim : llvm::reverse(others_)) {
      mlir::Value index = takeOff(rest, dim.size);
      from_ = add(from_, times(index, dim.from));
      to_ = add(to_, times(index, dim.to));
    }
    mlir::Value thread = code_.threadOfBlock();
    word_ = code_.make<arith::RemUIOp>(thread, code_.constant(kWarpThreads));
    warp_ = code_.make<arith::DivUIOp>(thread, code_.constant(kWarpThreads));
  }

  /// Calls `emit(line)` for each line of the tile that a warp has, one after the other.
  template <typename Emit>
  void forEachLine(Emit emit) {
    constexpr int64_t kWarps = kBlockThreads / kWarpThreads;
    for (int64_t line = 0; line < side_; line += kWarps) {
      emit(add(warp_, code_.constant(line)));
    }
  }

  /// Where the word of the tile lies. Words are turned by the row, so that those of one column are
  /// in different banks, too.
  mlir::Value wordOf(mlir::Value row, mlir::Value word) {
    mlir::Value turned = add(word, divided(row, lanes_));
    turned = code_.make<arith::RemUIOp>(turned, code_.constant(kWarpThreads));
    return scaled(add(scaled(row, kWarpThreads), turned), lanes_);
  }

  mlir::Value sharedAddress(mlir::Value offset) { return code_.element(tile_, memory_, offset); }

  /// All loads come first. Beyond the edges the last elements are read again.
  void emitReads() {
    mlir::Value column = add(firstColumn_, scaled(word_, lanes_));
    column = code_.make<arith::MinUIOp>(column, code_.number(columns_.size - lanes_));
    llvm::SmallVector<mlir::Value> rows, words;
    forEachLine([&](mlir::Value line) {
      mlir::Value row = add(firstRow_, line);
      row = code_.make<arith::MinUIOp>(row, code_.number(rows_.size - 1));
      mlir::Value offset = add(from_, add(times(row, rows_.from), column));
      rows.push_back(line);
      words.push_back(code_.load(code_.address(0, memory_, offset), memory_, lanes_));
    });
    for (auto [row, word] : llvm::zip(rows, words)) {
      code_.store(word, sharedAddress(wordOf(row, word_)));
    }
  }

  void emitWrites() {
    mlir::Value firstRow = scaled(word_, lanes_);
    mlir::Value row = add(firstRow_, firstRow);
    mlir::Value hasRow =
        code_.make<arith::CmpIOp>(arith::CmpIPredicate::ult, row, code_.number(rows_.size));
    forEachLine([&](mlir::Value line) {
      mlir::Value column = add(firstColumn_, line);
      mlir::Value hasColumn =
          code_.make<arith::CmpIOp>(arith::CmpIPredicate::ult, column, code_.number(columns_.size));
      code_.emitIf(code_.make<arith::AndIOp>(hasRow, hasColumn), [&] {
        mlir::Value offset = add(to_, add(times(column, columns_.to), row));
        code_.store(elementsOf(line, firstRow), code_.address(1, memory_, offset));
      });
    });
  }

  /// Those of a column of the tile in the rows from `firstRow` on, as many as a word has.
  mlir::Value elementsOf(mlir::Value column, mlir::Value firstRow) {
    mlir::Value word = divided(column, lanes_);
    mlir::Value lane = code_.make<arith::RemUIOp>(column, code_.constant(lanes_));
    mlir::Value vector;
    for (int64_t i = 0; i < lanes_; ++i) {
      mlir::Value offset = add(wordOf(add(firstRow, code_.constant(i)), word), lane);
      mlir::Value element = code_.load(sharedAddress(offset), memory_, 1);
      if (lanes_ == 1) {
        return element;
      }
      vector =
          vector ? vector : code_.make<mlir::LLVM::UndefOp>(codegen::laneType(memory_, lanes_));
      vector = code_.make<mlir::vector::InsertOp>(element, vector, i);
    }
    return vector;
  }

  ir::TransposeOp op_;
  llvm::SmallVector<Dim> others_;
  Dim rows_, columns_;
  mlir::Type memory_;
  int64_t lanes_ = 1;  // elements of a word
  int64_t side_ = 0;   // of a tile, in elements
  ThreadCode code_;
  mlir::Value tile_, firstRow_, firstColumn_, from_, to_, warp_, word_;
};

}  // namespace

bool isTileKernel(mlir::Operation* op) {
  auto transpose = llvm::dyn_cast<ir::TransposeOp>(op);
  if (!transpose || tensorOf(op->getResult(0)).getNumElements() == 0) {
    return false;
  }
  llvm::SmallVector<Dim> dims = dimsOf(transpose);
  return dims.size() > 1 && dims.back().from != 1 && dims.back().size >= kLeastSide &&
         llvm::any_of(dims, [](const Dim& dim) { return dim.from == 1 && dim.size >= kLeastSide; });
}

KernelLaunch buildTileKernel(mlir::ModuleOp module, mlir::Operation* op,
                             const std::string& symbol) {
  return TileKernelBuilder(llvm::cast<ir::TransposeOp>(op)).build(module, symbol);
}

}  // namespace graphrun::devices::cuda
