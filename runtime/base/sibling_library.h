// Libraries that are loaded when they are first needed.
#ifndef GRAPHRUN_RUNTIME_BASE_SIBLING_LIBRARY_H_
#define GRAPHRUN_RUNTIME_BASE_SIBLING_LIBRARY_H_

#include <string>

namespace graphrun::runtime {

/// The file to load `library` ("libgraphrun-compiler.so") from: what the environment's `variable`
/// names, else the one beside the file that holds this function (libgraphrun.so, or a program with
/// the static libraries) or in the lib folder beside its bin, else the bare name, which the dynamic
/// linker looks for.
std::string findSiblingLibrary(const char* library, const char* variable);

/// Gives back the memory of the code and constants of the library that holds `function`: tens of
/// MiB for one that is large and done for now. What is used of them later is read from the file
/// again. Does nothing for an address of no library.
void releaseCode(const void* function);

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_BASE_SIBLING_LIBRARY_H_
