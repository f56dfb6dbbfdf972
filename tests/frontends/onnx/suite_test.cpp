// Every model of the exported cases imports, apart from those out of scope, and its result types
// fit the expected results that lie beside it.
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
#include "ir/dims.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace graphrun::frontends {
namespace {

namespace fs = std::filesystem;

/// Why a case is out of scope, by a part of its import error; "" for one that must import.
std::string reasonToRefuse(const std::string& message) {
  for (const auto& [part, reason] : std::map<std::string, std::string>{
           {"operation \"Sequence", "sequences"},
           {"operation \"SplitToSequence\"", "sequences"},
           {"operation \"ConcatFromSequence\"", "sequences"},
           {"operation \"StringNormalizer\"", "strings"},
           {"operations of domain \"ai.onnx.preview.training\"", "Gradient"},
       }) {
    if (message.find(part) != std::string::npos) {
      return reason;
    }
  }
  return "";
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
  auto tensor = llvm::cast<mlir::TensorType>(type);
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

TEST_CASE("the models of the exported cases import") {
  std::vector<fs::path> paths = models();
  REQUIRE(paths.size() >= 152);
  std::map<std::string, int> imported, refused;
  for (const fs::path& path : paths) {
    INFO(path);
    mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
    absl::StatusOr<mlir::OwningOpRef<mlir::ModuleOp>> module = importOnnx(context, path);
    if (!module.ok()) {
      std::string reason = reasonToRefuse(std::string(module.status().message()));
      INFO(module.status().message());
      CHECK(reason != "");
      ++refused[reason];
      continue;
    }
    ++imported[path.parent_path().parent_path().filename()];
    auto main = (*module)->lookupSymbol<mlir::func::FuncOp>("main");
    for (auto [i, type] : llvm::enumerate(main.getResultTypes())) {
      checkResult(path.parent_path(), i, type);
    }
  }
  for (const auto& [kind, count] : imported) {
    std::cout << kind << ": " << count << " imported\n";
  }
  for (const auto& [reason, count] : refused) {
    std::cout << "refused, " << reason << ": " << count << "\n";
  }
}

}  // namespace graphrun::frontends
