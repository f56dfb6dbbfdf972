// ONNX's TensorProto, read without the ONNX schema: the run world does not link it.
#ifndef GRAPHRUN_FRONTENDS_CLI_TENSOR_PROTO_H_
#define GRAPHRUN_FRONTENDS_CLI_TENSOR_PROTO_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/base/tensor.h"

namespace graphrun::cli {

/// Reads a serialized TensorProto (onnx.proto: dims, data_type, name, and the data in raw_data or
/// in the field of its type). `where` is for messages. InvalidArgument for anything that is none or
/// whose data does not fill its dims; Unimplemented for strings, complex numbers and external data.
/// Whatever the bytes are, no more memory is used than they are long, times eight.
absl::StatusOr<runtime::NamedTensor> parseTensorProto(absl::Span<const uint8_t> bytes,
                                                      const std::string& where);
absl::StatusOr<runtime::NamedTensor> readTensorProto(const std::string& path);

/// The tensors of a serialized SequenceProto or OptionalProto, under the names that a session wants
/// for those of the list `name` (ModelPort::isList); `name` "": that of the message.
absl::StatusOr<std::vector<runtime::NamedTensor>> parseListProto(absl::Span<const uint8_t> bytes,
                                                                 const std::string& where,
                                                                 std::string name);

}  // namespace graphrun::cli

#endif  // GRAPHRUN_FRONTENDS_CLI_TENSOR_PROTO_H_
