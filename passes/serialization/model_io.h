// The gr dialect is converted to the graph of model.fb and Plan, and back.
#ifndef GRAPHRUN_PASSES_SERIALIZATION_MODEL_IO_H_
#define GRAPHRUN_PASSES_SERIALIZATION_MODEL_IO_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "passes/weights.h"
#include "runtime/base/memory_file.h"
#include "runtime/base/tensor.h"
#include "runtime/format/model_generated.h"

namespace graphrun::passes {

/// Ends every region in files; in a function's body it stands for func.return.
inline constexpr llvm::StringLiteral kYieldName = "gr.yield";

/// The constants that exported graphs refer to by index; each attribute once. Holds no data: spans
/// point into the MLIR context (or a mapped file behind it), which must outlive the table.
class WeightTable {
 public:
  struct Entry {
    std::string name;  ///< unique: the label of the constant, or "weight_<index>"
    runtime::TensorSpec spec;
    bool splat = false;  ///< `data` is one element that stands for all
    absl::Span<const uint8_t> data;
    std::shared_ptr<std::vector<char>> owned;  ///< keeps converted data alive
  };

  /// Index of `value`, which is added when it is new; `label` proposes its name. InvalidArgument
  /// for an element type that files do not have, or a resource without its data.
  absl::StatusOr<uint32_t> add(mlir::ElementsAttr value, llvm::StringRef label);

  const std::vector<Entry>& entries() const { return entries_; }
  /// The elements of weights of strings are indices into these strings; each is there once.
  const std::vector<std::string>& strings() const { return strings_; }

 private:
  std::string uniqueName(llvm::StringRef label);
  ElementBytes numbersOf(mlir::DenseStringElementsAttr value);

  std::vector<Entry> entries_;
  llvm::DenseMap<mlir::Attribute, uint32_t> indices_;
  llvm::StringMap<unsigned> names_;
  std::vector<std::string> strings_;
  llvm::StringMap<uint64_t> stringNumbers_;
};

/// Writes a function, its operations in order, as a graph; its constants go to `weights`. Errors
/// are InvalidArgument and name the operation: an attribute or type that files do not have.
absl::StatusOr<flatbuffers::Offset<format::Graph>> exportGraph(
    mlir::func::FuncOp func, flatbuffers::FlatBufferBuilder& builder, WeightTable& weights);

/// importGraph gets the weights of a file from this view.
struct WeightSourceView {
  struct Weight {
    std::string name;
    runtime::TensorSpec spec;
    bool splat = false;
    absl::Span<const uint8_t> data;  ///< aligned to 64
  };
  size_t count = 0;
  /// Weight `index`, which is below `count`.
  std::function<absl::StatusOr<Weight>(uint32_t index)> get;
  /// The elements of weights of strings refer to these strings; null: there are none.
  const flatbuffers::Vector<flatbuffers::Offset<flatbuffers::String>>* strings = nullptr;
  /// Keeps the spans valid; released with the MLIR context.
  std::shared_ptr<const void> owner;
};

/// Reads a graph whose FlatBuffer has passed the verifier into a module of one function. Nothing
/// else of it is believed: operations, attributes, types and values are checked one by one, each
/// operation by its own verifier before anything asks it. Large constants refer to the weights'
/// memory, nothing is copied. Errors are InvalidArgument and name the node.
absl::StatusOr<mlir::OwningOpRef<mlir::ModuleOp>> importGraph(const format::Graph& graph,
                                                              const WeightSourceView& weights,
                                                              mlir::MLIRContext& context);

/// Writes the graph of each module to `path`, all of it or nothing. Those behind the first have
/// names of their own, their functions'; states of one name must begin with equal values.
absl::Status saveModel(llvm::ArrayRef<mlir::ModuleOp> modules, const std::string& path);
/// The same into memory; the file is new and is sealed.
absl::Status saveModel(llvm::ArrayRef<mlir::ModuleOp> modules, runtime::MemoryFile& file);

/// Maps and reads a model file. The weights stay where they are mapped, for the context's life.
absl::StatusOr<mlir::OwningOpRef<mlir::ModuleOp>> loadModel(const std::string& path,
                                                            mlir::MLIRContext& context);

}  // namespace graphrun::passes

#endif  // GRAPHRUN_PASSES_SERIALIZATION_MODEL_IO_H_
