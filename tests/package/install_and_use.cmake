# cmake -D BUILD= -D SOURCE= -D EXAMPLES= -D SCRATCH= -D COMPILER= -D COMPONENTS= -D PYTHON=
#   -P install_and_use.cmake
# PYTHON: one with the package onnx; empty: the ONNX example is built but not run.
cmake_minimum_required(VERSION 3.25)
file(REMOVE_RECURSE ${SCRATCH})
function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${SCRATCH}/installed)
# Outside the tree: a copy, so that no header of the tree can be found by accident.
file(COPY ${SOURCE}/example ${EXAMPLES} DESTINATION ${SCRATCH})
string(REPLACE ";" "\\;" list "${COMPONENTS}")  # one argument of run()
run(${CMAKE_COMMAND} -G Ninja -S ${SCRATCH}/example -B ${SCRATCH}/build
    -D CMAKE_PREFIX_PATH=${SCRATCH}/installed -D CMAKE_CXX_COMPILER=${COMPILER}
    -D "COMPONENTS=${list}")
run(${CMAKE_COMMAND} --build ${SCRATCH}/build)
run(${SCRATCH}/build/example)
# The worker processes are those of the installed graphrun.
function(run_onnx_cluster)
  run(${PYTHON} ${SOURCE}/make_model.py ${SCRATCH}/model.onnx)
  execute_process(
    COMMAND ${CMAKE_COMMAND} -E env GRAPHRUN_CACHE_DIR=${SCRATCH}/cache
            "PATH=${SCRATCH}/installed/bin:$ENV{PATH}"
            ${SCRATCH}/build/onnx_cluster ${SCRATCH}/model.onnx ${SOURCE}/cluster.yaml
    OUTPUT_VARIABLE out TIMEOUT 60 COMMAND_ERROR_IS_FATAL ANY)
  message("${out}")
  foreach(expected "w0/cpu:0: [1-9]" "w1/cpu:0: [1-9]" "y: 1x2xf32 = 35.5 -10\n")
    if(NOT out MATCHES "${expected}")
      message(FATAL_ERROR "onnx_cluster: expected a line with '${expected}'")
    endif()
  endforeach()
endfunction()

if("compiler" IN_LIST COMPONENTS)
  run(${CMAKE_COMMAND} -E env GRAPHRUN_CACHE_DIR=${SCRATCH}/cache
      ${SCRATCH}/build/classifier ${SCRATCH}/model.fb)
  if(PYTHON)
    run_onnx_cluster()
  endif()
endif()
