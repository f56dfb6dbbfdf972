// A small model and a small plan with all that the formats know, and their bytes: what the tests
// change, the fuzz corpora start from and the frozen file was made of.
#ifndef GRAPHRUN_TESTS_RUNTIME_FORMAT_SAMPLES_H_
#define GRAPHRUN_TESTS_RUNTIME_FORMAT_SAMPLES_H_

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "runtime/format/model_writer.h"
#include "runtime/format/plan_generated.h"

namespace graphrun::format {

/// Bytes at an address that is a multiple of 64, with nothing behind them: a read past the end is
/// seen by AddressSanitizer.
class AlignedBytes {
 public:
  explicit AlignedBytes(absl::Span<const uint8_t> bytes);
  uint8_t* data() { return data_.get(); }
  size_t size() const { return size_; }
  absl::Span<const uint8_t> span() const { return {data_.get(), size_}; }

 private:
  struct Free {
    void operator()(void* p) const { std::free(p); }
  };
  std::unique_ptr<uint8_t, Free> data_;
  size_t size_;
};

/// y, z = f(x): a convolution with a symbolic batch, a gr.if with two regions, an attribute of each
/// kind; weights w (2x3xf32), bias (3xf32, splat) and twin (the bytes of w).
GraphT sampleGraph();

/// The weights of sampleGraph. The data is static.
std::vector<WeightSource> sampleWeights();

/// The sample as an object; its weight table is as the writer would lay it out.
ModelT sampleModel();

/// Two workers, three devices, two edges, weights; the data of bias lies in the plan itself.
PlanT samplePlan();

/// A whole model file of `model` and the sample's weight section, without any check.
std::vector<uint8_t> modelBytes(const ModelT& model);
std::vector<uint8_t> planBytes(const PlanT& plan);

/// Sets the checksums of a model file's header to what its bytes call for; the file may be anything
/// of at least 64 bytes.
void repairChecksums(absl::Span<uint8_t> file);

/// A fresh folder under the system's temporary folder, removed with all content at the end.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  std::string file(const std::string& name) const { return path_ + "/" + name; }
  /// Names in the folder, sorted.
  std::vector<std::string> list() const;

 private:
  std::string path_;
};

}  // namespace graphrun::format

#endif  // GRAPHRUN_TESTS_RUNTIME_FORMAT_SAMPLES_H_
