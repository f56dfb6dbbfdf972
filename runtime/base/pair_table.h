// Small tables of pairs, as in "the library's name of each of our names".
#ifndef GRAPHRUN_RUNTIME_BASE_PAIR_TABLE_H_
#define GRAPHRUN_RUNTIME_BASE_PAIR_TABLE_H_

#include <cstddef>
#include <optional>
#include <utility>

namespace graphrun::runtime {

/// The value beside `key` in `table`, which is searched from its beginning; nothing where no row
/// has the key.
template <typename Key, typename Value, size_t N, typename Wanted>
constexpr std::optional<Value> valueFor(const std::pair<Key, Value> (&table)[N],
                                        const Wanted& key) {
  for (const auto& [known, value] : table) {
    if (known == key) {
      return value;
    }
  }
  return std::nullopt;
}

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_BASE_PAIR_TABLE_H_
