// Writers of files share these helpers.
#ifndef GRAPHRUN_RUNTIME_BASE_FILE_WRITER_H_
#define GRAPHRUN_RUNTIME_BASE_FILE_WRITER_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/types/span.h"

namespace graphrun::runtime {

/// Appends to an open file. Movable, not copyable; one thread at a time. Errors name the file and
/// how many bytes had been written.
class FileWriter {
 public:
  FileWriter(FileWriter&& other) noexcept;
  FileWriter& operator=(FileWriter&&) = delete;

  absl::Status write(absl::Span<const uint8_t> bytes);
  absl::Status writeZeros(uint64_t count);
  /// Bytes written so far.
  uint64_t size() const { return size_; }

 protected:
  /// Takes `fd`; `name` is for messages.
  FileWriter(std::string name, int fd);
  /// Closes the file.
  ~FileWriter();

  const std::string& name() const { return name_; }
  int fd() const { return fd_; }
  /// Gives the open file away.
  int release();
  absl::Status failed(int errnoValue) const;

 private:
  std::string name_;
  int fd_ = -1;
  uint64_t size_ = 0;
};

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_BASE_FILE_WRITER_H_
