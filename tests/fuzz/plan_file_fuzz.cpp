// Fuzz target: the bytes of a Plan, as a worker gets them.
#include <cstddef>
#include <cstdint>

#include "runtime/format/plan_file.h"
#include "tests/runtime/format/samples.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  graphrun::format::AlignedBytes bytes({data, size});
  auto file = graphrun::format::PlanFile::parse(bytes.span());
  if (file.ok()) {
    graphrun::format::PlanT plan;
    (*file)->plan().UnPackTo(&plan);
    for (uint32_t device = 0; device < (*file)->deviceCount(); ++device) {
      (*file)->partitionOn(device);
      (*file)->edgesInto(device);
    }
  }
  return 0;
}
