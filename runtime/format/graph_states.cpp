#include "runtime/format/graph_states.h"

#include <optional>

#include "runtime/format/weight_table.h"

namespace graphrun::format {
namespace {

/// The index of an operation's name; nothing where the graph has no such operation.
std::optional<uint32_t> nameIn(const Graph& graph, absl::string_view name) {
  for (uint32_t i = 0; i < sizeOf(graph.op_names()); ++i) {
    if (textOf(graph.op_names()->Get(i)) == name) {
      return i;
    }
  }
  return std::nullopt;
}

std::optional<GraphState> stateOf(const Operation& operation) {
  std::optional<std::string> name;
  std::optional<uint32_t> first;
  for (uint32_t i = 0; i < sizeOf(operation.attributes()); ++i) {
    const Attribute& attribute = *operation.attributes()->Get(i);
    const String* text = attribute.value_as_String();
    const Weight* weight = attribute.value_as_Weight();
    if (text != nullptr && textOf(attribute.name()) == kStateName) {
      name = std::string(textOf(text->value()));
    }
    if (weight != nullptr && textOf(attribute.name()) == kStateFirst) {
      first = weight->index();
    }
  }
  return name && first ? std::optional<GraphState>({*name, *first}) : std::nullopt;
}

}  // namespace

std::vector<GraphState> statesOf(const Graph& graph) {
  std::vector<GraphState> states;
  const std::optional<uint32_t> name = nameIn(graph, kStateOp);
  if (!name) {
    return states;
  }
  const auto* operations = graph.body()->operations();
  for (uint32_t i = 0; i < sizeOf(operations); ++i) {
    if (operations->Get(i)->name() == *name) {
      if (std::optional<GraphState> state = stateOf(*operations->Get(i))) {
        states.push_back(*std::move(state));
      }
    }
  }
  return states;
}

bool updatesStates(const Graph& graph) {
  const std::optional<uint32_t> name = nameIn(graph, kUpdateOp);
  const auto* operations = graph.body()->operations();
  for (uint32_t i = 0; name && i < sizeOf(operations); ++i) {
    if (operations->Get(i)->name() == *name) {
      return true;
    }
  }
  return false;
}

}  // namespace graphrun::format
