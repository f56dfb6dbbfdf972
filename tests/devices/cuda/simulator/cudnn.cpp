// The functions of the simulator's cuDNN, and its engines.
#include <algorithm>
#include <bit>
#include <cstdio>

#include "tests/devices/cuda/simulator/cudnn_objects.h"
#include "tests/devices/cuda/simulator/cudnn_simulator.h"
#include "tests/devices/cuda/simulator/gpu_state.h"

namespace graphrun::testing {
namespace {

/// What a handle is.
struct Handle {
  CUstream stream = nullptr;
};

struct State {
  std::vector<CudnnEngine> engines = usualCudnnEngines();
  int64_t last = -1;
  int64_t plansMade = 0;
};

State& state() {
  static auto* const kOnly = new State();
  return *kOnly;
}

std::string& lastError() {
  static thread_local std::string text;
  return text;
}

CudnnObject& object(cudnnBackendDescriptor_t descriptor) {
  return **static_cast<CudnnPart*>(descriptor);
}

/// What a faulty call gives before it does anything.
cudnnStatus_t enter(const char* function) {
  return gpu().enterCall(function) == CUDA_SUCCESS
             ? CUDNN_STATUS_SUCCESS
             : refuse(CUDNN_STATUS_EXECUTION_FAILED_CUDA_DRIVER, "as the simulator was told");
}

template <typename T>
std::vector<uint8_t> bytesOf(const std::vector<T>& values) {
  const auto* begin = reinterpret_cast<const uint8_t*>(values.data());
  return {begin, begin + values.size() * sizeof(T)};
}

/// The engines that a mode names, as configurations of the graph.
void nameEngines(CudnnObject& heuristic) {
  bool fallback =
      heuristic.one(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_HEUR_MODE_A) == CUDNN_HEUR_MODE_FALLBACK;
  std::vector<CudnnPart>& results = heuristic.parts[CUDNN_ATTR_ENGINEHEUR_RESULTS];
  if (!whyNoCudnnEngine(heuristic.part(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH)).empty()) {
    return;
  }
  for (const CudnnEngine& engine : state().engines) {
    if (engine.fallback != fallback) {
      continue;
    }
    auto its = std::make_shared<CudnnObject>();
    its->type = CUDNN_BACKEND_ENGINE_DESCRIPTOR;
    its->values[CUDNN_ATTR_ENGINE_GLOBAL_INDEX] = bytesOf(std::vector{engine.index});
    its->values[CUDNN_ATTR_ENGINE_NUMERICAL_NOTE] = bytesOf(engine.notes);
    its->parts[CUDNN_ATTR_ENGINE_OPERATION_GRAPH] =
        heuristic.parts.at(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH);
    auto configuration = std::make_shared<CudnnObject>();
    configuration->type = CUDNN_BACKEND_ENGINECFG_DESCRIPTOR;
    configuration->parts[CUDNN_ATTR_ENGINECFG_ENGINE] = {its};
    its->finalized = configuration->finalized = true;
    results.push_back(std::move(configuration));
  }
}

const CudnnObject& engineOf(const CudnnObject& plan) {
  return plan.part(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG).part(CUDNN_ATTR_ENGINECFG_ENGINE);
}

std::chrono::nanoseconds timeOf(int64_t index) {
  for (const CudnnEngine& engine : state().engines) {
    if (engine.index == index) {
      return engine.takes;
    }
  }
  return {};
}

cudnnStatus_t makePlan(CudnnObject& plan) {
  ++state().plansMade;
  auto index = engineOf(plan).one<int64_t>(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, -1);
  for (const CudnnEngine& engine : state().engines) {
    if (engine.index == index) {
      plan.values[CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE] =
          bytesOf(std::vector{engine.workspace});
      return engine.plan == CUDNN_STATUS_SUCCESS
                 ? engine.plan
                 : refuse(engine.plan, "the engine was told to refuse");
    }
  }
  return refuse(CUDNN_STATUS_BAD_PARAM, "an engine that is gone");
}

/// A tensor of the graph that the pack must tell of: what is given by value is read at once.
cudnnStatus_t readTensor(const CudnnObject& tensor, const std::map<int64_t, CUdeviceptr>& given,
                         CudnnMemory& memory) {
  auto id = tensor.one<int64_t>(CUDNN_ATTR_TENSOR_UNIQUE_ID, 0);
  auto found = given.find(id);
  if (found == given.end()) {
    return refuse(CUDNN_STATUS_BAD_PARAM, "a tensor without memory");
  }
  if (!tensor.one(CUDNN_ATTR_TENSOR_IS_BY_VALUE, false)) {
    memory.tensors[id] = found->second;
    return CUDNN_STATUS_SUCCESS;
  }
  if ((found->second & kDeviceBit) != 0) {
    return refuse(CUDNN_STATUS_BAD_PARAM, "a value that is not in the host's memory");
  }
  const auto* value = std::bit_cast<const uint8_t*>(found->second);
  int64_t bytes = cudnnElementBytes(tensor.one(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_DATA_FLOAT));
  memory.values[id].assign(value, value + bytes);
  return CUDNN_STATUS_SUCCESS;
}

/// What a plan is run on: an address for each tensor in memory, and the workspace.
cudnnStatus_t readPack(const CudnnObject& graph, const CudnnObject& pack, int64_t workspace,
                       CudnnMemory& memory) {
  auto ids = pack.integers(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
  auto pointers = pack.all<CUdeviceptr>(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS);
  std::map<int64_t, CUdeviceptr> given;
  for (size_t i = 0; i < ids.size(); ++i) {
    given[ids[i]] = pointers[i];
  }
  for (const CudnnPart& operation : graph.parts.at(CUDNN_ATTR_OPERATIONGRAPH_OPS)) {
    for (const auto& [name, parts] : operation->parts) {
      bool isBound = parts[0]->type == CUDNN_BACKEND_TENSOR_DESCRIPTOR &&
                     !parts[0]->one(CUDNN_ATTR_TENSOR_IS_VIRTUAL, false);
      cudnnStatus_t status = isBound ? readTensor(*parts[0], given, memory) : CUDNN_STATUS_SUCCESS;
      if (status != CUDNN_STATUS_SUCCESS) {
        return status;
      }
    }
  }
  auto scratch = pack.one<CUdeviceptr>(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, 0);
  void* bytes = gpu().view(scratch, static_cast<size_t>(workspace));
  if (workspace > 0 && bytes == nullptr) {
    return refuse(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "no workspace");
  }
  return CUDNN_STATUS_SUCCESS;
}

}  // namespace

cudnnStatus_t refuse(cudnnStatus_t status, std::string why) {
  lastError() = std::move(why);
  return status;
}

std::vector<CudnnEngine> usualCudnnEngines() {
  return {{10, 64 << 10, {CUDNN_NUMERICAL_NOTE_TENSOR_CORE}},
          {11, 4 << 10},
          {0, 0, {CUDNN_NUMERICAL_NOTE_STRICT_NAN_PROP}, true}};
}

void setCudnnEngines(std::vector<CudnnEngine> engines) {
  state().engines = std::move(engines);
  state().last = -1;
  state().plansMade = 0;
}

int64_t cudnnPlansMade() { return state().plansMade; }

int64_t lastCudnnEngine() { return state().last; }

}  // namespace graphrun::testing

using namespace graphrun::testing;

extern "C" {

size_t cudnnGetVersion() { return 91900; }
const char* cudnnGetErrorString(cudnnStatus_t) { return "CUDNN_STATUS_OF_SOME_KIND"; }
void cudnnGetLastErrorString(char* message, size_t most) {
  std::snprintf(message, most, "%s", lastError().c_str());
  lastError().clear();
}

cudnnStatus_t cudnnCreate(cudnnHandle_t* handle) {
  std::lock_guard lock(gpu().mutex);
  if (cudnnStatus_t early = enter("cudnnCreate"); early != CUDNN_STATUS_SUCCESS) {
    return early;
  }
  ++gpu().counts.libraryObjects;
  *handle = reinterpret_cast<cudnnHandle_t>(new Handle());
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnDestroy(cudnnHandle_t handle) {
  --gpu().counts.libraryObjects;
  delete reinterpret_cast<Handle*>(handle);
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream) {
  reinterpret_cast<Handle*>(handle)->stream = reinterpret_cast<CUstream>(stream);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t type,
                                           cudnnBackendDescriptor_t* descriptor) {
  auto* made = new CudnnPart(std::make_shared<CudnnObject>());
  (*made)->type = type;
  *descriptor = made;
  std::lock_guard lock(gpu().mutex);
  ++gpu().counts.libraryObjects;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t descriptor) {
  delete static_cast<CudnnPart*>(descriptor);
  std::lock_guard lock(gpu().mutex);
  --gpu().counts.libraryObjects;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t descriptor,
                                       cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, int64_t count,
                                       const void* elements) {
  return setCudnnAttribute(object(descriptor), name, type, count, elements);
}

cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t descriptor) {
  std::lock_guard lock(gpu().mutex);
  if (cudnnStatus_t early = enter("cudnnBackendFinalize"); early != CUDNN_STATUS_SUCCESS) {
    return early;
  }
  CudnnObject& its = object(descriptor);
  cudnnStatus_t status =
      its.finalized ? refuse(CUDNN_STATUS_BAD_PARAM, "finalized twice") : checkCudnnObject(its);
  if (status == CUDNN_STATUS_SUCCESS && its.type == CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR) {
    nameEngines(its);
  }
  if (status == CUDNN_STATUS_SUCCESS && its.type == CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR) {
    status = makePlan(its);
  }
  its.finalized = status == CUDNN_STATUS_SUCCESS;
  return status;
}

cudnnStatus_t cudnnBackendGetAttribute(cudnnBackendDescriptor_t descriptor,
                                       cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, int64_t most,
                                       int64_t* count, void* elements) {
  const CudnnObject& its = object(descriptor);
  if (!its.finalized) {
    return refuse(CUDNN_STATUS_NOT_INITIALIZED, "a descriptor that is not finalized");
  }
  if (!its.has(name)) {
    return refuse(CUDNN_STATUS_BAD_PARAM, "an attribute that the descriptor has not");
  }
  if (type == CUDNN_TYPE_BACKEND_DESCRIPTOR) {
    const std::vector<CudnnPart>& parts = its.parts.at(name);
    *count = static_cast<int64_t>(parts.size());
    for (size_t i = 0; i < parts.size() && static_cast<int64_t>(i) < most; ++i) {
      CudnnObject& given = object(static_cast<cudnnBackendDescriptor_t*>(elements)[i]);
      if (given.type != parts[i]->type) {
        return refuse(CUDNN_STATUS_BAD_PARAM_DESCRIPTOR_TYPE, "a descriptor of the wrong type");
      }
      given = *parts[i];
    }
    return CUDNN_STATUS_SUCCESS;
  }
  const std::vector<uint8_t>& bytes = its.values.at(name);
  size_t size = type == CUDNN_TYPE_INT64 ? 8 : 4;
  *count = static_cast<int64_t>(bytes.size() / size);
  size_t given = std::min(bytes.size(), static_cast<size_t>(most) * size);
  std::copy_n(bytes.begin(), given, static_cast<uint8_t*>(elements));
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendExecute(cudnnHandle_t handle, cudnnBackendDescriptor_t executionPlan,
                                  cudnnBackendDescriptor_t variantPack) {
  std::lock_guard lock(gpu().mutex);
  if (cudnnStatus_t early = enter("cudnnBackendExecute"); early != CUDNN_STATUS_SUCCESS) {
    return early;
  }
  const CudnnObject& plan = object(executionPlan);
  const CudnnObject& pack = object(variantPack);
  if (!plan.finalized || !pack.finalized) {
    return refuse(CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED, "a plan or a variant pack");
  }
  const CudnnObject& engine = engineOf(plan);
  CudnnPart graph = engine.parts.at(CUDNN_ATTR_ENGINE_OPERATION_GRAPH)[0];
  auto workspace = plan.one<int64_t>(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, 0);
  CudnnMemory memory;
  cudnnStatus_t status = readPack(*graph, pack, workspace, memory);
  if (status != CUDNN_STATUS_SUCCESS) {
    return status;
  }
  state().last = engine.one<int64_t>(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, -1);
  auto notes = engine.all<cudnnBackendNumericalNote_t>(CUDNN_ATTR_ENGINE_NUMERICAL_NOTE);
  bool onTensorCores =
      std::find(notes.begin(), notes.end(), CUDNN_NUMERICAL_NOTE_TENSOR_CORE) != notes.end();
  auto scratch = pack.one<CUdeviceptr>(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, 0);
  std::chrono::nanoseconds takes = timeOf(state().last);
  CUresult put = gpu().put(reinterpret_cast<Handle*>(handle)->stream, [=] {
    ++gpu().counts.launches;
    gpu().added += takes;
    if (workspace > 0) {  // nothing else may need what was there
      void* bytes = gpu().view(scratch, static_cast<size_t>(workspace));
      if (bytes == nullptr) {
        return CUDA_ERROR_ILLEGAL_ADDRESS;
      }
      std::memset(bytes, 0xa5, static_cast<size_t>(workspace));
    }
    return runCudnnGraph(*graph, memory, onTensorCores);
  });
  return put == CUDA_SUCCESS
             ? CUDNN_STATUS_SUCCESS
             : refuse(CUDNN_STATUS_BAD_PARAM_STREAM_MISMATCH, "a stream that is not there");
}

}  // extern "C"
