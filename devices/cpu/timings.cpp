#include "devices/cpu/timings.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "devices/cpu/onednn_layouts.h"
#include "runtime/base/element_type.h"

namespace graphrun::devices::cpu {
namespace {

constexpr absl::string_view kHeader = "graphrun timings 1";

struct AttributeText {
  std::string operator()(int64_t value) const { return absl::StrCat(value); }
  std::string operator()(double value) const { return absl::StrCat(value); }
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(const std::string& value) const { return value; }
  std::string operator()(const runtime::TensorSpec& value) const { return value.toString(); }
  template <typename T>
  std::string operator()(const std::vector<T>& values) const {
    return absl::StrJoin(values, ",");
  }
};

void appendTensor(std::string& text, const TensorDesc& desc) {
  absl::StrAppend(&text, " ", runtime::elementTypeName(desc.type), "[",
                  absl::StrJoin(desc.dims, "x"), "]", desc.any ? "any" : layoutName(desc));
}

std::string keyOf(const Step& step, absl::string_view kernel, int threads) {
  std::string key = absl::StrCat(kernel, " x", threads, " ", describeStep(step));
  // A name in an attribute must not look like the end of a line.
  std::replace_if(key.begin(), key.end(), [](char c) { return c == '\n' || c == '\t'; }, ' ');
  return key;
}

}  // namespace

std::string describeStep(const Step& step) {
  std::string text = step.operation;
  for (const auto& [name, value] : step.attributes) {
    absl::StrAppend(&text, " ", name, "=", std::visit(AttributeText(), value));
  }
  for (const Argument& input : step.inputs) {
    appendTensor(text, input.desc);
  }
  text += " ->";
  for (const Argument& output : step.outputs) {
    appendTensor(text, output.desc);
  }
  for (const PostOp& post : step.postOps) {
    absl::StrAppend(&text, " +", static_cast<int>(post.kind), post.algorithm, ",", post.alpha, ",",
                    post.beta);
    if (post.operand) {
      appendTensor(text, post.operand->desc);
    }
  }
  return text;
}

Timings::Timings(absl::string_view text) {
  std::vector<absl::string_view> lines = absl::StrSplit(text, '\n');
  if (lines.front() != kHeader) {
    return;
  }
  for (size_t i = 1; i < lines.size() && steps_.size() < kMostSteps; ++i) {
    std::vector<absl::string_view> parts = absl::StrSplit(lines[i], '\t');
    double nanos = 0;
    if (parts.size() == 2 && absl::SimpleAtod(parts[0], &nanos) && nanos >= 0) {
      steps_[std::string(parts[1])] = {nanos, ++clock_};
    }
  }
}

std::optional<double> Timings::find(const Step& step, absl::string_view kernel, int threads) {
  auto found = steps_.find(keyOf(step, kernel, threads));
  if (found == steps_.end()) {
    return std::nullopt;
  }
  found->second.used = ++clock_;
  return found->second.nanos;
}

void Timings::add(const Step& step, absl::string_view kernel, int threads, double nanos) {
  steps_[keyOf(step, kernel, threads)] = {nanos, ++clock_};
}

std::string Timings::text() const {
  std::vector<std::pair<uint64_t, std::string>> lines;
  lines.reserve(steps_.size());
  for (const auto& [key, entry] : steps_) {
    lines.emplace_back(entry.used, absl::StrCat(entry.nanos, "\t", key, "\n"));
  }
  std::sort(lines.begin(), lines.end());
  size_t first = lines.size() > kMostSteps ? lines.size() - kMostSteps : 0;
  std::string text = absl::StrCat(kHeader, "\n");
  for (size_t i = first; i < lines.size(); ++i) {
    text += lines[i].second;
  }
  return text;
}

}  // namespace graphrun::devices::cpu
