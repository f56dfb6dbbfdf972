#include "devices/cpu/compiler/strided_vectors.h"

#include "llvm/ADT/Sequence.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinTypes.h"

namespace graphrun::devices::cpu {

mlir::Type StridedVectors::vectorType() const {
  return lanes_ == 1 ? element_ : mlir::VectorType::get({lanes_}, element_);
}

unsigned StridedVectors::alignment() const {
  return std::max(1U, element_.getIntOrFloatBitWidth() / 8);
}

mlir::Value StridedVectors::at(mlir::Value address, int64_t offset) {
  return offset == 0 ? address
                     : builder_.create<mlir::LLVM::GEPOp>(
                           loc_, address.getType(), element_, address,
                           llvm::ArrayRef<mlir::LLVM::GEPArg>{static_cast<int32_t>(offset)});
}

mlir::Value StridedVectors::loadAt(mlir::Value address, int64_t offset, mlir::Type type) {
  return builder_.create<mlir::LLVM::LoadOp>(loc_, type, at(address, offset), alignment());
}

void StridedVectors::storeAt(mlir::Value value, mlir::Value address, int64_t offset) {
  builder_.create<mlir::LLVM::StoreOp>(loc_, value, at(address, offset), alignment());
}

mlir::Value StridedVectors::shuffle(mlir::Value a, mlir::Value b, llvm::ArrayRef<int32_t> lanes) {
  return builder_.create<mlir::LLVM::ShuffleVectorOp>(loc_, a, b, lanes);
}

mlir::Value StridedVectors::load(mlir::Value address, int64_t stride) {
  if (lanes_ == 1 || stride == 0) {
    return loadAt(address, 0, element_);
  }
  if (stride == 1) {
    return loadAt(address, 0, vectorType());
  }
  if (stride > 1) {
    return loadApart(address, stride);
  }
  mlir::Value ahead = loadAt(address, 1 - lanes_, vectorType());
  auto backwards = llvm::to_vector(llvm::reverse(llvm::seq<int32_t>(0, lanes_)));
  return shuffle(ahead, ahead, backwards);
}

/// Vector after vector, of which each gives some lanes; the last ends with the last element.
mlir::Value StridedVectors::loadApart(mlir::Value address, int64_t stride) {
  int64_t span = stride * (lanes_ - 1) + 1;
  mlir::Value all;
  for (int64_t done = 0; done < lanes_;) {
    int64_t begin = std::min(done * stride, span - lanes_);
    mlir::Value part = loadAt(address, begin, vectorType());
    all = all ? all : part;
    auto lanes = llvm::to_vector(llvm::seq<int32_t>(0, lanes_));
    for (; done < lanes_ && done * stride < begin + lanes_; ++done) {
      lanes[done] = static_cast<int32_t>(lanes_ + done * stride - begin);
    }
    all = shuffle(all, part, lanes);
  }
  return all;
}

void StridedVectors::storeInTurns(mlir::Value address, llvm::ArrayRef<mlir::Value> values) {
  auto count = static_cast<int64_t>(values.size());
  for (int64_t part = 0; part < count; ++part) {
    mlir::Value whole = values[lanes_ == 1 ? part : 0];
    for (int64_t from = 0; from < count && lanes_ > 1 && count > 1; ++from) {
      // What a lane is to hold: lane p / count of value p % count, p counted over all parts.
      auto lanes = llvm::to_vector(llvm::seq<int32_t>(0, lanes_));
      for (int64_t lane = 0; lane < lanes_; ++lane) {
        int64_t position = part * lanes_ + lane;
        if (position % count == from) {
          lanes[lane] = static_cast<int32_t>(lanes_ + position / count);
        }
      }
      whole = shuffle(whole, values[from], lanes);
    }
    storeAt(whole, address, part * lanes_);
  }
}

}  // namespace graphrun::devices::cpu
