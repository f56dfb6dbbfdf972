// The devices that conformance_test.cpp is about.
#ifndef GRAPHRUN_TESTS_DEVICES_SUBJECTS_H_
#define GRAPHRUN_TESTS_DEVICES_SUBJECTS_H_

#include <map>
#include <string>
#include <vector>

#include "devices/device.h"
#include "devices/executable/executable.h"

namespace graphrun::devices::testing {

/// A device under test.
struct Subject {
  DeviceDescription description;
  /// What it cannot do -> why.
  std::map<std::string, std::string> cannot;
  /// An executable that negates four f32, named x and y.
  std::vector<uint8_t> (*negation)(const Device& device) = nullptr;
};

/// An instruction that negates input 0 into output 1, but for what the device needs to know of it.
Executable negation(const Device& device);
/// The same of the CPU's kernels.
std::vector<uint8_t> cpuNegation(const Device& device);

/// Those of the program, each of which is there or tells why not.
std::vector<Subject> subjects();

}  // namespace graphrun::devices::testing

#endif  // GRAPHRUN_TESTS_DEVICES_SUBJECTS_H_
