// Descriptors of the simulator's cuDNN.
#ifndef GRAPHRUN_TESTS_DEVICES_CUDA_SIMULATOR_CUDNN_OBJECTS_H_
#define GRAPHRUN_TESTS_DEVICES_CUDA_SIMULATOR_CUDNN_OBJECTS_H_

#include <cuda.h>
#include <cudnn_graph.h>

#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace graphrun::testing {

struct CudnnObject;
using CudnnPart = std::shared_ptr<CudnnObject>;

/// What a caller's descriptor, a pointer to a CudnnPart, is.
struct CudnnObject {
  cudnnBackendDescriptorType_t type{};
  bool finalized = false;
  std::map<cudnnBackendAttributeName_t, std::vector<uint8_t>> values;
  std::map<cudnnBackendAttributeName_t, std::vector<CudnnPart>> parts;

  bool has(cudnnBackendAttributeName_t name) const {
    return values.contains(name) || parts.contains(name);
  }
  template <typename T>
  std::vector<T> all(cudnnBackendAttributeName_t name) const {
    auto found = values.find(name);
    std::vector<T> elements(found == values.end() ? 0 : found->second.size() / sizeof(T));
    if (!elements.empty()) {
      std::memcpy(static_cast<void*>(elements.data()), found->second.data(),
                  elements.size() * sizeof(T));
    }
    return elements;
  }
  template <typename T>
  T one(cudnnBackendAttributeName_t name, T otherwise) const {
    auto found = values.find(name);
    if (found != values.end()) {
      std::memcpy(&otherwise, found->second.data(), sizeof(T));
    }
    return otherwise;
  }
  std::vector<int64_t> integers(cudnnBackendAttributeName_t name) const {
    return all<int64_t>(name);
  }
  /// Of those that must have one.
  const CudnnObject& part(cudnnBackendAttributeName_t name) const { return *parts.at(name)[0]; }
};

/// Notes why a call fails, for cudnnGetLastErrorString.
cudnnStatus_t refuse(cudnnStatus_t status, std::string why);

/// cudnnBackendSetAttribute and cudnnBackendFinalize but for what engines and plans have of their
/// own.
cudnnStatus_t setCudnnAttribute(CudnnObject& object, cudnnBackendAttributeName_t name,
                                cudnnBackendAttributeType_t type, int64_t count,
                                const void* elements);
cudnnStatus_t checkCudnnObject(const CudnnObject& object);

/// What must hold of an operation whose attributes are all there (cudnn_operations.cpp).
cudnnStatus_t checkCudnnOperation(const CudnnObject& operation);
bool isCudnnOperation(cudnnBackendDescriptorType_t type);
/// Of the type of a tensor; 0: of one that nobody uses here.
int64_t cudnnElementBytes(cudnnDataType_t type);

/// The operations of a graph that are of this type.
std::vector<const CudnnObject*> operationsOf(const CudnnObject& graph,
                                             cudnnBackendDescriptorType_t type);

/// Why no engine takes a graph, or nothing (cudnn_engines.cpp).
std::string whyNoCudnnEngine(const CudnnObject& graph);
/// The same of a graph with products: engines know attention alone (cudnn_attention.cpp).
std::string whyNoCudnnAttention(const CudnnObject& graph);

/// Where tensors are, by their id.
struct CudnnMemory {
  std::map<int64_t, CUdeviceptr> tensors;
  std::map<int64_t, std::vector<uint8_t>> values;  ///< as they were when the plan was run
};

/// Computes a graph's operations one after the other on the memory of its tensors. Tensor cores
/// round factors of f32 to TF32.
CUresult runCudnnGraph(const CudnnObject& graph, const CudnnMemory& memory, bool onTensorCores);

}  // namespace graphrun::testing

#endif  // GRAPHRUN_TESTS_DEVICES_CUDA_SIMULATOR_CUDNN_OBJECTS_H_
