// A text table aligns the columns of reports.
#ifndef GRAPHRUN_PLACEMENT_TEXT_TEXT_TABLE_H_
#define GRAPHRUN_PLACEMENT_TEXT_TEXT_TABLE_H_

#include <string>
#include <vector>

namespace graphrun::placement {

/// Rows of cells, indented by two, columns two blanks apart. A column whose title starts with '>'
/// is aligned to the right. No blanks at line ends.
class TextTable {
 public:
  explicit TextTable(std::vector<std::string> titles);
  void addRow(std::vector<std::string> cells);
  std::string text() const;

 private:
  std::vector<bool> right_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace graphrun::placement

#endif  // GRAPHRUN_PLACEMENT_TEXT_TEXT_TABLE_H_
