// Tensors whose size a user or a file decides.
#ifndef GRAPHRUN_RUNTIME_BASE_TENSOR_MEMORY_H_
#define GRAPHRUN_RUNTIME_BASE_TENSOR_MEMORY_H_

#include "absl/status/statusor.h"
#include "runtime/base/tensor.h"

namespace graphrun::runtime {

/// A tensor as HostTensor's constructor makes it. InvalidArgument for dims that checkedByteSize
/// refuses; ResourceExhausted, with what is needed and what there is, where it is larger than the
/// memory that this process may use or where the system gives none.
absl::StatusOr<HostTensor> allocateTensor(const TensorSpec& spec);

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_BASE_TENSOR_MEMORY_H_
