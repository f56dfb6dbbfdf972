// This writes the planner's explanation for people.
#ifndef GRAPHRUN_FRONTENDS_CLI_EXPLAIN_TEXT_H_
#define GRAPHRUN_FRONTENDS_CLI_EXPLAIN_TEXT_H_

#include <cstdint>
#include <string>

namespace graphrun::cli {

/// Tables of devices, transfers and strategies from the JSON of placement/explain/explain.h; parts
/// that are not there are left out. JSON that is none of it comes back as it is.
std::string explainText(const std::string& json);

/// Tables of devices for the JSON of GrCompilerApi::placeCosts.
std::string placeText(const std::string& json);

/// In which times are told; those of cost graphs may have one of their own.
struct TimeUnit {
  std::string name = "ns";  ///< "ns": the best one for each, from ns to s
  int64_t ns = 1;
};

/// Why the nodes in "choices" of explainText's JSON are where they are.
std::string choicesText(const std::string& json, const TimeUnit& unit = {});

}  // namespace graphrun::cli

#endif  // GRAPHRUN_FRONTENDS_CLI_EXPLAIN_TEXT_H_
