// The simulator's devices, contexts, streams and events.
#include <cstdio>
#include <thread>

#include "tests/devices/cuda/simulator/gpu_state.h"

using graphrun::testing::EventState;
using graphrun::testing::gpu;
using graphrun::testing::StreamState;

namespace {

// One context a GPU; a handle is the address of its element here.
int contexts[graphrun::testing::kMostGpus];
thread_local std::vector<CUcontext> current;

CUcontext contextOf(CUdevice device) { return reinterpret_cast<CUcontext>(&contexts[device]); }
EventState& stateOf(CUevent event) { return *reinterpret_cast<EventState*>(event); }

/// As a host waits that has nothing else to do: other threads may go on meanwhile.
template <typename Attempt>
CUresult untilDone(Attempt attempt) {
  CUresult result = attempt();
  while (result == CUDA_ERROR_NOT_READY) {
    std::this_thread::sleep_for(std::chrono::microseconds(100));
    result = attempt();
  }
  return result;
}

}  // namespace

namespace graphrun::testing {
bool hasContext() { return !current.empty() && current.back() != nullptr; }
int gpuOf(CUcontext context) {
  return static_cast<int>(reinterpret_cast<int*>(context) - &contexts[0]);
}
int currentGpu() { return gpuOf(current.back()); }
}  // namespace graphrun::testing

extern "C" {

CUresult cuInit(unsigned) {
  auto& state = gpu();
  return state.init;
}

CUresult cuDriverGetVersion(int* version) {
  *version = gpu().version;
  return CUDA_SUCCESS;
}

CUresult cuGetErrorName(CUresult error, const char** name) {
  switch (error) {
    case CUDA_ERROR_OUT_OF_MEMORY:
      *name = "CUDA_ERROR_OUT_OF_MEMORY";
      break;
    case CUDA_ERROR_ILLEGAL_ADDRESS:
      *name = "CUDA_ERROR_ILLEGAL_ADDRESS";
      break;
    case CUDA_ERROR_NO_DEVICE:
      *name = "CUDA_ERROR_NO_DEVICE";
      break;
    default:
      *name = "CUDA_ERROR_OF_SOME_KIND";
  }
  return CUDA_SUCCESS;
}

/// What a kernel did, if it was a kernel.
CUresult cuGetErrorString(CUresult, const char** text) {
  const std::string& fault = gpu().fault;
  *text = fault.empty() ? "as the simulator was told" : fault.c_str();
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetCount(int* count) {
  GR_SIMULATED(cuDeviceGetCount, false)
  *count = state.gpus;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGet(CUdevice* device, int index) {
  GR_SIMULATED(cuDeviceGet, false)
  *device = index;
  return index < state.gpus ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

CUresult cuDeviceGetName(char* name, int length, CUdevice) {
  GR_SIMULATED(cuDeviceGetName, false)
  std::snprintf(name, static_cast<size_t>(length), "Simulated GPU");
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute which, CUdevice) {
  GR_SIMULATED(cuDeviceGetAttribute, false)
  switch (which) {
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
      *value = 9;
      return CUDA_SUCCESS;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
      *value = 0;
      return CUDA_SUCCESS;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN:
      *value = 227 << 10;
      return CUDA_SUCCESS;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

/// Its number in the last byte.
CUresult cuDeviceGetUuid(CUuuid* uuid, CUdevice device) {
  GR_SIMULATED(cuDeviceGetUuid, false)
  *uuid = {};
  uuid->bytes[15] = static_cast<char>(device);
  return CUDA_SUCCESS;
}

CUresult cuDeviceTotalMem(size_t* bytes, CUdevice) {
  GR_SIMULATED(cuDeviceTotalMem, false)
  *bytes = state.bytes;
  return CUDA_SUCCESS;
}

CUresult cuDeviceCanAccessPeer(int* can, CUdevice gpu, CUdevice peer) {
  GR_SIMULATED(cuDeviceCanAccessPeer, false)
  *can = gpu != peer && state.peers != graphrun::testing::Peers::kNone ? 1 : 0;
  return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  GR_SIMULATED(cuDevicePrimaryCtxRetain, false)
  ++state.retained[device];
  ++state.counts.contexts;
  *context = contextOf(device);
  return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRelease(CUdevice device) {
  auto& state = gpu();
  std::lock_guard lock(state.mutex);
  --state.retained[device];
  --state.counts.contexts;
  return CUDA_SUCCESS;
}

CUresult cuCtxSetCurrent(CUcontext context) {
  GR_SIMULATED(cuCtxSetCurrent, false)
  current.resize(1);
  current.back() = context;
  return CUDA_SUCCESS;
}

CUresult cuCtxPushCurrent(CUcontext context) {
  current.push_back(context);
  return CUDA_SUCCESS;
}

CUresult cuCtxPopCurrent(CUcontext* context) {
  if (current.empty()) {
    return CUDA_ERROR_INVALID_CONTEXT;
  }
  *context = current.back();
  current.pop_back();
  return CUDA_SUCCESS;
}

CUresult cuStreamCreate(CUstream* stream, unsigned) {
  GR_SIMULATED(cuStreamCreate)
  auto made = std::make_shared<StreamState>();
  made->gpu = graphrun::testing::currentGpu();
  *stream = reinterpret_cast<CUstream>(made.get());
  state.streams[*stream] = std::move(made);
  ++state.counts.streams;
  return CUDA_SUCCESS;
}

CUresult cuStreamDestroy(CUstream stream) {
  auto& state = gpu();
  std::lock_guard lock(state.mutex);
  auto found = state.streams.find(stream);
  if (found == state.streams.end()) {
    return CUDA_ERROR_INVALID_HANDLE;
  }
  state.finish(*found->second, found->second->put);
  state.streams.erase(found);
  --state.counts.streams;
  return CUDA_SUCCESS;
}

CUresult cuStreamSynchronize(CUstream stream) {
  return untilDone([&] {
    GR_SIMULATED(cuStreamSynchronize)
    auto found = state.streams.find(stream);
    if (found == state.streams.end()) {
      return CUDA_ERROR_INVALID_HANDLE;
    }
    if (found->second->capture != nullptr) {
      return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
    return state.finish(*found->second, found->second->put);
  });
}

CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned) {
  GR_SIMULATED(cuStreamWaitEvent)
  EventState at = stateOf(event);
  return state.put(stream, [&state, at] {
    return at.stream == nullptr ? CUDA_SUCCESS : state.finish(*at.stream, at.put);
  });
}

CUresult cuEventCreate(CUevent* event, unsigned flags) {
  GR_SIMULATED(cuEventCreate)
  auto made = std::make_unique<EventState>();
  made->gpu = graphrun::testing::currentGpu();
  made->isTimed = (flags & CU_EVENT_DISABLE_TIMING) == 0;
  *event = reinterpret_cast<CUevent>(made.release());
  ++state.counts.events;
  return CUDA_SUCCESS;
}

CUresult cuEventDestroy(CUevent event) {
  auto& state = gpu();
  std::lock_guard lock(state.mutex);
  delete &stateOf(event);
  --state.counts.events;
  return CUDA_SUCCESS;
}

CUresult cuEventRecord(CUevent event, CUstream stream) {
  GR_SIMULATED(cuEventRecord)
  auto found = state.streams.find(stream);
  EventState& its = stateOf(event);
  if (found == state.streams.end() || found->second->gpu != its.gpu) {
    return CUDA_ERROR_INVALID_HANDLE;
  }
  if (its.isTimed) {
    CUresult put = state.put(stream, [at = &its] {
      at->reached = std::chrono::steady_clock::now() + gpu().added;
      return CUDA_SUCCESS;
    });
    if (put != CUDA_SUCCESS) {
      return put;
    }
  }
  its.stream = found->second;
  its.put = found->second->put;
  its.asked = false;
  return CUDA_SUCCESS;
}

/// In a graph, and only there: the time when the GPU gets to it.
CUresult cuEventRecordWithFlags(CUevent event, CUstream stream, unsigned flags) {
  GR_SIMULATED(cuEventRecordWithFlags)
  if (flags != CU_EVENT_RECORD_EXTERNAL || state.streams[stream]->capture == nullptr) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  return state.put(stream, [at = &stateOf(event)] {
    at->reached = std::chrono::steady_clock::now() + gpu().added;
    return CUDA_SUCCESS;
  });
}

/// Not ready when it is asked for the first time.

CUresult cuEventQuery(CUevent event) {
  GR_SIMULATED(cuEventQuery)
  EventState& at = stateOf(event);
  if (at.stream == nullptr) {
    return CUDA_SUCCESS;
  }
  if (!at.asked) {
    at.asked = true;
    return CUDA_ERROR_NOT_READY;
  }
  return state.finish(*at.stream, at.put);
}

CUresult cuEventSynchronize(CUevent event) {
  return untilDone([&] {
    GR_SIMULATED(cuEventSynchronize)
    EventState& at = stateOf(event);
    return at.stream == nullptr ? CUDA_SUCCESS : state.finish(*at.stream, at.put);
  });
}

CUresult cuEventElapsedTime(float* milliseconds, CUevent from, CUevent to) {
  GR_SIMULATED(cuEventElapsedTime)
  const auto first = stateOf(from).reached;
  const auto last = stateOf(to).reached;
  if (!first.has_value() || !last.has_value()) {
    return CUDA_ERROR_INVALID_HANDLE;
  }
  *milliseconds = std::chrono::duration<float, std::milli>(*last - *first).count();
  return CUDA_SUCCESS;
}

}  // extern "C"
