// Generated kernels on a GPU. Internal to devices/cuda.
#ifndef GRAPHRUN_DEVICES_CUDA_DRIVER_CODE_MODULE_H_
#define GRAPHRUN_DEVICES_CUDA_DRIVER_CODE_MODULE_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "devices/cuda/driver/context.h"

namespace graphrun::devices::cuda {

/// Executable::code: PTX texts, each ended by a zero byte (the last one may go without), which the
/// driver translates for the GPU and keeps on disk; or one cubin. The context must be the thread's
/// in all calls.
class CodeModule {
 public:
  /// InvalidArgument for code that the driver does not take, with what it says of it;
  /// FailedPrecondition for PTX that is newer than the driver.
  static absl::StatusOr<std::unique_ptr<CodeModule>> load(ContextPointer context,
                                                          absl::Span<const uint8_t> code);
  ~CodeModule();
  CodeModule(const CodeModule&) = delete;
  CodeModule& operator=(const CodeModule&) = delete;

  /// The first kernel of that name; it lives as long as this. InvalidArgument when there is none.
  absl::StatusOr<CUfunction> find(const std::string& symbol) const;

 private:
  explicit CodeModule(ContextPointer context) : context_(std::move(context)) {}
  absl::Status add(const std::string& image);

  ContextPointer context_;
  std::vector<CUmodule> modules_;
};

}  // namespace graphrun::devices::cuda

#endif  // GRAPHRUN_DEVICES_CUDA_DRIVER_CODE_MODULE_H_
