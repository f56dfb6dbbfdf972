#include "devices/cuda/driver/context.h"

#include <chrono>
#include <thread>
#include <utility>

#include "devices/cuda/driver/pause.h"
#include "devices/cuda/driver/vendor_status.h"
#include "runtime/base/clock.h"
#include "runtime/base/status.h"

namespace graphrun::devices::cuda {
namespace {

absl::StatusOr<int> attributeOf(const DriverApi& driver, CUdevice gpu, CUdevice_attribute which) {
  int value = 0;
  GR_RETURN_IF_ERROR(GR_CU(driver, cuDeviceGetAttribute, &value, which, gpu));
  return value;
}

}  // namespace

absl::StatusOr<int> gpuCount(const DriverApi& driver) {
  int count = 0;
  GR_RETURN_IF_ERROR(GR_CU(driver, cuDeviceGetCount, &count));
  return count;
}

absl::StatusOr<CUdevice> findGpu(const DriverApi& driver, uint32_t index) {
  GR_ASSIGN_OR_RETURN(int count, gpuCount(driver));
  if (index >= static_cast<uint32_t>(count)) {
    return absl::NotFoundError(
        absl::StrCat("there is no GPU ", index, ", the driver offers ", count,
                     " to this process; see nvidia-smi and CUDA_VISIBLE_DEVICES"));
  }
  CUdevice gpu = 0;
  GR_RETURN_IF_ERROR(GR_CU(driver, cuDeviceGet, &gpu, static_cast<int>(index)));
  return gpu;
}

absl::StatusOr<GpuFacts> gpuFacts(const DriverApi& driver, CUdevice gpu) {
  char name[256] = "";
  GR_RETURN_IF_ERROR(GR_CU(driver, cuDeviceGetName, name, sizeof(name), gpu));
  size_t bytes = 0;
  GR_RETURN_IF_ERROR(GR_CU(driver, cuDeviceTotalMem_v2, &bytes, gpu));
  GR_ASSIGN_OR_RETURN(int major,
                      attributeOf(driver, gpu, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR));
  GR_ASSIGN_OR_RETURN(int minor,
                      attributeOf(driver, gpu, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR));
  return GpuFacts{name, major * 10 + minor, bytes};
}

absl::StatusOr<ContextPointer> Context::create(const DriverApi& driver, CUdevice gpu) {
  std::unique_ptr<Context> context(new Context(driver, gpu));
  GR_RETURN_IF_ERROR(GR_CU(driver, cuDevicePrimaryCtxRetain, &context->handle_, gpu));
  return ContextPointer(std::move(context));
}

Context::~Context() {
  if (handle_ != nullptr) {
    driver_.cuDevicePrimaryCtxRelease_v2(gpu_);
  }
}

absl::Status Context::enter() const { return GR_CU(driver_, cuCtxSetCurrent, handle_); }

ScopedContext::ScopedContext(const Context& context)
    : driver_(context.driver()),
      pushed_(driver_.cuCtxPushCurrent_v2(context.handle()) == CUDA_SUCCESS) {}

ScopedContext::~ScopedContext() {
  CUcontext popped = nullptr;
  if (pushed_) {
    driver_.cuCtxPopCurrent_v2(&popped);
  }
}

absl::StatusOr<std::unique_ptr<Stream>> Stream::create(ContextPointer context) {
  std::unique_ptr<Stream> stream(new Stream(std::move(context)));
  GR_RETURN_IF_ERROR(
      GR_CU(stream->context_->driver(), cuStreamCreate, &stream->stream_, CU_STREAM_NON_BLOCKING));
  return stream;
}

Stream::~Stream() {
  if (stream_ != nullptr) {
    context_->driver().cuStreamDestroy_v2(stream_);
  }
}

absl::Status Stream::synchronize() const {
  return GR_CU(context_->driver(), cuStreamSynchronize, stream_);
}

absl::StatusOr<std::unique_ptr<Event>> Event::create(ContextPointer context, Use use) {
  std::unique_ptr<Event> event(new Event(std::move(context)));
  const unsigned flags =
      CU_EVENT_BLOCKING_SYNC | (use == Use::kTime ? CU_EVENT_DEFAULT : CU_EVENT_DISABLE_TIMING);
  GR_RETURN_IF_ERROR(GR_CU(event->context_->driver(), cuEventCreate, &event->event_, flags));
  return event;
}

Event::~Event() {
  if (event_ != nullptr) {
    context_->driver().cuEventDestroy_v2(event_);
  }
}

absl::Status Event::record(const Stream& stream) { return record(stream.get()); }

absl::Status Event::record(CUstream stream) {
  return GR_CU(context_->driver(), cuEventRecord, event_, stream);
}

absl::Status Event::recordInGraph(CUstream stream) {
  return GR_CU(context_->driver(), cuEventRecordWithFlags, event_, stream,
               CU_EVENT_RECORD_EXTERNAL);
}

absl::StatusOr<float> Event::since(const Event& earlier) const {
  float milliseconds = 0;
  GR_RETURN_IF_ERROR(
      GR_CU(context_->driver(), cuEventElapsedTime_v2, &milliseconds, earlier.event_, event_));
  return milliseconds;
}

bool Event::isPending() const {
  return context_->driver().cuEventQuery(event_) == CUDA_ERROR_NOT_READY;
}

absl::Status Event::holdUp(const Stream& stream) const {
  return GR_CU(context_->driver(), cuStreamWaitEvent, stream.get(), event_, CU_EVENT_WAIT_DEFAULT);
}

absl::Status Event::wait() const {
  const DriverApi& driver = context_->driver();
  const int64_t begin = runtime::nowNanos();
  const int64_t sleep = time_.sleepNanos(), awake = begin + time_.awakeNanos();
  if (sleep > 0) {
    std::this_thread::sleep_for(std::chrono::nanoseconds(sleep));
  }
  bool overslept = sleep > 0;
  do {
    CUresult result = driver.cuEventQuery(event_);
    if (result != CUDA_ERROR_NOT_READY) {
      time_.note(runtime::nowNanos() - begin, overslept);
      return driverStatus(driver, result, "cuEventQuery");
    }
    overslept = false;
  } while (runtime::nowNanos() < awake);
  absl::Status status = GR_CU(driver, cuEventSynchronize, event_);
  time_.note(runtime::nowNanos() - begin, overslept);
  return status;
}

absl::Status Event::wait(absl::FunctionRef<absl::Status()> check) const {
  const DriverApi& driver = context_->driver();
  const Pause pause;
  while (true) {
    CUresult result = driver.cuEventQuery(event_);
    if (result != CUDA_ERROR_NOT_READY) {
      return driverStatus(driver, result, "cuEventQuery");
    }
    GR_RETURN_IF_ERROR(check());
    pause.take();
  }
}

}  // namespace graphrun::devices::cuda
