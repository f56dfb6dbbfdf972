#include "frontends/onnx/importer.h"

#include "absl/strings/str_cat.h"
#include "frontends/onnx/graph_import.h"
#include "frontends/onnx/model_file.h"
#include "ir/dialect.h"
#include "llvm/Support/Path.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "runtime/base/status.h"

namespace graphrun::frontends {
namespace {

using Module = mlir::OwningOpRef<mlir::ModuleOp>;

/// Every operation was checked when it was made: a module that does not verify is our mistake.
absl::Status verifyModule(mlir::ModuleOp module, absl::string_view name) {
  std::string diagnostics;
  mlir::ScopedDiagnosticHandler handler(module.getContext(), [&](mlir::Diagnostic& diagnostic) {
    absl::StrAppend(&diagnostics, "\n  ", diagnostic.str());
  });
  return mlir::succeeded(mlir::verify(module))
             ? absl::OkStatus()
             : absl::InternalError(absl::StrCat(
                   name,
                   ": the imported module is not valid (a mistake of GraphRun, please report "
                   "it):",
                   diagnostics));
}

absl::StatusOr<Module> importModel(mlir::MLIRContext& context, ::onnx::ModelProto& model,
                                   absl::string_view name, const std::string& folder,
                                   const ImportOptions& options) {
  context.loadDialect<ir::GRDialect, mlir::func::FuncDialect>();
  Problems problems;
  ExternalData files(folder);
  Module module = GraphImport(&context, model, files, problems, options).run();
  GR_RETURN_IF_ERROR(problems.status(llvm::StringRef(name.data(), name.size())));
  GR_RETURN_IF_ERROR(verifyModule(*module, name));
  return module;
}

std::string folderOf(const std::string& path) {
  llvm::StringRef folder = llvm::sys::path::parent_path(path);
  return folder.empty() ? "." : folder.str();
}

}  // namespace

absl::StatusOr<Module> importOnnx(mlir::MLIRContext& context, const std::string& path,
                                  const ImportOptions& options) {
  GR_ASSIGN_OR_RETURN(std::unique_ptr<::onnx::ModelProto> model, readModel(path));
  return importModel(context, *model, path, folderOf(path), options);
}

absl::StatusOr<Module> importOnnxBytes(mlir::MLIRContext& context, absl::string_view bytes,
                                       absl::string_view name) {
  GR_ASSIGN_OR_RETURN(std::unique_ptr<::onnx::ModelProto> model, parseModel(bytes, name));
  return importModel(context, *model, name, "", {});
}

}  // namespace graphrun::frontends
