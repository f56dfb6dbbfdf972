// Uses the installed headers and libraries; ends with 0 if what they give is right.
#include <graphrun/session.h>

#include <cstdio>

int main() {
  graphrun::HostTensor tensor({graphrun::ElementType::kF32, {2, 3}});
  std::puts(tensor.spec().toString().c_str());
  // A status made by the library is a status here.
  absl::Status missing = graphrun::Session::create("/no/such/model.fb").status();
  std::puts(missing.ToString().c_str());
  return tensor.spec().toString() == "2x3xf32" && tensor.byteSize() == 24 &&
                 absl::IsNotFound(missing) &&
                 graphrun::domainOf(missing) == graphrun::ErrorDomain::kModel
             ? 0
             : 1;
}
