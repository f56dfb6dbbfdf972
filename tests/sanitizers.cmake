# What the sanitizer builds compile and run: targets asan_tests and tsan_tests, labels asan and tsan.
#
#   preset    compiler  takes
#   asan      clang     the run world, importer and passes, and the fuzz targets, under ASan and UBSan
#   asan-gcc  GCC       the kernels of the CPU as the release build has them (a nightly run)
#   tsan      GCC       what has threads, workers and the calls between them too, under TSan
set(sanitizer_of_address asan)
set(sanitizer_of_thread tsan)
set(GRAPHRUN_SANITIZER "${sanitizer_of_${GRAPHRUN_SANITIZE}}")
if(NOT GRAPHRUN_SANITIZER)
  function(graphrun_sanitized name)
  endfunction()
  return()
endif()
add_custom_target(${GRAPHRUN_SANITIZER}_tests)
# Folders with all of their tests, and single tests.
set(GRAPHRUN_SANITIZED runtime/transport runtime/data runtime/executor runtime/control runtime/worker runtime/session
    runtime/training_loop cpu_threads_test)
if(GRAPHRUN_SANITIZER STREQUAL "asan")
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # Most kernels of the library are chosen only where regions of threads tell of NaN: GCC's do
    # (devices/cpu/threading/openmp_regions.cpp).
    set(GRAPHRUN_SANITIZED devices/cpu)
  else()
    # Without cpu_onednn_test, whose kernels are those of GCC's build.
    list(APPEND GRAPHRUN_SANITIZED runtime/base runtime/compiler_loader runtime/format runtime/memory runtime/training
         devices devices/cuda cpu_program_test cpu_reference_test frontends/cli
         fuzz ir lit_mlir multiprocess onnx_damage_test onnx_import_test passes)
  endif()
endif()

# TSan and gRPC, whose libraries are not built for it: what gRPC's queues order, tests/runtime/control/tsan_grpc.cpp
# says. What the libraries touch through memcpy, free and the like is left out of the tests in this list, and so is
# what our code touches through them, and the order of locks: TSan cannot tell who called. Reads and writes of our own
# code are watched in all tests, so a race in it is reported.
set(GRAPHRUN_CALLS_GRPC runtime/control cluster_test)

# Reports go to files: that of a worker which a test started, and which was to end anyway, would be
# lost otherwise. The last test of a run shows them and fails if there is one.
set(GRAPHRUN_REPORTS ${PROJECT_BINARY_DIR}/reports)
foreach(when setup cleanup)
  add_test(NAME sanitizer_reports_${when}
           COMMAND ${CMAKE_COMMAND} -D REPORTS=${GRAPHRUN_REPORTS} -D WHEN=${when}
                   -P ${CMAKE_CURRENT_SOURCE_DIR}/sanitizer_reports.cmake)
  string(TOUPPER FIXTURES_${when} fixture)
  set_tests_properties(sanitizer_reports_${when} PROPERTIES ${fixture} sanitizer_reports)
endforeach()

# intercept_tls_get_addr=0: the leak check guesses where the thread-local storage of a library that was
# loaded later begins, takes part of it for a header when it lies 16 bytes into a page, and dies of
# reading there (one run in twenty of a coordinator, which loads the compiler).
#
# allow_user_poisoning=0: allocators of LLVM's headers mark memory that LLVM's library, which has no checks,
# hands out without taking the mark away.
#
# graphrun_sanitized(NAME [TARGET]): puts a test into this build's sanitizer run, if it or its folder is in
# it. It runs TARGET, or the target of its own name.
function(graphrun_sanitized name)
  file(RELATIVE_PATH folder ${PROJECT_SOURCE_DIR}/tests ${CMAKE_CURRENT_SOURCE_DIR})
  if(NOT folder IN_LIST GRAPHRUN_SANITIZED AND NOT name IN_LIST GRAPHRUN_SANITIZED)
    return()
  endif()
  if(NOT ARGN)
    set(ARGN ${name})
  endif()
  add_dependencies(${GRAPHRUN_SANITIZER}_tests ${ARGN})
  set(log "log_path=${GRAPHRUN_REPORTS}/${name}")
  set(suppressions "suppressions=${PROJECT_SOURCE_DIR}/tests/tsan.supp")
  set(libraries 0)
  if(folder IN_LIST GRAPHRUN_CALLS_GRPC OR name IN_LIST GRAPHRUN_CALLS_GRPC)
    set(libraries 1)
  endif()
  set_property(TEST ${name} APPEND PROPERTY LABELS ${GRAPHRUN_SANITIZER})
  set_property(TEST ${name} APPEND PROPERTY FIXTURES_REQUIRED sanitizer_reports)
  set_property(TEST ${name} APPEND PROPERTY ENVIRONMENT
    "ASAN_OPTIONS=detect_stack_use_after_return=1:strict_string_checks=1:allow_user_poisoning=0:intercept_tls_get_addr=0:${log}"
    "LSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/tests/lsan.supp:print_suppressions=0"
    "UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1:${log}"
    "TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1:ignore_noninstrumented_modules=${libraries}:${suppressions}:${log}")
endfunction()
