// A file that is in memory alone.
#ifndef GRAPHRUN_RUNTIME_BASE_MEMORY_FILE_H_
#define GRAPHRUN_RUNTIME_BASE_MEMORY_FILE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/base/file_writer.h"

namespace graphrun::runtime {

/// Written once, then read by all who know its path: this process, and others of this user on this
/// machine. Its memory goes when this object has gone and nobody maps it any more.
class MemoryFile : public FileWriter {
 public:
  /// `name` is for messages. ResourceExhausted without memory or file descriptors.
  static absl::StatusOr<MemoryFile> create(const std::string& name);

  /// Ends writing: nobody can change the content from here on.
  absl::Status seal();

  using FileWriter::name;
  /// Returns where it can be opened, as long as this object lives.
  std::string path() const;

 private:
  using FileWriter::FileWriter;
};

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_BASE_MEMORY_FILE_H_
