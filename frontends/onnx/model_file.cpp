#include "frontends/onnx/model_file.h"

#include <sys/mman.h>

#include <climits>

#include "absl/strings/str_cat.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "runtime/base/process.h"

namespace graphrun::frontends {
namespace {

using google::protobuf::io::CodedInputStream;

// ModelProto.graph and GraphProto.{node, initializer}: where nearly all bytes of a file are.
constexpr uint32_t kGraphField = 7;
constexpr uint32_t kNodeField = 1;
constexpr uint32_t kInitializerField = 5;

/// Reads one field of the message that ends at `end`, entering the graph. Gives false where the
/// encoding breaks and leaves the reason in `reason`.
bool skipField(CodedInputStream& stream, int end, bool inGraph, std::string& reason);

/// Walks the fields up to `end`; gives the first break in the encoding, or "".
std::string findBreak(CodedInputStream& stream, int end, bool inGraph) {
  std::string reason;
  while (stream.CurrentPosition() < end) {
    int start = stream.CurrentPosition();
    if (!skipField(stream, end, inGraph, reason)) {
      // A break inside the graph comes with its own offset.
      bool located = absl::string_view(reason).substr(0, 9) == "at offset";
      return located ? reason : absl::StrCat("at offset ", start, ": ", reason);
    }
  }
  return "";
}

bool skipField(CodedInputStream& stream, int end, bool inGraph, std::string& reason) {
  uint32_t tag = stream.ReadTagNoLastTag();
  uint32_t field = tag >> 3;
  uint64_t length = 0;
  bool ok = field != 0;
  switch (tag & 7) {
    case 0:
      ok = ok && stream.ReadVarint64(&length);
      break;
    case 1:
      ok = ok && stream.Skip(8);
      break;
    case 5:
      ok = ok && stream.Skip(4);
      break;
    case 2: {
      ok = ok && stream.ReadVarint64(&length);
      auto left = static_cast<uint64_t>(std::max(end - stream.CurrentPosition(), 0));
      if (ok && length > left) {
        const char* what = inGraph && field == kNodeField          ? "a node"
                           : inGraph && field == kInitializerField ? "an initializer"
                           : !inGraph && field == kGraphField      ? "the graph"
                                                                   : "a field";
        reason = absl::StrCat(what, " of ", length, " bytes starts where ", left, " are left");
        return false;
      }
      if (ok && !inGraph && field == kGraphField) {
        reason = findBreak(stream, stream.CurrentPosition() + static_cast<int>(length), true);
        return reason.empty();
      }
      ok = ok && stream.Skip(static_cast<int>(length));
      break;
    }
    default:
      ok = false;
  }
  if (!ok) {
    reason = "no protobuf field starts here, or the bytes end within it";
  }
  return ok;
}

absl::Status parseError(absl::string_view bytes, absl::string_view name) {
  CodedInputStream stream(reinterpret_cast<const uint8_t*>(bytes.data()),
                          static_cast<int>(bytes.size()));
  std::string where = findBreak(stream, static_cast<int>(bytes.size()), false);
  if (where.empty()) {
    // Protobuf's bound on nested messages is 100, of which a graph in a graph takes three.
    where =
        "the outline is intact, but a node, tensor or type within it is not, or graphs lie more "
        "than 30 deep in each other";
  }
  return absl::InvalidArgumentError(absl::StrCat(
      name, ": not a readable ONNX model (", bytes.size(), " bytes): ", where,
      "; the file is cut off, damaged or of another format: export or download it again"));
}

/// A file in windows: where it is mapped, what was read leaves the memory before more is read.
class WindowStream final : public google::protobuf::io::ZeroCopyInputStream {
 public:
  explicit WindowStream(const llvm::MemoryBuffer& file)
      : file_(file),
        stream_(file.getBufferStart(), static_cast<int>(file.getBufferSize()), kWindowBytes) {}

  bool Next(const void** data, int* size) override {
    // Not MemoryBuffer::dontNeedIfMmap: posix_madvise, which it calls, does nothing here.
    if (file_.getBufferKind() == llvm::MemoryBuffer::MemoryBuffer_MMap) {
      size_t read = stream_.ByteCount() / kWindowBytes * kWindowBytes;
      madvise(const_cast<char*>(file_.getBufferStart()), read, MADV_DONTNEED);
    }
    return stream_.Next(data, size);
  }
  void BackUp(int count) override { stream_.BackUp(count); }
  bool Skip(int count) override { return stream_.Skip(count); }
  int64_t ByteCount() const override { return stream_.ByteCount(); }

 private:
  static constexpr int kWindowBytes = 4 << 20;

  const llvm::MemoryBuffer& file_;
  google::protobuf::io::ArrayInputStream stream_;
};

/// Parses `bytes` with `parse`.
absl::StatusOr<std::unique_ptr<::onnx::ModelProto>> parseChecked(
    absl::string_view bytes, absl::string_view name,
    llvm::function_ref<bool(::onnx::ModelProto&)> parse) {
  if (bytes.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, ": the file is empty, expected an ONNX model"));
  }
  if (bytes.size() > INT_MAX) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, ": has ", bytes.size(), " bytes, but an ONNX message ends at ", INT_MAX,
                     "; its writer must put weights beyond 2 GiB into external data"));
  }
  auto model = std::make_unique<::onnx::ModelProto>();
  if (!parse(*model)) {
    return parseError(bytes, name);
  }
  if (!model->has_graph()) {
    return absl::InvalidArgumentError(absl::StrCat(
        name, ": holds no graph (", bytes.size(),
        " bytes); expected an ONNX ModelProto: is this file a tensor or a checkpoint?"));
  }
  return model;
}

}  // namespace

absl::StatusOr<std::unique_ptr<::onnx::ModelProto>> parseModel(absl::string_view bytes,
                                                               absl::string_view name) {
  return parseChecked(bytes, name, [&](::onnx::ModelProto& model) {
    return model.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
  });
}

absl::StatusOr<std::unique_ptr<::onnx::ModelProto>> readModel(const std::string& path) {
  llvm::sys::fs::file_status kind;
  if (!llvm::sys::fs::status(path, kind) &&
      (kind.type() == llvm::sys::fs::file_type::character_file ||
       kind.type() == llvm::sys::fs::file_type::block_file)) {
    return absl::InvalidArgumentError(
        absl::StrCat("cannot read ", path, ": it is a device, which may have no end"));
  }
  auto file = llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                          /*RequiresNullTerminator=*/false);
  if (std::error_code error = file.getError()) {
    std::string text = absl::StrCat("cannot read ", path, ": ", error.message());
    if (error == std::errc::not_enough_memory) {
      return runtime::outOfMemory(text);
    }
    return error == std::errc::no_such_file_or_directory ? absl::NotFoundError(text)
                                                         : absl::InvalidArgumentError(text);
  }
  llvm::StringRef bytes = (*file)->getBuffer();
  return parseChecked(absl::string_view(bytes.data(), bytes.size()), path,
                      [&](::onnx::ModelProto& model) {
                        WindowStream stream(**file);
                        return model.ParseFromZeroCopyStream(&stream);
                      });
}

}  // namespace graphrun::frontends
