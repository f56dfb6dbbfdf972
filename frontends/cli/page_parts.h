// The files of page/, put into the program when it is built.
#ifndef GRAPHRUN_FRONTENDS_CLI_PAGE_PARTS_H_
#define GRAPHRUN_FRONTENDS_CLI_PAGE_PARTS_H_

namespace graphrun::cli {

/// Each ends with a zero.
extern const char kPageHtml[];
extern const char kPageStyle[];
extern const char kPageScript[];

}  // namespace graphrun::cli

#endif  // GRAPHRUN_FRONTENDS_CLI_PAGE_PARTS_H_
