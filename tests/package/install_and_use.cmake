# cmake -D BUILD= -D SOURCE= -D EXAMPLES= -D SCRATCH= -D COMPILER= -D COMPONENTS= -P install_and_use.cmake
cmake_minimum_required(VERSION 3.25)
file(REMOVE_RECURSE ${SCRATCH})
function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${SCRATCH}/installed)
# Outside the tree: a copy, so that no header of the tree can be found by accident.
file(COPY ${SOURCE} ${EXAMPLES} DESTINATION ${SCRATCH})
string(REPLACE ";" "\\;" list "${COMPONENTS}")  # one argument of run()
run(${CMAKE_COMMAND} -G Ninja -S ${SCRATCH}/example -B ${SCRATCH}/build
    -D CMAKE_PREFIX_PATH=${SCRATCH}/installed -D CMAKE_CXX_COMPILER=${COMPILER}
    -D "COMPONENTS=${list}")
run(${CMAKE_COMMAND} --build ${SCRATCH}/build)
run(${SCRATCH}/build/example)
if("compiler" IN_LIST COMPONENTS)
  run(${CMAKE_COMMAND} -E env GRAPHRUN_CACHE_DIR=${SCRATCH}/cache
      ${SCRATCH}/build/classifier ${SCRATCH}/model.fb)
endif()
