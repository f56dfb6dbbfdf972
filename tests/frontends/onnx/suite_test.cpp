// What is imported of the exported cases has result types that fit the expected results beside it;
// whole networks are.
#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <vector>

#include "frontends/onnx/importer.h"
#include "frontends/onnx/onnx.pb.h"
#include "frontends/onnx/tensors.h"
#include "ir/dialect.h"
#include "ir/dims.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace graphrun::frontends {
namespace {

namespace fs = std::filesystem;

/// The folder of cases that a model is from: "light", "node" …
std::string kindOf(const fs::path& model) { return model.parent_path().parent_path().filename(); }

/// Whole networks must import; which of ONNX's own cases do not is in tests/onnx/expected.txt.
bool mustImport(const std::string& kind) {
  return kind == "light" || kind == "seeded" || kind == "ocr";
}

std::vector<fs::path> models() {
  std::vector<fs::path> found;
  for (const auto& entry : fs::recursive_directory_iterator(GRAPHRUN_ONNX_CASES)) {
    if (entry.path().filename() == "model.onnx") {
      found.push_back(entry.path());
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

/// The shape of the expected result `i` must be one that the inferred type allows.
void checkResult(const fs::path& folder, size_t i, mlir::Type type) {
  std::ifstream file(folder / ("test_data_set_0/output_" + std::to_string(i) + ".pb"));
  ::onnx::TensorProto expected;
  if (!file || !expected.ParseFromIstream(&file)) {
    return;
  }
  auto tensor = llvm::dyn_cast<mlir::TensorType>(type);
  if (!tensor || tensor == ir::placeholderType(type.getContext()) || ir::isSequence(type)) {
    return;
  }
  CHECK(elementType(type.getContext(), expected.data_type()) == tensor.getElementType());
  std::optional<ir::Dims> dims = ir::dimsOf(type);
  if (!dims) {
    return;
  }
  INFO("inferred " << ir::toString(*dims));
  REQUIRE(dims->size() == static_cast<size_t>(expected.dims_size()));
  for (size_t d = 0; d < dims->size(); ++d) {
    INFO("dim " << d << " is " << expected.dims(static_cast<int>(d)));
    CHECK_FALSE(provablyDifferent((*dims)[d], ir::Dim(expected.dims(static_cast<int>(d)))));
  }
}

}  // namespace

TEST_CASE("result types fit the exported cases") {
  std::vector<fs::path> paths = models();
  REQUIRE(paths.size() >= 2036);
  std::map<std::string, int> imported, refused;
  for (const fs::path& path : paths) {
    INFO(path);
    std::string kind = kindOf(path);
    mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
    absl::StatusOr<mlir::OwningOpRef<mlir::ModuleOp>> module = importOnnx(context, path);
    if (!module.ok()) {
      INFO(module.status().message());
      CHECK_FALSE(mustImport(kind));
      ++refused[kind];
      continue;
    }
    ++imported[kind];
    auto main = (*module)->lookupSymbol<mlir::func::FuncOp>("main");
    for (auto [i, type] : llvm::enumerate(main.getResultTypes())) {
      checkResult(path.parent_path(), i, type);
    }
  }
  for (const auto& [kind, count] : imported) {
    std::cout << kind << ": " << count << " imported\n";
  }
  for (const auto& [kind, count] : refused) {
    std::cout << kind << ": " << count << " refused\n";
  }
}

}  // namespace graphrun::frontends
