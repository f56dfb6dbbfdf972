// What names mean inside a kernel.
#ifndef GRAPHRUN_TESTS_DEVICES_CUDA_SIMULATOR_PTX_NAMES_H_
#define GRAPHRUN_TESTS_DEVICES_CUDA_SIMULATOR_PTX_NAMES_H_

#include <map>
#include <optional>
#include <string>
#include <vector>
#include "absl/strings/string_view.h"

#include "tests/devices/cuda/simulator/ptx_text.h"

namespace graphrun::testing::ptx {

/// Names by scope, the innermost first. Registers of a family (%r<13>) come into being when they
/// are named, so that a text cannot ask for more of them than it is long.
class Names {
 public:
  void open() { scopes_.emplace_back(); }
  void close() { scopes_.pop_back(); }
  size_t depth() const { return scopes_.size(); }

  void declareRegister(absl::string_view name, Type type, std::vector<Type>& registers);
  void declareFamily(absl::string_view prefix, Type type, uint64_t count);
  /// A parameter or a shared variable.
  void declareAddress(absl::string_view name, Operand::Kind kind, uint64_t address);
  /// What `name` is; nothing where it is not declared.
  std::optional<Operand> find(absl::string_view name, std::vector<Type>& registers);

 private:
  struct Family {
    Type type;
    uint64_t count;
  };
  struct Scope {
    std::map<std::string, Operand, std::less<>> names;
    std::map<std::string, Family, std::less<>> families;
  };
  std::vector<Scope> scopes_;
};

/// %tid.x and the like.
std::optional<Special> specialNamed(absl::string_view name);

}  // namespace graphrun::testing::ptx

#endif  // GRAPHRUN_TESTS_DEVICES_CUDA_SIMULATOR_PTX_NAMES_H_
