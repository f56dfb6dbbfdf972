// A model whose inputs have no fixed dims, made of one whose inputs have.
#ifndef GRAPHRUN_FRONTENDS_CLI_SYMBOLIC_MODEL_H_
#define GRAPHRUN_FRONTENDS_CLI_SYMBOLIC_MODEL_H_

#include <cstdint>
#include <string>

#include "absl/types/span.h"

namespace graphrun::cli {

/// The ONNX model in `bytes` with every dim of its inputs and outputs, apart from inputs that are
/// initializers, left open, and without value_info: what an exporter writes for a network that
/// takes any shape. Bytes that are no model stay as they are.
std::string withSymbolicDims(absl::Span<const uint8_t> bytes);

}  // namespace graphrun::cli

#endif  // GRAPHRUN_FRONTENDS_CLI_SYMBOLIC_MODEL_H_
