// IDX files that tests make, in memory and on disk.
#ifndef GRAPHRUN_TESTS_RUNTIME_DATA_MADE_FILES_H_
#define GRAPHRUN_TESTS_RUNTIME_DATA_MADE_FILES_H_

#include <zlib.h>

#include <catch2/catch.hpp>
#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

#include "runtime/base/scratch_folder.h"

namespace graphrun::runtime {

using Bytes = std::vector<uint8_t>;

inline Bytes operator+(Bytes left, const Bytes& right) {
  left.insert(left.end(), right.begin(), right.end());
  return left;
}

/// An IDX file's header, and `data` behind it.
inline Bytes idx(uint8_t type, const std::vector<uint32_t>& dims, const Bytes& data) {
  Bytes bytes = {0, 0, type, static_cast<uint8_t>(dims.size())};
  for (uint32_t dim : dims) {
    for (int shift : {24, 16, 8, 0}) {
      bytes.push_back(static_cast<uint8_t>(dim >> shift));
    }
  }
  return bytes + data;
}

inline Bytes gzip(const Bytes& data) {
  z_stream stream{};
  REQUIRE(deflateInit2(&stream, 9, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK);
  Bytes bytes(deflateBound(&stream, data.size()) + 64);
  stream.next_in = const_cast<Bytef*>(data.data());
  stream.avail_in = static_cast<uInt>(data.size());
  stream.next_out = bytes.data();
  stream.avail_out = static_cast<uInt>(bytes.size());
  REQUIRE(deflate(&stream, Z_FINISH) == Z_STREAM_END);
  bytes.resize(stream.total_out);
  deflateEnd(&stream);
  return bytes;
}

/// A folder with files, which goes when this goes.
class MadeFiles {
 public:
  MadeFiles() : folder_(*ScratchFolder::create()) {}

  /// The path of a new file.
  std::string write(const std::string& name, const Bytes& bytes) const {
    std::string path = pathOf(name);
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
    return path;
  }
  std::string pathOf(const std::string& name) const { return (folder_.path() / name).string(); }

 private:
  ScratchFolder folder_;
};

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_TESTS_RUNTIME_DATA_MADE_FILES_H_
