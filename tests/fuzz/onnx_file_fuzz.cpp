// Fuzz target: ONNX files. What is imported also goes through the passes that planning begins with.
#include <cstddef>
#include <cstdint>

#include "frontends/onnx/deferred.h"
#include "frontends/onnx/importer.h"
#include "ir/dialect.h"
#include "mlir/IR/Diagnostics.h"
#include "passes/cut_stages.h"
#include "passes/passes.h"
#include "passes/pipelines.h"
#include "passes/shapes.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace graphrun;
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  mlir::ScopedDiagnosticHandler quiet(&context, [](mlir::Diagnostic&) { return mlir::success(); });
  absl::string_view bytes(reinterpret_cast<const char*>(data), size);
  auto module = frontends::importOnnxBytes(context, bytes, "fuzzed");
  if (!module.ok()) {
    return 0;
  }
  auto function = passes::graphOf(**module);
  if (mlir::failed(function) ||
      mlir::failed(passes::specialize(*function, {}, frontends::resolveDeferred)) ||
      mlir::failed(passes::cutAtData(*function))) {
    return 0;
  }
  (void)passes::simplifyAndGroup(**module);
  return 0;
}
