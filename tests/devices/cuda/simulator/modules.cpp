// The simulator's modules, launches and graphs.
#include <bit>
#include <cstdio>
#include <cstring>

#include "runtime/base/status.h"
#include "tests/devices/cuda/simulator/gpu_state.h"
#include "tests/devices/cuda/simulator/ptx_execution.h"

namespace ptx = graphrun::testing::ptx;
using graphrun::testing::gpu;
using graphrun::testing::Graph;
using graphrun::testing::Work;

namespace {

constexpr unsigned kUsualSharedBytes = 48 << 10;
constexpr unsigned kMostSharedBytes = 227 << 10;

struct Function {
  std::shared_ptr<const ptx::Program> program;  // work in streams has it too
  unsigned sharedBytes = kUsualSharedBytes;
};

/// The kernels of a PTX text.
struct Module {
  std::map<std::string, Function> functions;
};

absl::StatusOr<std::unique_ptr<Module>> moduleOf(const std::string& text) {
  GR_ASSIGN_OR_RETURN(ptx::Module parsed, ptx::parse(text));
  auto module = std::make_unique<Module>();
  for (const ptx::Kernel& kernel : parsed.kernels) {
    GR_ASSIGN_OR_RETURN(ptx::Program program, ptx::compile(kernel));
    module->functions[kernel.name].program =
        std::make_shared<const ptx::Program>(std::move(program));
  }
  return module;
}

/// Writes `text` to where a call of cuModuleLoadDataEx wants to have it.
void writeLog(const std::string& text, unsigned options, const CUjit_option* names, void** values) {
  char* log = nullptr;
  size_t size = 0;
  for (unsigned i = 0; i < options; ++i) {
    if (names[i] == CU_JIT_ERROR_LOG_BUFFER) {
      log = static_cast<char*>(values[i]);
    } else if (names[i] == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES) {
      size = std::bit_cast<size_t>(values[i]);
    }
  }
  if (log != nullptr && size > 0) {
    std::snprintf(log, size, "%s", text.c_str());
  }
}

CUresult resultOf(ptx::Fault::Kind kind) {
  using Kind = ptx::Fault::Kind;
  switch (kind) {
    case Kind::kBadLaunch:
      return CUDA_ERROR_INVALID_VALUE;
    case Kind::kIllegalAddress:
      return CUDA_ERROR_ILLEGAL_ADDRESS;
    case Kind::kMisaligned:
      return CUDA_ERROR_MISALIGNED_ADDRESS;
    case Kind::kTrap:
      return CUDA_ERROR_ILLEGAL_INSTRUCTION;
    case Kind::kTooLong:
      return CUDA_ERROR_LAUNCH_TIMEOUT;
    default:
      return CUDA_ERROR_LAUNCH_FAILED;
  }
}

/// What the kernel gets: each parameter's bytes at its place.
std::vector<uint8_t> parametersOf(const ptx::Program& program, void** values) {
  std::vector<uint8_t> bytes(program.parameterBytes());
  for (size_t i = 0; i < program.parameters.size(); ++i) {
    auto [offset, size] = program.parameters[i];
    std::memcpy(bytes.data() + offset, values[i], size);
  }
  return bytes;
}

CUresult runKernel(const ptx::Program& program, const ptx::Launch& launch) {
  auto& state = gpu();
  ++state.counts.launches;
  auto fault = ptx::run(program, launch);
  if (!fault) {
    return CUDA_SUCCESS;
  }
  state.fault = fault->message;
  std::fprintf(stderr, "simulated GPU: %s\n", fault->message.c_str());
  return resultOf(fault->kind);
}

Function& functionOf(CUfunction function) { return *reinterpret_cast<Function*>(function); }
Graph& graphOf(CUgraph graph) { return *reinterpret_cast<Graph*>(graph); }
Graph& graphOf(CUgraphExec graph) { return *reinterpret_cast<Graph*>(graph); }

CUresult destroy(Graph& graph) {
  auto& state = gpu();
  std::lock_guard lock(state.mutex);
  delete &graph;
  --state.counts.graphs;
  return CUDA_SUCCESS;
}

}  // namespace

extern "C" {

CUresult cuModuleLoadDataEx(CUmodule* module, const void* image, unsigned options,
                            CUjit_option* names, void** values) {
  GR_SIMULATED(cuModuleLoadDataEx)
  auto made = moduleOf(static_cast<const char*>(image));
  if (!made.ok()) {
    writeLog(std::string(made.status().message()), options, names, values);
    return CUDA_ERROR_INVALID_PTX;
  }
  *module = reinterpret_cast<CUmodule>(made->release());
  ++state.counts.modules;
  return CUDA_SUCCESS;
}

CUresult cuModuleUnload(CUmodule module) {
  auto& state = gpu();
  std::lock_guard lock(state.mutex);
  delete reinterpret_cast<Module*>(module);
  --state.counts.modules;
  return CUDA_SUCCESS;
}

CUresult cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name) {
  GR_SIMULATED(cuModuleGetFunction)
  auto& functions = reinterpret_cast<Module*>(module)->functions;
  auto found = functions.find(name);
  if (found == functions.end()) {
    return CUDA_ERROR_NOT_FOUND;
  }
  *function = reinterpret_cast<CUfunction>(&found->second);
  return CUDA_SUCCESS;
}

CUresult cuFuncGetAttribute(int* value, CUfunction_attribute which, CUfunction function) {
  GR_SIMULATED(cuFuncGetAttribute)
  *value = static_cast<int>(functionOf(function).sharedBytes);
  return which == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES ? CUDA_SUCCESS
                                                                  : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute which, int value) {
  GR_SIMULATED(cuFuncSetAttribute)
  if (which != CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES || value < 0 ||
      value > static_cast<int>(kMostSharedBytes)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  functionOf(function).sharedBytes = static_cast<unsigned>(value);
  return CUDA_SUCCESS;
}

CUresult cuLaunchKernel(CUfunction handle, unsigned gridX, unsigned gridY, unsigned gridZ,
                        unsigned blockX, unsigned blockY, unsigned blockZ, unsigned sharedBytes,
                        CUstream stream, void** parameters, void**) {
  GR_SIMULATED(cuLaunchKernel)
  const Function& function = functionOf(handle);
  if (sharedBytes > function.sharedBytes) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  ptx::Launch launch;
  launch.grid = {gridX, gridY, gridZ};
  launch.block = {blockX, blockY, blockZ};
  launch.sharedBytes = sharedBytes;
  launch.parameters = parametersOf(*function.program, parameters);
  launch.find = [&state](uint64_t address) { return state.allocation(address); };
  if (!ptx::whyNotLaunched(*function.program, launch).empty()) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  return state.put(stream,
                   [program = function.program, launch] { return runKernel(*program, launch); });
}

CUresult cuStreamBeginCapture(CUstream stream, CUstreamCaptureMode) {
  GR_SIMULATED(cuStreamBeginCapture)
  state.streams.at(stream)->capture = std::make_unique<Graph>();
  return CUDA_SUCCESS;
}

CUresult cuStreamEndCapture(CUstream stream, CUgraph* graph) {
  GR_SIMULATED(cuStreamEndCapture)
  auto& capture = state.streams.at(stream)->capture;
  if (capture == nullptr) {
    return CUDA_ERROR_ILLEGAL_STATE;
  }
  *graph = reinterpret_cast<CUgraph>(capture.release());
  ++state.counts.graphs;
  return CUDA_SUCCESS;
}

CUresult cuGraphInstantiateWithFlags(CUgraphExec* made, CUgraph graph, unsigned long long) {
  GR_SIMULATED(cuGraphInstantiateWithFlags)
  *made = reinterpret_cast<CUgraphExec>(new Graph(graphOf(graph)));
  ++state.counts.graphs;
  return CUDA_SUCCESS;
}

CUresult cuGraphExecUpdate(CUgraphExec made, CUgraph graph, CUgraphExecUpdateResultInfo*) {
  GR_SIMULATED(cuGraphExecUpdate)
  graphOf(made) = graphOf(graph);
  return CUDA_SUCCESS;
}

CUresult cuGraphLaunch(CUgraphExec graph, CUstream stream) {
  GR_SIMULATED(cuGraphLaunch)
  ++state.counts.graphLaunches;
  return state.put(stream, [work = graphOf(graph).work] {
    CUresult result = CUDA_SUCCESS;
    for (const Work& piece : work) {
      result = result == CUDA_SUCCESS ? piece() : result;
    }
    return result;
  });
}

CUresult cuGraphDestroy(CUgraph graph) { return destroy(graphOf(graph)); }
CUresult cuGraphExecDestroy(CUgraphExec graph) { return destroy(graphOf(graph)); }

}  // extern "C"
