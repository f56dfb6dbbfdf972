#include "placement/text/text_table.h"

#include <algorithm>

namespace graphrun::placement {

TextTable::TextTable(std::vector<std::string> titles) {
  for (std::string& title : titles) {
    right_.push_back(!title.empty() && title[0] == '>');
    if (right_.back()) {
      title.erase(0, 1);
    }
  }
  rows_.push_back(std::move(titles));
}

void TextTable::addRow(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }

std::string TextTable::text() const {
  std::vector<size_t> widths(right_.size(), 0);
  for (const auto& row : rows_) {
    for (size_t c = 0; c < row.size(); ++c) {
      widths[c] = std::max(widths[c], row[c].size());
    }
  }
  std::string out;
  for (const auto& row : rows_) {
    std::string line;
    for (size_t c = 0; c < row.size(); ++c) {
      std::string pad(widths[c] - row[c].size(), ' ');
      line += "  " + (right_[c] ? pad + row[c] : row[c] + pad);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  }
  return out;
}

}  // namespace graphrun::placement
