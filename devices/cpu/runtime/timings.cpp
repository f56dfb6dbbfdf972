#include "devices/cpu/runtime/timings.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "devices/cpu/base/onednn_layouts.h"
#include "devices/executable/instruction_text.h"
#include "runtime/base/element_type.h"

namespace graphrun::devices::cpu {
namespace {

constexpr absl::string_view kHeader = "graphrun timings 2";

using Role = TensorRole;

std::string describeTensor(const TensorDesc& desc, absl::string_view dims) {
  return absl::StrCat(" ", runtime::elementTypeName(desc.type), "[", dims, "]",
                      desc.any ? "any" : layoutName(desc));
}

std::string describeWhole(const TensorDesc& desc, Role) {
  return describeTensor(desc, absl::StrJoin(desc.dims, "x"));
}

/// True for what is laid out at load.
bool isWeight(const TensorDesc& desc, Role role) { return role == Role::kInput && desc.any; }

/// Without batch and positions, but for where these are 1 and so broadcast.
std::string describeClass(const TensorDesc& desc, Role role) {
  if (isWeight(desc, role)) {
    return describeWhole(desc, role);
  }
  const size_t channels = desc.dims.size() >= 3 ? 2 : desc.dims.size();  // counted from 1
  std::vector<std::string> dims;
  for (size_t i = 0; i < desc.dims.size(); ++i) {
    bool kept = i + 1 == channels || (desc.dims[i] == 1 && i > 0);
    dims.push_back(kept ? absl::StrCat(desc.dims[i]) : "_");
  }
  return describeTensor(desc, absl::StrJoin(dims, "x"));
}

std::string keyOf(const Instruction& instruction, absl::string_view kernel, int threads) {
  return absl::StrCat(kernel, " x", threads, " ", textOfInstruction(instruction, describeClass));
}

/// Returns the elements of all tensors but weights.
int64_t elementsOf(const Instruction& instruction) {
  int64_t elements = 1;
  for (const Argument& input : instruction.inputs) {
    elements += isWeight(input.desc, Role::kInput) ? 0 : input.desc.spec().elementCount();
  }
  for (const Argument& output : instruction.outputs) {
    elements += output.desc.spec().elementCount();
  }
  return elements;
}

int64_t widthOf(const Instruction& instruction) {
  bool has = !instruction.outputs.empty() && !instruction.outputs[0].desc.dims.empty();
  return has ? std::max<int64_t>(1, instruction.outputs[0].desc.dims.back()) : 1;
}

/// Returns how many times the larger of two positive numbers is the smaller.
double ratio(int64_t a, int64_t b) {
  return static_cast<double>(std::max(a, b)) / static_cast<double>(std::min(a, b));
}

}  // namespace

std::string describeInstruction(const Instruction& instruction) {
  return textOfInstruction(instruction, describeWhole);
}

Timings::Timings(absl::string_view text) {
  std::vector<absl::string_view> lines = absl::StrSplit(text, '\n');
  if (lines.front() != kHeader) {
    return;
  }
  for (size_t i = 1; i < lines.size() && size_ < kMostInstructions; ++i) {
    std::vector<absl::string_view> parts = absl::StrSplit(lines[i], '\t');
    Measured measured{0, 0, 0, ++clock_};
    if (parts.size() == 4 && absl::SimpleAtod(parts[0], &measured.nanos) && measured.nanos >= 0 &&
        absl::SimpleAtoi(parts[1], &measured.elements) && measured.elements >= 1 &&
        absl::SimpleAtoi(parts[2], &measured.width) && measured.width >= 1) {
      insert(std::string(parts[3]), measured);
    }
  }
}

void Timings::insert(const std::string& key, Measured measured) {
  std::vector<Measured>& known = classes_[key];
  auto same = std::find_if(known.begin(), known.end(), [&](const Measured& other) {
    return other.elements == measured.elements && other.width == measured.width;
  });
  if (same != known.end()) {
    *same = measured;
    return;
  }
  known.push_back(measured);
  ++size_;
}

std::optional<double> Timings::find(const Instruction& instruction, absl::string_view kernel,
                                    int threads) {
  constexpr double kMostElements = 4;
  constexpr double kMostWidth = 1.5;
  auto found = classes_.find(keyOf(instruction, kernel, threads));
  if (found == classes_.end()) {
    return std::nullopt;
  }
  const int64_t elements = elementsOf(instruction);
  const int64_t width = widthOf(instruction);
  auto distance = [&](const Measured& known) {
    double more = ratio(known.elements, elements);
    double wider = ratio(known.width, width);
    return more > kMostElements || wider > kMostWidth ? std::numeric_limits<double>::infinity()
                                                      : more * wider;
  };
  auto nearest = std::min_element(
      found->second.begin(), found->second.end(),
      [&](const Measured& a, const Measured& b) { return distance(a) < distance(b); });
  if (std::isinf(distance(*nearest))) {
    return std::nullopt;
  }
  nearest->used = ++clock_;
  return nearest->nanos * static_cast<double>(elements) / static_cast<double>(nearest->elements);
}

void Timings::add(const Instruction& instruction, absl::string_view kernel, int threads,
                  double nanos) {
  insert(keyOf(instruction, kernel, threads),
         {elementsOf(instruction), widthOf(instruction), nanos, ++clock_});
}

std::string Timings::text() const {
  std::vector<std::pair<uint64_t, std::string>> lines;
  lines.reserve(size_);
  for (const auto& [key, known] : classes_) {
    for (const Measured& measured : known) {
      lines.emplace_back(measured.used, absl::StrCat(measured.nanos, "\t", measured.elements, "\t",
                                                     measured.width, "\t", key, "\n"));
    }
  }
  std::sort(lines.begin(), lines.end());
  size_t first = lines.size() > kMostInstructions ? lines.size() - kMostInstructions : 0;
  std::string text = absl::StrCat(kHeader, "\n");
  for (size_t i = first; i < lines.size(); ++i) {
    text += lines[i].second;
  }
  return text;
}

}  // namespace graphrun::devices::cpu
