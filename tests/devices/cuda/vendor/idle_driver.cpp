// A driver that does nothing. cuDNN makes plans of the engines that it compiles for their graph
// only where it finds these functions, and loads what it has compiled. No header of CUDA is
// included: functions whose arguments are of no interest have none.

namespace {

/// What handles point to: nobody looks there.
int nothing = 0;

constexpr int kSuccess = 0;

}  // namespace

#define GR_IDLE(name) \
  int name() { return kSuccess; }

extern "C" {

int cuLibraryLoadData(void** library) {
  *library = &nothing;
  return kSuccess;
}
int cuLibraryGetKernel(void** kernel) {
  *kernel = &nothing;
  return kSuccess;
}

GR_IDLE(cuCtxGetCurrent)
GR_IDLE(cuCtxGetLimit)
GR_IDLE(cuCtxPopCurrent)
GR_IDLE(cuCtxPushCurrent)
GR_IDLE(cuDeviceGet)
GR_IDLE(cuDeviceGetCount)
GR_IDLE(cuDriverGetVersion)
GR_IDLE(cuGetErrorName)
GR_IDLE(cuGetErrorString)
GR_IDLE(cuKernelGetAttribute)
GR_IDLE(cuKernelSetAttribute)
GR_IDLE(cuLaunchCooperativeKernel)
GR_IDLE(cuLaunchKernel)
GR_IDLE(cuLaunchKernelEx)
GR_IDLE(cuLibraryUnload)
GR_IDLE(cuLinkAddData)
GR_IDLE(cuLinkComplete)
GR_IDLE(cuLinkCreate)
GR_IDLE(cuLinkDestroy)
GR_IDLE(cuOccupancyMaxPotentialClusterSize)
GR_IDLE(cuStreamGetCtx)
GR_IDLE(cuLibraryLoadFromFile)

}  // extern "C"
