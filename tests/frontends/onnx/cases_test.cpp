// The cases of make_cases.py: what a small file becomes, and what each broken file is told.
#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <vector>

#include "frontends/onnx/importer.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"
#include "mlir/IR/Diagnostics.h"

namespace graphrun::frontends {
namespace {

namespace fs = std::filesystem;

std::string printed(mlir::ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream, mlir::OpPrintingFlags().enableDebugInfo());
  return text;
}

void checkTexts(std::ifstream& expected, const std::string& got) {
  for (std::string line; std::getline(expected, line);) {
    bool absent = llvm::StringRef(line).starts_with("not ");
    std::string text = absent ? line.substr(4) : line;
    INFO((absent ? "must not hold: " : "must hold: ") << text << "\ngot: " << got);
    CHECK((got.find(text) != std::string::npos) != absent);
  }
}

void runCase(const fs::path& folder) {
  INFO(folder.filename());
  std::ifstream expected(folder / "expect.txt");
  std::string verdict;
  REQUIRE(std::getline(expected, verdict));
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  std::string warnings;
  mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic& diagnostic) {
    warnings += "warning: " + diagnostic.str() + "\n";
  });
  absl::StatusOr<mlir::OwningOpRef<mlir::ModuleOp>> module =
      importOnnx(context, folder / "model.onnx");
  if (verdict == "imports") {
    INFO(module.status().message());
    REQUIRE(module.ok());
    checkTexts(expected, warnings + printed(**module));
  } else {
    REQUIRE_FALSE(module.ok());
    CHECK(module.status().code() == absl::StatusCode::kInvalidArgument);
    CHECK(module.status().message().find("model.onnx: ") != absl::string_view::npos);
    checkTexts(expected, std::string(module.status().message()));
  }
}

}  // namespace

TEST_CASE("small ONNX files give the expected module or report") {
  std::vector<fs::path> folders;
  for (const auto& entry : fs::directory_iterator(GRAPHRUN_IMPORT_CASES)) {
    folders.push_back(entry.path());
  }
  std::sort(folders.begin(), folders.end());
  REQUIRE(folders.size() > 100);
  for (const fs::path& folder : folders) {
    runCase(folder);
  }
}

}  // namespace graphrun::frontends
