// Kernels that compute no operation of their own: "generated" code and "copy". Internal to
// devices/cpu.
#ifndef GRAPHRUN_DEVICES_CPU_BASE_SIMPLE_KERNELS_H_
#define GRAPHRUN_DEVICES_CPU_BASE_SIMPLE_KERNELS_H_

#include "devices/cpu/base/kernel.h"

namespace graphrun::devices::cpu {

/// A function of the code image, its loop split over threads: `extent` iterations, `grain` at least
/// for each thread.
absl::StatusOr<LayoutChoice> chooseGenerated(const Instruction& instruction);
absl::StatusOr<std::unique_ptr<Kernel>> createGenerated(const Instruction& instruction,
                                                        KernelContext& context);

/// The bytes of input 0 in output 0: both dense, of one size.
absl::StatusOr<LayoutChoice> chooseCopy(const Instruction& instruction);
absl::StatusOr<std::unique_ptr<Kernel>> createCopy(const Instruction& instruction,
                                                   KernelContext& context);

}  // namespace graphrun::devices::cpu

#endif  // GRAPHRUN_DEVICES_CPU_BASE_SIMPLE_KERNELS_H_
