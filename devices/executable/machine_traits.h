// Plans depend on machine traits besides the model, the request and the compiler.
#ifndef GRAPHRUN_DEVICES_EXECUTABLE_MACHINE_TRAITS_H_
#define GRAPHRUN_DEVICES_EXECUTABLE_MACHINE_TRAITS_H_

#include <string>

namespace graphrun::devices {

/// One line for each kind of device whose compiler asks this machine while it plans. A plan in a
/// cache that machines share, or processes of other instructions, is of use where this is equal.
/// Cheap.
std::string machineTraits();

}  // namespace graphrun::devices

#endif  // GRAPHRUN_DEVICES_EXECUTABLE_MACHINE_TRAITS_H_
