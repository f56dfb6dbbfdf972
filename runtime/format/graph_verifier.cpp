#include "runtime/format/graph_verifier.h"

#include <numeric>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/format/invalid.h"
#include "runtime/format/weight_table.h"

namespace graphrun::format {
namespace {

using Ids = flatbuffers::Vector<uint32_t>;
using runtime::annotate;

/// Bytes that count as an entry: a file whose texts and lists are all its own has less than one for
/// each sixteen, so that short names may even be shared.
constexpr size_t kBytesAnEntry = 16;

size_t bytesOf(const StringTable* texts) {
  size_t bytes = 4 * sizeOf(texts);
  for (uint32_t i = 0; i < sizeOf(texts); ++i) {
    bytes += textOf(texts->Get(i)).size();
  }
  return bytes;
}

/// The bytes that a reader makes of an attribute's value.
size_t bytesOf(const Attribute& attribute) {
  switch (attribute.value_type()) {
    case AttributeValue::String:
      return textOf(attribute.value_as_String()->value()).size();
    case AttributeValue::Ints:
      return sizeof(int64_t) * sizeOf(attribute.value_as_Ints()->value());
    case AttributeValue::Floats:
      return sizeof(double) * sizeOf(attribute.value_as_Floats()->value());
    case AttributeValue::Bools:
      return sizeOf(attribute.value_as_Bools()->value());
    case AttributeValue::Strings:
      return bytesOf(attribute.value_as_Strings()->value());
    case AttributeValue::Type: {
      const TensorType* type = attribute.value_as_Type()->value();
      return type == nullptr ? 0
                             : sizeof(int64_t) * sizeOf(type->dims()) + bytesOf(type->symbolic());
    }
    default:
      return 0;
  }
}

class GraphVerifier {
 public:
  GraphVerifier(const Graph& graph, size_t weightCount, size_t& work, OperationVisitor visit)
      : graph_(graph), weightCount_(weightCount), work_(work), visit_(visit) {}

  absl::Status run() {
    GR_RETURN_IF_ERROR(checkTables());
    states_.assign(sizeOf(graph_.value_types()), State::kUndefined);
    if (graph_.body() == nullptr) {
      return invalid("it has no body");
    }
    GR_RETURN_IF_ERROR(annotate(checkRegion(*graph_.body(), 0), "body"));
    GR_RETURN_IF_ERROR(checkInterface());
    if (defined_ != states_.size()) {
      return invalid("it lists ", states_.size(), " values, expected the ", defined_,
                     " that are defined");
    }
    return absl::OkStatus();
  }

 private:
  enum class State : uint8_t { kUndefined, kVisible, kOutOfScope };

  absl::Status spend(size_t entries) {
    if (entries > work_) {
      return invalid("it refers to more entries than its file can hold");
    }
    work_ -= entries;
    return absl::OkStatus();
  }

  /// Counts what a file may share: each place that refers to it is read by itself.
  absl::Status spendBytes(size_t bytes) { return spend(bytes / kBytesAnEntry); }

  absl::Status checkCount(absl::string_view what, size_t count, size_t limit) const {
    return count <= limit ? absl::OkStatus()
                          : invalid("it has ", count, " ", what, ", expected at most ", limit);
  }

  absl::Status checkNames(absl::string_view what, const StringTable* names, size_t limit,
                          size_t shortest = 1) {
    GR_RETURN_IF_ERROR(checkCount(what, sizeOf(names), limit));
    GR_RETURN_IF_ERROR(spend(sizeOf(names)));
    absl::flat_hash_set<absl::string_view> seen;
    for (uint32_t i = 0; i < sizeOf(names); ++i) {
      absl::string_view name = textOf(names->Get(i));
      if (name.size() < shortest || name.size() > kMaxNameBytes) {
        return invalid(what, ": entry ", i, " has ", name.size(), " bytes, expected ", shortest,
                       " to ", kMaxNameBytes);
      }
      // An anonymous symbol has the empty name; any number of them may be.
      if (!seen.insert(name).second && !name.empty()) {
        return invalid(what, ": entry ", i, " is ", inQuotes(name),
                       " again, expected each name once");
      }
    }
    return absl::OkStatus();
  }

  absl::Status checkTables() {
    GR_RETURN_IF_ERROR(checkNames("op names", graph_.op_names(), kMaxInputs));
    GR_RETURN_IF_ERROR(checkNames("symbols", graph_.symbols(), kMaxInputs, 0));
    GR_RETURN_IF_ERROR(checkNames("input names", graph_.input_names(), kMaxInputs));
    GR_RETURN_IF_ERROR(checkNames("output names", graph_.output_names(), kMaxInputs));
    GR_RETURN_IF_ERROR(checkNames("folded names", graph_.folded_names(), kMaxGraphEntries));
    GR_RETURN_IF_ERROR(checkCount("types", sizeOf(graph_.types()), kMaxGraphEntries));
    GR_RETURN_IF_ERROR(checkCount("values", sizeOf(graph_.value_types()), kMaxGraphEntries));
    GR_RETURN_IF_ERROR(spend(sizeOf(graph_.types()) + sizeOf(graph_.value_types())));
    for (uint32_t i = 0; i < sizeOf(graph_.types()); ++i) {
      GR_RETURN_IF_ERROR(
          annotate(verifyTensorType(*graph_.types()->Get(i)), absl::StrCat("type ", i)));
    }
    for (uint32_t i = 0; i < sizeOf(graph_.value_types()); ++i) {
      if (graph_.value_types()->Get(i) >= sizeOf(graph_.types())) {
        return invalid("value ", i, " has the type index ", graph_.value_types()->Get(i),
                       ", expected one below ", sizeOf(graph_.types()));
      }
    }
    return absl::OkStatus();
  }

  absl::Status checkInterface() const {
    const Region& body = *graph_.body();
    if (sizeOf(graph_.input_names()) != sizeOf(body.arguments())) {
      return invalid("it has ", sizeOf(graph_.input_names()), " input names, expected one for ",
                     "each of the body's ", sizeOf(body.arguments()), " arguments");
    }
    const Operation& last = *body.operations()->Get(body.operations()->size() - 1);
    if (sizeOf(graph_.output_names()) != sizeOf(last.operands())) {
      return invalid("it has ", sizeOf(graph_.output_names()), " output names, expected one for ",
                     "each of the ", sizeOf(last.operands()), " operands of its last operation");
    }
    return absl::OkStatus();
  }

  absl::Status define(const Ids* ids, absl::string_view what) {
    GR_RETURN_IF_ERROR(spend(sizeOf(ids)));
    for (uint32_t i = 0; i < sizeOf(ids); ++i) {
      uint32_t id = ids->Get(i);
      if (id >= states_.size()) {
        return invalid(what, " ", i, " is value ", id, ", expected one below ", states_.size());
      }
      if (states_[id] != State::kUndefined) {
        return invalid(what, " ", i, " is value ", id, ", which is defined already");
      }
      states_[id] = State::kVisible;
      scope_.push_back(id);
      ++defined_;
    }
    return absl::OkStatus();
  }

  absl::Status checkRegion(const Region& region, size_t depth) {
    if (depth > kMaxRegionDepth) {
      return invalid("regions are nested deeper than ", kMaxRegionDepth);
    }
    size_t count = sizeOf(region.operations());
    if (count == 0) {
      return invalid("region has no operations, expected at least the one that yields its results");
    }
    size_t outer = scope_.size();
    GR_RETURN_IF_ERROR(define(region.arguments(), "argument"));
    for (uint32_t i = 0; i < count; ++i) {
      GR_RETURN_IF_ERROR(checkOperation(*region.operations()->Get(i), depth));
    }
    const Operation& last = *region.operations()->Get(static_cast<uint32_t>(count - 1));
    if (sizeOf(last.results()) != 0) {
      return invalid("its last operation has ", sizeOf(last.results()), " results, expected none");
    }
    for (; scope_.size() > outer; scope_.pop_back()) {
      states_[scope_.back()] = State::kOutOfScope;
    }
    return absl::OkStatus();
  }

  absl::Status checkOperation(const Operation& operation, size_t depth) {
    size_t index = operations_++;
    if (operation.name() >= sizeOf(graph_.op_names())) {
      return invalid("operation ", index, ": name index is ", operation.name(),
                     ", expected one below ", sizeOf(graph_.op_names()));
    }
    absl::Status status = checkParts(operation, depth);
    return status.ok() ? status : annotate(status, describe(operation, index));
  }

  std::string describe(const Operation& operation, size_t index) const {
    absl::string_view name = textOf(graph_.op_names()->Get(operation.name()));
    absl::string_view label = textOf(operation.label());
    return absl::StrCat("operation ", index, " ", inQuotes(name), label.empty() ? "" : " ",
                        label.empty() ? "" : inQuotes(label));
  }

  absl::Status checkParts(const Operation& operation, size_t depth) {
    GR_RETURN_IF_ERROR(spendTexts(operation));
    GR_RETURN_IF_ERROR(checkOperands(operation));
    GR_RETURN_IF_ERROR(checkAttributes(operation));
    GR_RETURN_IF_ERROR(visit_(operation, textOf(graph_.op_names()->Get(operation.name()))));
    for (uint32_t i = 0; i < sizeOf(operation.regions()); ++i) {
      GR_RETURN_IF_ERROR(annotate(checkRegion(*operation.regions()->Get(i), depth + 1),
                                  absl::StrCat("region ", i)));
    }
    // After the regions: they cannot use the results of their own operation.
    return define(operation.results(), "result");
  }

  absl::Status spendTexts(const Operation& operation) {
    GR_RETURN_IF_ERROR(spendBytes(textOf(operation.label()).size()));
    GR_RETURN_IF_ERROR(spend(sizeOf(operation.hints())));
    for (uint32_t i = 0; i < sizeOf(operation.hints()); ++i) {
      const DeviceHint& hint = *operation.hints()->Get(i);
      GR_RETURN_IF_ERROR(spendBytes(textOf(hint.configuration()).size() +
                                    textOf(hint.name()).size() + textOf(hint.problem()).size()));
    }
    return absl::OkStatus();
  }

  absl::Status checkOperands(const Operation& operation) {
    GR_RETURN_IF_ERROR(spend(sizeOf(operation.operands()) + sizeOf(operation.operand_segments())));
    for (uint32_t i = 0; i < sizeOf(operation.operands()); ++i) {
      uint32_t id = operation.operands()->Get(i);
      if (id >= states_.size() || states_[id] != State::kVisible) {
        return invalid("operand ", i, " is value ", id, ", expected one that is defined before it");
      }
    }
    if (operation.operand_segments() == nullptr) {
      return absl::OkStatus();
    }
    const Ids& segments = *operation.operand_segments();
    uint64_t sum = std::accumulate(segments.begin(), segments.end(), uint64_t{0});
    if (sum != sizeOf(operation.operands())) {
      return invalid("its operand segments add up to ", sum, ", expected ",
                     sizeOf(operation.operands()), " operands");
    }
    return absl::OkStatus();
  }

  absl::Status checkAttributes(const Operation& operation) {
    GR_RETURN_IF_ERROR(checkCount("attributes", sizeOf(operation.attributes()), kMaxAttributes));
    GR_RETURN_IF_ERROR(spend(sizeOf(operation.attributes())));
    absl::flat_hash_set<absl::string_view> names;
    for (uint32_t i = 0; i < sizeOf(operation.attributes()); ++i) {
      const Attribute& attribute = *operation.attributes()->Get(i);
      absl::string_view name = textOf(attribute.name());
      if (name.empty() || name.size() > kMaxNameBytes || !names.insert(name).second) {
        return invalid("attribute ", i, " has the name ", inQuotes(name),
                       ", expected a unique one of 1 to ", kMaxNameBytes, " bytes");
      }
      GR_RETURN_IF_ERROR(
          annotate(checkValue(attribute), absl::StrCat("attribute ", inQuotes(name))));
      GR_RETURN_IF_ERROR(spendBytes(name.size() + bytesOf(attribute)));
    }
    return absl::OkStatus();
  }

  absl::Status checkValue(const Attribute& attribute) const {
    auto kind = attribute.value_type();
    if (kind == AttributeValue::NONE || kind > AttributeValue::MAX) {
      return invalid("its value is of kind ", static_cast<int>(kind), ", expected 1 to ",
                     static_cast<int>(AttributeValue::MAX));
    }
    if (const Weight* weight = attribute.value_as_Weight();
        weight != nullptr && weight->index() >= weightCount_) {
      return invalid("weight index is ", weight->index(), ", expected one below ", weightCount_);
    }
    if (const Type* type = attribute.value_as_Type(); type != nullptr) {
      return type->value() == nullptr ? invalid("it has no type")
                                      : verifyTensorType(*type->value());
    }
    return absl::OkStatus();
  }

  const Graph& graph_;
  size_t weightCount_;
  size_t& work_;
  OperationVisitor visit_;
  std::vector<State> states_;
  std::vector<uint32_t> scope_;  // values that are visible, innermost region last
  size_t defined_ = 0;
  size_t operations_ = 0;
};

}  // namespace

absl::Status verifyGraph(const Graph& graph, size_t weightCount, size_t& work,
                         OperationVisitor visit) {
  absl::Status status = GraphVerifier(graph, weightCount, work, visit).run();
  return status.ok() ? status
                     : annotate(status, absl::StrCat("graph ", inQuotes(textOf(graph.name()))));
}

absl::Status verifyGraph(const Graph& graph, size_t weightCount, size_t& work) {
  return verifyGraph(graph, weightCount, work,
                     [](const Operation&, absl::string_view) { return absl::OkStatus(); });
}

}  // namespace graphrun::format
