#include "tests/devices/subjects.h"

namespace graphrun::devices::testing {

std::vector<Subject> subjects() { return {{{"test/toy:0", "toy", 0, {}, 0}, {}, cpuNegation}}; }

}  // namespace graphrun::devices::testing
