// Fuzz target: recipes of training. The first line is an override.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "runtime/training/recipe.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto end = std::find(data, data + size, '\n');
  const std::string override(data, end);
  const std::string text(end, data + size);
  graphrun::runtime::parseRecipe(text, "fuzzed.yaml").status().IgnoreError();
  graphrun::runtime::parseRecipe(text, "fuzzed.yaml", {&override, 1}).status().IgnoreError();
  return 0;
}
