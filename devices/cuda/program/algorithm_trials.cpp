#include "devices/cuda/program/algorithm_trials.h"

#include <utility>

#include "devices/cuda/driver/context.h"
#include "devices/cuda/driver/symbols.h"
#include "devices/cuda/driver/vendor_status.h"
#include "devices/cuda/kernels/layouts.h"
#include "devices/cuda/program/kernel_list.h"
#include "devices/cuda/program/segment.h"
#include "runtime/base/status.h"

namespace graphrun::devices::cuda {
namespace {

/// In all bytes: a small number in every type of float.
constexpr uint8_t kFilling = 0x3c;

/// Gives each tensor of `instruction` a buffer of its own; returns where these begin, and the end.
absl::StatusOr<std::vector<uint64_t>> placeTensors(Instruction& instruction) {
  std::vector<uint64_t> offsets = {0};
  auto assign = [&](Argument& argument) -> absl::Status {
    GR_ASSIGN_OR_RETURN(uint64_t bytes, layoutBytes(argument.desc));
    argument.buffer = static_cast<uint32_t>(offsets.size() - 1);
    offsets.push_back(offsets.back() + alignedBytes(bytes));
    return absl::OkStatus();
  };
  for (auto* list : {&instruction.inputs, &instruction.outputs}) {
    for (Argument& argument : *list) {
      GR_RETURN_IF_ERROR(assign(argument));
    }
  }
  for (PostOp& post : instruction.postOps) {
    if (post.operand) {
      GR_RETURN_IF_ERROR(assign(*post.operand));
    }
  }
  if (instruction.scratch) {
    GR_RETURN_IF_ERROR(assign(*instruction.scratch));
  }
  return offsets;
}

}  // namespace

absl::StatusOr<std::unique_ptr<AlgorithmTrials>> AlgorithmTrials::create(uint32_t index,
                                                                         Libraries& libraries) {
  GR_ASSIGN_OR_RETURN(const DriverApi* driver, libraries.driver());
  GR_ASSIGN_OR_RETURN(CUdevice gpu, findGpu(*driver, index));
  std::unique_ptr<AlgorithmTrials> trials(new AlgorithmTrials());
  GR_ASSIGN_OR_RETURN(trials->context_, Context::create(*driver, gpu));
  ScopedContext scope(*trials->context_);
  GR_ASSIGN_OR_RETURN(trials->memory_, MemoryPool::create(trials->context_));
  trials->products_ = std::make_unique<ProductLibrary>(trials->context_, libraries);
  trials->cudnn_ = std::make_unique<CudnnLibrary>(trials->context_, libraries);
  GR_ASSIGN_OR_RETURN(trials->stream_, Stream::create(trials->context_));
  return trials;
}

AlgorithmTrials::~AlgorithmTrials() {
  if (context_ != nullptr) {
    ScopedContext scope(*context_);
    stream_.reset();
  }
}

absl::StatusOr<std::vector<PlanTime>> AlgorithmTrials::run(const Instruction& instruction) {
  const KernelEntry* entry = findKernel(instruction.kernel);
  if (entry == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("there is no kernel \"", instruction.kernel, "\""));
  }
  ScopedContext scope(*context_);
  Instruction trial = instruction;
  GR_ASSIGN_OR_RETURN(std::vector<uint64_t> offsets, placeTensors(trial));
  GR_ASSIGN_OR_RETURN(std::unique_ptr<DeviceMemory> memory, memory_->allocate(offsets.back()));
  const DriverApi& driver = context_->driver();
  GR_RETURN_IF_ERROR(
      GR_CU(driver, cuMemsetD8Async, memory->address(), kFilling, offsets.back(), stream_->get()));
  std::vector<CUdeviceptr> addresses;
  addresses.reserve(offsets.size());
  for (uint64_t offset : offsets) {
    addresses.push_back(memory->address() + offset);
  }
  KernelContext context{driver, *products_, *cudnn_, nullptr, nullptr, addresses};
  std::vector<PlanTime> times;
  for (size_t next = 0; times.size() < kMostTried;) {
    trial.attributes["plan"] = static_cast<int64_t>(next);
    GR_ASSIGN_OR_RETURN(std::unique_ptr<Kernel> kernel, entry->create(trial, context));
    size_t plan = kernel->plan();
    if (plan < next) {
      break;  // there are no more
    }
    GR_ASSIGN_OR_RETURN(uint64_t nanos, timeOf(std::move(kernel)));
    times.push_back({plan, nanos});
    next = plan + 1;
  }
  return times;
}

absl::StatusOr<uint64_t> AlgorithmTrials::timeOf(std::unique_ptr<Kernel> kernel) {
  Segment segment(context_);
  segment.add(std::move(kernel), "a trial");
  for (bool isTimed = false; !isTimed;) {
    GR_RETURN_IF_ERROR(segment.launch(*stream_));
    GR_RETURN_IF_ERROR(stream_->synchronize());
    GR_ASSIGN_OR_RETURN(isTimed, segment.readClock());
  }
  std::vector<runtime::KernelTime> times;
  segment.addTimes(times);
  return times.at(0).ns;
}

}  // namespace graphrun::devices::cuda
