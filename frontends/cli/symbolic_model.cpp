#include "frontends/cli/symbolic_model.h"

#include <set>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "frontends/cli/wire_format.h"

namespace graphrun::cli {
namespace {

using Bytes = absl::Span<const uint8_t>;

// Field numbers of onnx.proto.
constexpr uint32_t kModelGraph = 7;
constexpr uint32_t kGraphInitializer = 5;
constexpr uint32_t kGraphInput = 11;
constexpr uint32_t kGraphOutput = 12;
constexpr uint32_t kGraphValueInfo = 13;
constexpr uint32_t kTensorName = 8;
constexpr uint32_t kValueName = 1;
constexpr uint32_t kValueType = 2;
constexpr uint32_t kTypeTensor = 1;
constexpr uint32_t kTypeSequence = 4;
constexpr uint32_t kTypeSparseTensor = 8;
constexpr uint32_t kTypeOptional = 9;
constexpr uint32_t kElementType = 1;  // of a sequence or an optional
constexpr uint32_t kTensorShape = 2;
constexpr uint32_t kShapeDim = 1;

constexpr int kDeepestType = 8;  // no type of a real model is a sequence of so many sequences

absl::string_view textOf(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void append(Bytes bytes, std::string& out) {
  out.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

/// Decides on a field that holds bytes: true to keep it as it is; else `out` has got what stands in
/// its place.
using Rewrite = absl::FunctionRef<bool(uint32_t field, Bytes content, std::string& out)>;

/// The message with its fields rewritten. Bytes that are no message stay as they are from there on:
/// the importer says what is wrong with them.
std::string rewritten(Bytes message, Rewrite rewrite) {
  std::string out;
  for (WireReader reader(message); !reader.done();) {
    Bytes before = reader.rest();
    uint32_t field = 0;
    uint32_t wire = 0;
    Bytes content;
    bool read =
        reader.tag(field, wire) && (wire == kBytes ? reader.bytes(content) : reader.skip(wire));
    if (!read) {
      append(before, out);
      return out;
    }
    if (wire != kBytes || rewrite(field, content, out)) {
      append(before.subspan(0, before.size() - reader.rest().size()), out);
    }
  }
  return out;
}

/// The text in field `wanted` of a message; "" without one.
std::string textIn(Bytes message, uint32_t wanted) {
  std::string text;
  rewritten(message, [&](uint32_t field, Bytes content, std::string&) {
    if (field == wanted) {
      text = std::string(textOf(content));
    }
    return true;
  });
  return text;
}

/// A message in which the content of field `opened` is what `open` makes of it.
template <typename Open>
std::string withOpen(Bytes message, uint32_t opened, const Open& open) {
  return rewritten(message, [&](uint32_t field, Bytes content, std::string& out) {
    if (field == opened) {
      appendBytes(field, open(content), out);
    }
    return field != opened;
  });
}

std::string openShape(Bytes shape) {
  return withOpen(shape, kShapeDim, [](Bytes) { return ""; });
}

std::string openTensor(Bytes tensor) { return withOpen(tensor, kTensorShape, openShape); }

std::string openType(Bytes type, int depth = 0);

/// A sequence or an optional.
std::string openContainer(Bytes container, int depth) {
  return withOpen(container, kElementType,
                  [depth](Bytes element) { return openType(element, depth + 1); });
}

std::string openType(Bytes type, int depth) {
  return rewritten(type, [depth](uint32_t field, Bytes content, std::string& out) {
    if (field == kTypeTensor || field == kTypeSparseTensor) {
      appendBytes(field, openTensor(content), out);
    } else if ((field == kTypeSequence || field == kTypeOptional) && depth < kDeepestType) {
      appendBytes(field, openContainer(content, depth), out);
    } else {
      return true;
    }
    return false;
  });
}

std::string openValue(Bytes value) {
  return withOpen(value, kValueType, [](Bytes type) { return openType(type); });
}

std::string openGraph(Bytes graph) {
  std::set<std::string> initializers;
  rewritten(graph, [&](uint32_t field, Bytes content, std::string&) {
    if (field == kGraphInitializer) {
      initializers.insert(textIn(content, kTensorName));
    }
    return true;
  });
  return rewritten(graph, [&](uint32_t field, Bytes content, std::string& out) {
    if (field == kGraphValueInfo) {
      return false;
    }
    bool fed = field == kGraphInput && !initializers.contains(textIn(content, kValueName));
    if (fed || field == kGraphOutput) {
      appendBytes(field, openValue(content), out);
      return false;
    }
    return true;
  });
}

}  // namespace

std::string withSymbolicDims(Bytes model) { return withOpen(model, kModelGraph, openGraph); }

}  // namespace graphrun::cli
