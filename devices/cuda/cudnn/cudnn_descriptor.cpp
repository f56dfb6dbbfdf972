#include "devices/cuda/cudnn/cudnn_descriptor.h"

#include <algorithm>
#include <utility>

#include "devices/cuda/driver/vendor_status.h"
#include "runtime/base/status.h"

namespace graphrun::devices::cuda {
namespace {

absl::StatusOr<CudnnDescriptor> create(const CudnnApi& api, cudnnBackendDescriptorType_t type) {
  cudnnBackendDescriptor_t made = nullptr;
  GR_RETURN_IF_ERROR(cudnnStatus(api, api.cudnnBackendCreateDescriptor(type, &made),
                                 "cudnnBackendCreateDescriptor"));
  return CudnnDescriptor(made, api.cudnnBackendDestroyDescriptor);
}

/// Reads up to `most` elements; how many there are, where they are not wanted.
absl::StatusOr<int64_t> read(const CudnnApi& api, const CudnnDescriptor& descriptor,
                             cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                             int64_t most, void* elements) {
  int64_t count = 0;
  GR_RETURN_IF_ERROR(cudnnStatus(
      api, api.cudnnBackendGetAttribute(descriptor.get(), name, type, most, &count, elements),
      absl::StrCat("cudnnBackendGetAttribute of attribute ", static_cast<int>(name))));
  return count;
}

}  // namespace

CudnnDescriptorBuilder::CudnnDescriptorBuilder(const CudnnApi& api,
                                               cudnnBackendDescriptorType_t type, std::string what)
    : api_(api), what_(std::move(what)), descriptor_(nullptr, api.cudnnBackendDestroyDescriptor) {
  absl::StatusOr<CudnnDescriptor> made = create(api, type);
  status_ = made.status();
  if (made.ok()) {
    descriptor_ = *std::move(made);
  }
}

CudnnDescriptorBuilder& CudnnDescriptorBuilder::setElements(cudnnBackendAttributeName_t name,
                                                            cudnnBackendAttributeType_t type,
                                                            int64_t count, const void* elements) {
  if (status_.ok()) {
    cudnnStatus_t result =
        api_.cudnnBackendSetAttribute(descriptor_.get(), name, type, count, elements);
    status_ =
        cudnnStatus(api_, result,
                    absl::StrCat("cudnnBackendSetAttribute of attribute ", static_cast<int>(name)));
  }
  return *this;
}

absl::StatusOr<CudnnDescriptor> CudnnDescriptorBuilder::finish() {
  if (status_.ok()) {
    status_ =
        cudnnStatus(api_, api_.cudnnBackendFinalize(descriptor_.get()), "cudnnBackendFinalize");
  }
  GR_RETURN_IF_ERROR(runtime::annotate(status_, what_));
  return std::move(descriptor_);
}

absl::StatusOr<int64_t> cudnnInteger(const CudnnApi& api, const CudnnDescriptor& descriptor,
                                     cudnnBackendAttributeName_t name) {
  int64_t value = 0;
  GR_RETURN_IF_ERROR(read(api, descriptor, name, CUDNN_TYPE_INT64, 1, &value).status());
  return value;
}

absl::StatusOr<std::vector<cudnnBackendNumericalNote_t>> cudnnNotes(const CudnnApi& api,
                                                                    const CudnnDescriptor& engine) {
  std::vector<cudnnBackendNumericalNote_t> notes(CUDNN_NUMERICAL_NOTE_TYPE_COUNT);
  GR_ASSIGN_OR_RETURN(int64_t count,
                      read(api, engine, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE,
                           CUDNN_NUMERICAL_NOTE_TYPE_COUNT, notes.data()));
  notes.resize(static_cast<size_t>(count));
  return notes;
}

// The library fills in descriptors that the caller made.
absl::StatusOr<std::vector<CudnnDescriptor>> cudnnParts(const CudnnApi& api,
                                                        const CudnnDescriptor& descriptor,
                                                        cudnnBackendAttributeName_t name,
                                                        cudnnBackendDescriptorType_t type) {
  GR_ASSIGN_OR_RETURN(int64_t count,
                      read(api, descriptor, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 0, nullptr));
  std::vector<CudnnDescriptor> parts;
  std::vector<cudnnBackendDescriptor_t> given;
  for (int64_t i = 0; i < count; ++i) {
    GR_ASSIGN_OR_RETURN(CudnnDescriptor part, create(api, type));
    given.push_back(part.get());
    parts.push_back(std::move(part));
  }
  GR_ASSIGN_OR_RETURN(count, read(api, descriptor, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, count,
                                  static_cast<void*>(given.data())));
  parts.erase(parts.begin() + std::min<int64_t>(count, static_cast<int64_t>(parts.size())),
              parts.end());
  return parts;
}

}  // namespace graphrun::devices::cuda
