// A GPU's primary context, and the streams and events in it. Internal to devices/cuda.
#ifndef GRAPHRUN_DEVICES_CUDA_DRIVER_CONTEXT_H_
#define GRAPHRUN_DEVICES_CUDA_DRIVER_CONTEXT_H_

#include <memory>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "devices/cuda/driver/libraries.h"
#include "devices/cuda/driver/wait_time.h"

namespace graphrun::devices::cuda {

/// The facts that the driver tells about a GPU.
struct GpuFacts {
  std::string name;           ///< "NVIDIA H100 80GB HBM3"
  int computeCapability = 0;  ///< 90 for sm_90
  uint64_t totalBytes = 0;
};

/// How many GPUs the driver offers this process (CUDA_VISIBLE_DEVICES counts).
absl::StatusOr<int> gpuCount(const DriverApi& driver);

/// NotFound when there is no GPU `index`, with how many there are.
absl::StatusOr<CUdevice> findGpu(const DriverApi& driver, uint32_t index);

absl::StatusOr<GpuFacts> gpuFacts(const DriverApi& driver, CUdevice gpu);

/// The primary context of a GPU, which libraries use too: held while an object lives. Whatever
/// belongs to it keeps it. Thread-safe.
class Context {
 public:
  static absl::StatusOr<std::shared_ptr<const Context>> create(const DriverApi& driver,
                                                               CUdevice gpu);
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  const DriverApi& driver() const { return driver_; }
  CUdevice gpu() const { return gpu_; }
  CUcontext handle() const { return handle_; }
  /// Makes it that of the calling thread, from now on.
  absl::Status enter() const;

 private:
  Context(const DriverApi& driver, CUdevice gpu) : driver_(driver), gpu_(gpu) {}

  const DriverApi& driver_;
  CUdevice gpu_;
  CUcontext handle_ = nullptr;
};

using ContextPointer = std::shared_ptr<const Context>;

/// Makes a context that of the calling thread while it lives. What fails in it fails later again,
/// where it is noticed.
class ScopedContext {
 public:
  explicit ScopedContext(const Context& context);
  ~ScopedContext();
  ScopedContext(const ScopedContext&) = delete;
  ScopedContext& operator=(const ScopedContext&) = delete;

 private:
  const DriverApi& driver_;
  bool pushed_;
};

/// A queue of work that runs beside others. The context must be the thread's in all calls.
class Stream {
 public:
  static absl::StatusOr<std::unique_ptr<Stream>> create(ContextPointer context);
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  CUstream get() const { return stream_; }
  const Context& context() const { return *context_; }
  /// Waits for all that was put in.
  absl::Status synchronize() const;

 private:
  explicit Stream(ContextPointer context) : context_(std::move(context)) {}

  ContextPointer context_;
  CUstream stream_ = nullptr;
};

/// A point in a stream. The context must be the thread's in all calls.
class Event {
 public:
  enum class Use : uint8_t { kOrder, kTime };
  static absl::StatusOr<std::unique_ptr<Event>> create(ContextPointer context,
                                                       Use use = Use::kOrder);
  ~Event();
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  /// It is where `stream` is now.
  absl::Status record(const Stream& stream);
  absl::Status record(CUstream stream);
  /// The same while the stream is recorded: each launch of the graph sets it.
  absl::Status recordInGraph(CUstream stream);
  /// Milliseconds from `earlier` on; of two that are used for times and were reached.
  absl::StatusOr<float> since(const Event& earlier) const;
  /// True while a stream has still to get there.
  bool isPending() const;
  /// Lets work that is put into `stream` later wait for this event.
  absl::Status holdUp(const Stream& stream) const;
  /// Waits until the stream gets there: asleep until shortly before that usually happens, then
  /// awake. One thread at a time.
  absl::Status wait() const;
  /// The same as long as `check`, asked meanwhile, is OK; else returns what it gave.
  absl::Status wait(absl::FunctionRef<absl::Status()> check) const;

 private:
  explicit Event(ContextPointer context) : context_(std::move(context)) {}

  ContextPointer context_;
  CUevent event_ = nullptr;
  mutable WaitTime time_;
};

}  // namespace graphrun::devices::cuda

#endif  // GRAPHRUN_DEVICES_CUDA_DRIVER_CONTEXT_H_
