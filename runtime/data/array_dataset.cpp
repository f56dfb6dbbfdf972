#include "runtime/data/array_dataset.h"

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"

namespace graphrun::runtime {
namespace {

/// Calls `body` with the elements of a tensor whose type C++ has; returns whether it has.
template <typename Body>
bool visitElements(const HostTensor& tensor, Body body) {
  switch (tensor.spec().type) {
    case ElementType::kF64:
      body(tensor.as<double>());
      return true;
    case ElementType::kF32:
      body(tensor.as<float>());
      return true;
    case ElementType::kI64:
      body(tensor.as<int64_t>());
      return true;
    case ElementType::kI32:
      body(tensor.as<int32_t>());
      return true;
    case ElementType::kI16:
      body(tensor.as<int16_t>());
      return true;
    case ElementType::kI8:
      body(tensor.as<int8_t>());
      return true;
    case ElementType::kU64:
      body(tensor.as<uint64_t>());
      return true;
    case ElementType::kU32:
      body(tensor.as<uint32_t>());
      return true;
    case ElementType::kU16:
      body(tensor.as<uint16_t>());
      return true;
    case ElementType::kU8:
    case ElementType::kBool:
      body(tensor.as<uint8_t>());
      return true;
    default:
      return false;
  }
}

/// Converts row after row; `convert` makes an element.
template <typename From, typename To, typename Convert>
void convertRows(absl::Span<const From> rows, absl::Span<const int64_t> indices, int64_t first,
                 absl::Span<To> out, Convert convert) {
  const size_t size = indices.empty() ? 0 : out.size() / indices.size();
  auto to = out.begin();
  for (int64_t index : indices) {
    const auto row = rows.subspan(static_cast<size_t>(first + index) * size, size);
    to = std::transform(row.begin(), row.end(), to, convert);
  }
}

}  // namespace

ArrayDataset::ArrayDataset(std::vector<Column> inputs, Column target, SampleRange range)
    : inputs_(std::move(inputs)), target_(std::move(target)), range_(range) {
  for (const Column& column : inputs_) {
    fields_.push_back(column.field);
  }
}

absl::StatusOr<std::unique_ptr<Dataset>> ArrayDataset::create(
    std::vector<Column> inputs, Column target, const std::optional<SampleRange>& range) {
  const int64_t count = rowsOf(target);
  for (const Column& column : inputs) {
    if (rowsOf(column) != count) {
      return absl::InvalidArgumentError(
          absl::StrCat(column.source, " has ", rowsOf(column), " samples and ", target.source, " ",
                       count, ", expected one number; the files do not belong together"));
    }
  }
  if (count == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(target.source, " has 0 samples, expected at least 1"));
  }
  const SampleRange samples = range.value_or(SampleRange{0, count});
  if (samples.begin < 0 || samples.begin >= samples.end || samples.end > count) {
    return absl::InvalidArgumentError(absl::StrCat("range is [", samples.begin, ", ", samples.end,
                                                   "], expected 0 <= begin < end <= ", count,
                                                   ", the number of samples in ", target.source));
  }
  return std::unique_ptr<Dataset>(new ArrayDataset(std::move(inputs), std::move(target), samples));
}

absl::Status ArrayDataset::fillColumn(const Column& column, absl::Span<const int64_t> indices,
                                      HostTensor& batch) const {
  TensorSpec expected = column.field.sample;
  expected.dims.insert(expected.dims.begin(), static_cast<int64_t>(indices.size()));
  if (batch.spec() != expected) {
    return absl::InvalidArgumentError(absl::StrCat("batch of ", column.source, " is ",
                                                   batch.spec().toString(), ", expected ",
                                                   expected.toString()));
  }
  const HostTensor& rows = column.rows;
  if (rows.spec().type == expected.type && column.scale == 1) {
    const size_t size = rows.byteSize() / static_cast<size_t>(rowsOf(column));
    auto* to = static_cast<uint8_t*>(batch.data());
    for (int64_t index : indices) {
      if (size > 0) {
        std::memcpy(
            to, rows.as<uint8_t>().data() + static_cast<size_t>(range_.begin + index) * size, size);
      }
      to += size;
    }
    return absl::OkStatus();
  }
  const double scale = column.scale;
  const bool isKnown = visitElements(rows, [&]<typename T>(absl::Span<const T> elements) {
    if (expected.type == ElementType::kF32) {
      convertRows(elements, indices, range_.begin, batch.as<float>(),
                  [scale](T x) { return static_cast<float>(static_cast<double>(x) * scale); });
    } else if constexpr (std::is_integral_v<T>) {
      convertRows(elements, indices, range_.begin, batch.as<int64_t>(),
                  [](T x) { return static_cast<int64_t>(x); });
    }
  });
  return isKnown ? absl::OkStatus()
                 : absl::InternalError(absl::StrCat(column.source, " is of type ",
                                                    elementTypeName(rows.spec().type),
                                                    ", from which nothing is converted"));
}

absl::Status ArrayDataset::fill(absl::Span<const int64_t> indices, absl::Span<HostTensor> inputs,
                                HostTensor& target) const {
  for (int64_t index : indices) {
    if (index < 0 || index >= count()) {
      return absl::InvalidArgumentError(
          absl::StrCat("sample ", index, " is asked for, expected 0 to ", count() - 1));
    }
  }
  if (inputs.size() != inputs_.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("batch has ", inputs.size(), " inputs, expected ", inputs_.size()));
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    GR_RETURN_IF_ERROR(fillColumn(inputs_[i], indices, inputs[i]));
  }
  return fillColumn(target_, indices, target);
}

absl::Status ArrayDataset::checkLabels(int64_t classes) const {
  absl::Status status = absl::InvalidArgumentError(
      absl::StrCat(target_.source, " is of type ", elementTypeName(target_.rows.spec().type),
                   ", expected integers: the labels of classes"));
  visitElements(target_.rows, [&]<typename T>(absl::Span<const T> labels) {
    if constexpr (std::is_integral_v<T>) {
      status = absl::OkStatus();
      const size_t size = labels.size() / static_cast<size_t>(rowsOf(target_));
      const auto begin = static_cast<size_t>(range_.begin) * size;
      const auto end = static_cast<size_t>(range_.end) * size;
      for (size_t i = begin; i < end && status.ok(); ++i) {
        if (std::cmp_less(labels[i], 0) || std::cmp_greater_equal(labels[i], classes)) {
          status = absl::InvalidArgumentError(
              absl::StrCat(target_.source, " has the label ", labels[i], " at sample ", i / size,
                           ", expected 0 to ", classes - 1,
                           "; mend the label, or use a model with more classes"));
        }
      }
    }
  });
  return status;
}

}  // namespace graphrun::runtime
