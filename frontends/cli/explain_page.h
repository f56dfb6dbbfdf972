// This writes an explanation as one page for a browser.
#ifndef GRAPHRUN_FRONTENDS_CLI_EXPLAIN_PAGE_H_
#define GRAPHRUN_FRONTENDS_CLI_EXPLAIN_PAGE_H_

#include <string>

#include "frontends/cli/explain_text.h"

namespace graphrun::cli {

/// The PageHeader is what the page says beside the explanation.
struct PageHeader {
  std::string title;    ///< of the model or the cost graph
  std::string command;  ///< that made it, to ask for more with
  TimeUnit unit;
};

/// PageExtras are what the page may have more.
struct PageExtras {
  std::string other;     ///< the explanation of another placement, to compare with; "": none
  std::string measured;  ///< JSON of what runs took (page/measured.js); "": nothing ran
};

/// A page that needs nothing but itself: style, script and data (page/). `explanation`: the JSON of
/// placement/explain/explain.h with details, as is that in `extras`. Names in it may hold anything.
std::string explainPage(const std::string& explanation, const PageHeader& header,
                        const PageExtras& extras = {});

}  // namespace graphrun::cli

#endif  // GRAPHRUN_FRONTENDS_CLI_EXPLAIN_PAGE_H_
