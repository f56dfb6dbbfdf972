// An executable is printed as text, for tests and for people.
#ifndef GRAPHRUN_DEVICES_COMPILER_EXECUTABLE_TEXT_H_
#define GRAPHRUN_DEVICES_COMPILER_EXECUTABLE_TEXT_H_

#include <string>

#include "devices/executable/executable.h"

namespace graphrun::devices {

/// The buffers, then the instructions in order, a line each; of a layout only that there is one.
/// The code is left out.
std::string textOf(const Executable& executable);

}  // namespace graphrun::devices

#endif  // GRAPHRUN_DEVICES_COMPILER_EXECUTABLE_TEXT_H_
