// An ArrayDataset keeps samples as arrays in memory. Internal.
#ifndef GRAPHRUN_RUNTIME_DATA_ARRAY_DATASET_H_
#define GRAPHRUN_RUNTIME_DATA_ARRAY_DATASET_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/data/dataset.h"

namespace graphrun::runtime {

/// A Column is one array, with a row for each sample of its file.
struct Column {
  Field field;         ///< what the rows become; of as many elements as a row
  HostTensor rows;     ///< of any type but strings, of one dim at least
  std::string source;  ///< how messages call it: "labels 'l.gz'"
  double scale = 1;    ///< where the field is f32 and the rows are not: what they are times
};

/// Rows become the field's type when they are read: the types that are equal are copied, all real
/// ones become f32 by a scale, and integers become i64.
class ArrayDataset final : public Dataset {
 public:
  /// InvalidArgument for columns of different numbers of rows, or a range that they do not have.
  static absl::StatusOr<std::unique_ptr<Dataset>> create(std::vector<Column> inputs, Column target,
                                                         const std::optional<SampleRange>& range);

  int64_t count() const override { return range_.end - range_.begin; }
  const std::vector<Field>& inputs() const override { return fields_; }
  const Field& target() const override { return target_.field; }
  absl::Status fill(absl::Span<const int64_t> indices, absl::Span<HostTensor> inputs,
                    HostTensor& target) const override;
  absl::Status checkLabels(int64_t classes) const override;

 private:
  ArrayDataset(std::vector<Column> inputs, Column target, SampleRange range);
  absl::Status fillColumn(const Column& column, absl::Span<const int64_t> indices,
                          HostTensor& batch) const;

  std::vector<Column> inputs_;
  std::vector<Field> fields_;
  Column target_;
  SampleRange range_;
};

/// Number of rows of a column.
inline int64_t rowsOf(const Column& column) { return column.rows.spec().dims.front(); }

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_DATA_ARRAY_DATASET_H_
