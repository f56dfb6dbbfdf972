// The devices and programs of a loaded plan, and what was allocated beside them. Internal to
// loaded_plan*.cpp.
#ifndef GRAPHRUN_RUNTIME_WORKER_PLAN_MEMORY_H_
#define GRAPHRUN_RUNTIME_WORKER_PLAN_MEMORY_H_

#include <memory>
#include <vector>

#include "runtime/worker/loaded_plan.h"

namespace graphrun::runtime {

/// A device of a plan as devices are made from.
devices::DeviceDescription descriptionOf(const format::PlanDevice& device);

struct LoadedPlan::Memory {
  struct Part {
    uint32_t device = 0;  // in the plan
    uint32_t partition = 0;
    std::shared_ptr<SharedDevice> owner;
    LoadedProgram loaded;
    std::vector<std::shared_ptr<StateCell>> states;  // one for each of the program's
    std::vector<LoadedProgram> lanes;  // the same again, for steps in flight beside the first
    std::vector<void*> allocated;
    std::vector<void*> own;      // of the device
    uint64_t ownBytes = 0;       // of these, and of communicators
    std::shared_ptr<void> lock;  // of the program's arena; null: it is not locked
  };
  ~Memory() {
    for (Part& part : parts) {
      part.lock.reset();
      part.loaded.program.reset();
      part.lanes.clear();
      for (void* memory : part.allocated) {
        part.owner->device->deallocate(memory);
      }
      for (void* memory : part.own) {
        part.owner->device->directTransfers()->deallocateDevice(memory);
      }
    }
  }
  std::vector<Part> parts;
};

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_WORKER_PLAN_MEMORY_H_
