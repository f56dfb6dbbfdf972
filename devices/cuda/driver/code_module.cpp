#include "devices/cuda/driver/code_module.h"

#include <bit>
#include <utility>

#include "absl/strings/str_split.h"
#include "devices/cuda/driver/vendor_status.h"
#include "runtime/base/status.h"

namespace graphrun::devices::cuda {
namespace {

constexpr const char* kElf = "\177ELF";  // what a cubin is

}  // namespace

absl::StatusOr<std::unique_ptr<CodeModule>> CodeModule::load(ContextPointer context,
                                                             absl::Span<const uint8_t> code) {
  std::unique_ptr<CodeModule> module(new CodeModule(std::move(context)));
  std::string all(code.begin(), code.end());
  if (all.starts_with(kElf)) {
    GR_RETURN_IF_ERROR(module->add(all));
    return module;
  }
  for (const std::string& text :
       std::vector<std::string>(absl::StrSplit(all, absl::ByChar('\0'), absl::SkipEmpty()))) {
    GR_RETURN_IF_ERROR(module->add(text));
  }
  return module;
}

CodeModule::~CodeModule() {
  for (CUmodule module : modules_) {
    context_->driver().cuModuleUnload(module);
  }
}

absl::Status CodeModule::add(const std::string& image) {
  char log[4096] = "";
  CUjit_option names[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  // The size is handed over in the place of a pointer.
  void* values[] = {log, std::bit_cast<void*>(sizeof(log) - 1)};
  CUmodule module = nullptr;
  absl::Status status =
      GR_CU(context_->driver(), cuModuleLoadDataEx, &module, image.c_str(), 2, names, values);
  if (!status.ok()) {
    return absl::Status(status.code(),
                        absl::StrCat(status.message(), log[0] == 0 ? "" : "\n", log));
  }
  modules_.push_back(module);
  return absl::OkStatus();
}

absl::StatusOr<CUfunction> CodeModule::find(const std::string& symbol) const {
  const DriverApi& driver = context_->driver();
  for (CUmodule module : modules_) {
    CUfunction function = nullptr;
    CUresult result = driver.cuModuleGetFunction(&function, module, symbol.c_str());
    if (result != CUDA_ERROR_NOT_FOUND) {
      GR_RETURN_IF_ERROR(driverStatus(driver, result, "cuModuleGetFunction"));
      return function;
    }
  }
  return absl::InvalidArgumentError(absl::StrCat("the code has no kernel \"", symbol, "\""));
}

}  // namespace graphrun::devices::cuda
