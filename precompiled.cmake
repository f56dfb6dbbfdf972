# Precompiled headers: what nearly every file includes, parsed once for each set of flags. They hold headers
# of other projects, so that a change of ours compiles what includes it and no more; the gr dialect alone is
# in the set of those who work on MLIR, as they all include it (ir/CMakeLists.txt). A file still includes what
# it uses: clang-tidy (tests/structure/tidy.py) reads every file without them.
set(GRAPHRUN_STANDARD_HEADERS
  <algorithm> <array> <atomic> <bit> <chrono> <cmath> <cstdint> <cstring> <filesystem> <fstream> <functional>
  <limits> <map> <memory> <mutex> <numeric> <optional> <random> <set> <string> <thread> <unordered_map>
  <utility> <vector>
  <absl/status/status.h> <absl/status/statusor.h> <absl/strings/escaping.h> <absl/strings/match.h>
  <absl/strings/numbers.h> <absl/strings/str_cat.h> <absl/strings/str_format.h> <absl/strings/str_join.h>
  <absl/strings/str_split.h> <absl/types/span.h>)
set(GRAPHRUN_MLIR_HEADERS
  <llvm/ADT/SetVector.h> <llvm/ADT/StringExtras.h> <llvm/ADT/StringMap.h> <llvm/ADT/TypeSwitch.h>
  <mlir/Bytecode/BytecodeOpInterface.h> <mlir/Dialect/Arith/IR/Arith.h> <mlir/Dialect/Func/IR/FuncOps.h>
  <mlir/IR/Builders.h> <mlir/IR/BuiltinOps.h> <mlir/IR/DialectImplementation.h>
  <mlir/IR/DialectResourceBlobManager.h> <mlir/IR/Matchers.h> <mlir/IR/OpImplementation.h>
  <mlir/IR/PatternMatch.h> <mlir/IR/TypeUtilities.h> <mlir/Interfaces/SideEffectInterfaces.h>
  <mlir/Pass/Pass.h>)

# What ccache and the compiler must agree on, or every file that uses such headers misses the cache.
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  set(GRAPHRUN_PRECOMPILED_OPTIONS -Xclang -fno-pch-timestamp)
else()
  set(GRAPHRUN_PRECOMPILED_OPTIONS -fpch-preprocess)
endif()

# Programs are compiled as libraries are, which makes one set of flags out of two.
set(CMAKE_CXX_COMPILE_OPTIONS_PIE ${CMAKE_CXX_COMPILE_OPTIONS_PIC})

# graphrun_precompiled(SET [HEADERS …] [LINK …]): makes a set of the standard headers and HEADERS, with the
# flags of LINK.
function(graphrun_precompiled set)
  cmake_parse_arguments(ARG "" "" "HEADERS;LINK" ${ARGN})
  set(source ${PROJECT_BINARY_DIR}/precompiled/${set}.cpp)
  file(CONFIGURE OUTPUT ${source} CONTENT "// Made for the headers that are precompiled with it.\n")
  add_library(gr_precompiled_${set} STATIC ${source})
  target_link_libraries(gr_precompiled_${set} PRIVATE ${ARG_LINK} absl::status absl::statusor absl::str_format)
  target_compile_options(gr_precompiled_${set} PRIVATE ${GRAPHRUN_PRECOMPILED_OPTIONS})
  target_precompile_headers(gr_precompiled_${set} PRIVATE ${GRAPHRUN_STANDARD_HEADERS} ${ARG_HEADERS})
endfunction()

# graphrun_use_precompiled(TARGET): with the set that GRAPHRUN_PRECOMPILED names in this folder, if any.
function(graphrun_use_precompiled target)
  if(GRAPHRUN_PRECOMPILED)
    target_compile_options(${target} PRIVATE ${GRAPHRUN_PRECOMPILED_OPTIONS})
    target_precompile_headers(${target} REUSE_FROM gr_precompiled_${GRAPHRUN_PRECOMPILED})
  endif()
endfunction()
