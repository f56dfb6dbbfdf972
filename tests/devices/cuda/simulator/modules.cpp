// The simulator's modules, launches and graphs.
#include <algorithm>
#include <cstring>
#include <sstream>

#include "tests/devices/cuda/simulator/gpu_state.h"

using graphrun::testing::gpu;
using graphrun::testing::Graph;
using graphrun::testing::Launch;
using graphrun::testing::Work;

namespace {

constexpr unsigned kUsualSharedBytes = 48 << 10;

struct Function {
  std::string name;
  size_t parameters = 0;
  unsigned sharedBytes = kUsualSharedBytes;
};

/// The entries of a PTX text, with as many parameters as they name.
struct Module {
  std::map<std::string, Function> functions;
};

std::map<std::string, Function> entriesOf(const std::string& text) {
  std::map<std::string, Function> entries;
  constexpr std::string_view kEntry = ".entry ";
  for (size_t at = text.find(kEntry); at != std::string::npos; at = text.find(kEntry, at)) {
    at += kEntry.size();
    size_t open = text.find('(', at);
    size_t close = text.find(')', open);
    std::istringstream word(text.substr(at, open - at));
    Function function;
    word >> function.name;
    for (size_t p = text.find(".param", open); p < close; p = text.find(".param", p + 1)) {
      ++function.parameters;
    }
    entries[function.name] = function;
  }
  return entries;
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
  std::string text = static_cast<const char*>(image);
  if (text.find(".version") == std::string::npos) {
    for (unsigned i = 0; i < options; ++i) {
      if (names[i] == CU_JIT_ERROR_LOG_BUFFER) {
        std::strcpy(static_cast<char*>(values[i]), "line 1: no .version");
      }
    }
    return CUDA_ERROR_INVALID_PTX;
  }
  *module = reinterpret_cast<CUmodule>(new Module{entriesOf(text)});
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
  if (which != CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES || value > 227 << 10) {
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
  Launch launch{{gridX, gridY, gridZ}, {blockX, blockY, blockZ}, sharedBytes, {}};
  bool fits = gridX * gridY * gridZ > 0 && blockX * blockY * blockZ > 0 &&
              blockX * blockY * blockZ <= 1024 && sharedBytes <= function.sharedBytes;
  auto kernel = state.kernels.find(function.name);
  if (!fits || kernel == state.kernels.end()) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  for (size_t i = 0; i < function.parameters; ++i) {
    uint64_t value = 0;
    std::memcpy(&value, parameters[i], sizeof(value));
    launch.parameters.push_back(value);
  }
  return state.put(stream, [&state, launch, run = kernel->second] {
    ++state.counts.launches;
    return run(launch);
  });
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
