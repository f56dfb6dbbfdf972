// write_format_samples FOLDER: writes model.fb, plan.fb and small variants of them.
#include <cstdio>
#include <fstream>

#include "tests/runtime/format/samples.h"

namespace graphrun::format {
namespace {

void write(const std::string& path, const std::vector<uint8_t>& bytes) {
  std::ofstream out(path, std::ios::binary);
  out.write(reinterpret_cast<const char*>(bytes.data()),
            static_cast<std::streamsize>(bytes.size()));
}

void writeModels(const std::string& folder) {
  write(folder + "/model.fb", modelBytes(sampleModel()));
  ModelT bare = sampleModel();
  bare.weights.clear();
  bare.graph->body->operations[0]->attributes.clear();
  write(folder + "/model_bare.fb", modelBytes(bare));
  ModelT newer = sampleModel();
  newer.version = 2;
  write(folder + "/model_newer.fb", modelBytes(newer));
  ModelT overlapping = sampleModel();
  overlapping.weights[0]->offset = 64;
  write(folder + "/model_overlapping.fb", modelBytes(overlapping));
}

void writePlans(const std::string& folder) {
  write(folder + "/plan.fb", planBytes(samplePlan()));
  PlanT cut = samplePlan();
  cut.partitions.pop_back();
  write(folder + "/plan_never_received.fb", planBytes(cut));
  PlanT wide = samplePlan();
  wide.edges[1]->target = 7;
  write(folder + "/plan_no_target.fb", planBytes(wide));
}

}  // namespace
}  // namespace graphrun::format

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: write_format_samples FOLDER\n");
    return 2;
  }
  graphrun::format::writeModels(argv[1]);
  graphrun::format::writePlans(argv[1]);
  return 0;
}
