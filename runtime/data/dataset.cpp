#include "runtime/data/dataset.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/base/npy.h"
#include "runtime/base/status.h"
#include "runtime/data/array_dataset.h"
#include "runtime/data/idx_file.h"

namespace graphrun::runtime {
namespace {

constexpr int64_t kMostClasses = int64_t{1} << 31;  // all labels of an IDX file but negative ones

std::vector<int64_t> sampleDims(const HostTensor& rows) {
  return {rows.spec().dims.begin() + 1, rows.spec().dims.end()};
}

std::string textOf(absl::Span<const int64_t> dims) {
  return absl::StrCat("[", absl::StrJoin(dims, ", "), "]");
}

absl::StatusOr<Column> pictures(const IdxFiles& files) {
  Column column;
  column.source = absl::StrCat("images '", files.images, "'");
  GR_ASSIGN_OR_RETURN(column.rows, readIdx(files.images));
  column.scale = files.scale;
  const std::vector<int64_t> inFile = sampleDims(column.rows);
  column.field.sample = {ElementType::kF32, files.shape.empty() ? inFile : files.shape};
  GR_RETURN_IF_ERROR(annotate(checkedByteSize(ElementType::kF32, column.field.sample.dims).status(),
                              absl::StrCat("shape ", textOf(files.shape))));
  const int64_t wanted = column.field.sample.elementCount();
  const int64_t found = TensorSpec{ElementType::kF32, inFile}.elementCount();
  if (wanted != found) {
    return absl::InvalidArgumentError(
        absl::StrCat("shape ", textOf(files.shape), " has ", wanted, " elements, expected ", found,
                     ", those of a sample of ", column.source, ", ", textOf(inFile)));
  }
  return column;
}

absl::StatusOr<Column> labels(const IdxFiles& files) {
  Column column;
  column.source = absl::StrCat("labels '", files.labels, "'");
  GR_ASSIGN_OR_RETURN(column.rows, readIdx(files.labels));
  const TensorSpec& spec = column.rows.spec();
  if (spec.dims.size() != 1 || isFloat(spec.type)) {
    return absl::InvalidArgumentError(absl::StrCat(
        column.source, " is ", spec.toString(),
        ", expected one integer a sample; are the files of images and labels exchanged?"));
  }
  column.field = {"target", {ElementType::kI64, {}}};
  return column;
}

absl::StatusOr<Column> array(std::string source, const std::string& name, HostTensor rows) {
  const TensorSpec& spec = rows.spec();
  if (spec.type == ElementType::kString || spec.dims.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        source, " is ", spec.toString(), ", expected numbers with a row for each sample"));
  }
  Column column{.field = {name, {spec.type, sampleDims(rows)}}, .source = std::move(source)};
  column.rows = std::move(rows);
  return column;
}

absl::StatusOr<Column> arrayFile(absl::string_view what, const std::string& name,
                                 const std::string& path) {
  GR_ASSIGN_OR_RETURN(HostTensor rows, readNpy(path));
  return array(absl::StrCat(what, " '", path, "'"), name, std::move(rows));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Dataset>> openIdx(const IdxFiles& files) {
  GR_ASSIGN_OR_RETURN(Column target, labels(files));
  std::vector<Column> inputs(1);
  GR_ASSIGN_OR_RETURN(inputs.front(), pictures(files));
  GR_ASSIGN_OR_RETURN(std::unique_ptr<Dataset> data,
                      ArrayDataset::create(std::move(inputs), std::move(target), files.range));
  GR_RETURN_IF_ERROR(data->checkLabels(kMostClasses));
  return data;
}

absl::StatusOr<std::unique_ptr<Dataset>> openNpy(const NpyFiles& files) {
  std::vector<Column> inputs;
  for (const NpyFile& file : files.inputs) {
    GR_ASSIGN_OR_RETURN(Column column, arrayFile("input", file.input, file.path));
    inputs.push_back(std::move(column));
  }
  GR_ASSIGN_OR_RETURN(Column target, arrayFile("target", "target", files.target));
  return ArrayDataset::create(std::move(inputs), std::move(target), files.range);
}

absl::StatusOr<std::unique_ptr<Dataset>> datasetOf(std::vector<NamedTensor> inputs,
                                                   HostTensor target) {
  std::vector<Column> columns;
  for (NamedTensor& input : inputs) {
    GR_ASSIGN_OR_RETURN(Column column, array(absl::StrCat("input '", input.name, "'"), input.name,
                                             std::move(input.tensor)));
    columns.push_back(std::move(column));
  }
  GR_ASSIGN_OR_RETURN(Column last, array("the target", "target", std::move(target)));
  return ArrayDataset::create(std::move(columns), std::move(last), std::nullopt);
}

}  // namespace graphrun::runtime
