// The planner's explanation for people.
#ifndef GRAPHRUN_FRONTENDS_CLI_EXPLAIN_TEXT_H_
#define GRAPHRUN_FRONTENDS_CLI_EXPLAIN_TEXT_H_

#include <string>

namespace graphrun::cli {

/// Tables of devices, transfers and strategies from the JSON of placement/explain.h; parts that are
/// not there are left out. JSON that is none of it comes back as it is.
std::string explainText(const std::string& json);

/// The same for the JSON of GrCompilerApi::placeCosts.
std::string placeText(const std::string& json);

}  // namespace graphrun::cli

#endif  // GRAPHRUN_FRONTENDS_CLI_EXPLAIN_TEXT_H_
