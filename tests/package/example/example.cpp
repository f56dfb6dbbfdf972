// Uses the installed headers and libraries; ends with 0 if what they give is right.
#include <cstdio>

#include "runtime/base/element_type.h"
#include "runtime/base/status.h"
#include "runtime/base/tensor.h"

int main() {
  using graphrun::runtime::ElementType;
  graphrun::runtime::HostTensor tensor({ElementType::kF32, {2, 3}});
  std::puts(tensor.spec().toString().c_str());
  return tensor.spec().toString() == "2x3xf32" && tensor.byteSize() == 24 ? 0 : 1;
}
