#include "frontends/onnx/attributes.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "frontends/onnx/problems.h"

namespace graphrun::frontends {
namespace {

using ::onnx::AttributeProto;

std::string typeName(int type) {
  return AttributeProto::AttributeType_IsValid(type)
             ? AttributeProto::AttributeType_Name(static_cast<AttributeProto::AttributeType>(type))
             : absl::StrCat("attribute type ", type);
}

}  // namespace

Attributes::Attributes(::onnx::NodeProto& node, Report report) : report_(std::move(report)) {
  for (AttributeProto& attribute : *node.mutable_attribute()) {
    if (!attribute.ref_attr_name().empty()) {
      report_(absl::StrCat("attribute ", inQuotes(attribute.name()),
                           " refers to a function's attribute, expected a value"));
    } else if (!byName_.try_emplace(attribute.name(), &attribute).second) {
      report_(absl::StrCat("has two attributes ", inQuotes(attribute.name()), ", expected one"));
    }
  }
}

AttributeProto* Attributes::find(llvm::StringRef name, AttributeProto::AttributeType type) {
  asked_.insert(name);
  auto found = byName_.find(name);
  if (found == byName_.end()) {
    return nullptr;
  }
  if (found->second->type() != type) {
    report_(absl::StrCat("attribute ", inQuotes(name), " is of type ",
                         typeName(found->second->type()), ", expected ", typeName(type)));
    byName_.erase(found);
    return nullptr;
  }
  return found->second;
}

bool Attributes::has(llvm::StringRef name) { return byName_.contains(name); }

int64_t Attributes::integer(llvm::StringRef name, int64_t absent) {
  AttributeProto* attribute = find(name, AttributeProto::INT);
  return attribute ? attribute->i() : absent;
}

double Attributes::real(llvm::StringRef name, double absent) {
  AttributeProto* attribute = find(name, AttributeProto::FLOAT);
  return attribute ? attribute->f() : absent;
}

std::string Attributes::text(llvm::StringRef name, llvm::StringRef absent) {
  AttributeProto* attribute = find(name, AttributeProto::STRING);
  return attribute ? attribute->s() : absent.str();
}

llvm::SmallVector<int64_t> Attributes::integers(llvm::StringRef name) {
  AttributeProto* attribute = find(name, AttributeProto::INTS);
  return attribute ? llvm::SmallVector<int64_t>(attribute->ints().begin(), attribute->ints().end())
                   : llvm::SmallVector<int64_t>();
}

llvm::SmallVector<double> Attributes::reals(llvm::StringRef name) {
  AttributeProto* attribute = find(name, AttributeProto::FLOATS);
  return attribute
             ? llvm::SmallVector<double>(attribute->floats().begin(), attribute->floats().end())
             : llvm::SmallVector<double>();
}

llvm::SmallVector<llvm::StringRef> Attributes::texts(llvm::StringRef name) {
  AttributeProto* attribute = find(name, AttributeProto::STRINGS);
  return attribute ? llvm::SmallVector<llvm::StringRef>(attribute->strings().begin(),
                                                        attribute->strings().end())
                   : llvm::SmallVector<llvm::StringRef>();
}

::onnx::GraphProto* Attributes::graph(llvm::StringRef name) {
  AttributeProto* attribute = find(name, AttributeProto::GRAPH);
  return attribute ? attribute->mutable_g() : nullptr;
}

::onnx::TensorProto* Attributes::tensor(llvm::StringRef name) {
  AttributeProto* attribute = find(name, AttributeProto::TENSOR);
  return attribute ? attribute->mutable_t() : nullptr;
}

bool Attributes::require(llvm::StringRef name) {
  if (!has(name)) {
    asked_.insert(name);
    report_(absl::StrCat("misses the required attribute ", inQuotes(name)));
    return false;
  }
  return true;
}

void Attributes::ignore(std::initializer_list<llvm::StringRef> names) {
  asked_.insert(names.begin(), names.end());
}

void Attributes::reportUnread() {
  std::vector<std::string> known, unread;
  for (const auto& name : asked_) {
    known.push_back(name.getKey().str());
  }
  for (const auto& attribute : byName_) {
    if (!asked_.contains(attribute.getKey())) {
      unread.push_back(attribute.getKey().str());
    }
  }
  std::sort(known.begin(), known.end());
  std::sort(unread.begin(), unread.end());
  std::string expected = known.empty() ? "none" : absl::StrJoin(known, ", ");
  for (const std::string& name : unread) {
    report_(absl::StrCat("has an unknown attribute ", inQuotes(name), ", expected ", expected));
  }
}

}  // namespace graphrun::frontends
