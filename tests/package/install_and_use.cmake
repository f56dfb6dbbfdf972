# cmake -D BUILD= -D SOURCE= -D SCRATCH= -D COMPILER= -D COMPONENTS= -P install_and_use.cmake
file(REMOVE_RECURSE ${SCRATCH})
function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${SCRATCH}/installed)
# Outside the tree: a copy, so that no header of the tree can be found by accident.
file(COPY ${SOURCE} DESTINATION ${SCRATCH})
run(${CMAKE_COMMAND} -G Ninja -S ${SCRATCH}/example -B ${SCRATCH}/build
    -D CMAKE_PREFIX_PATH=${SCRATCH}/installed -D CMAKE_CXX_COMPILER=${COMPILER}
    -D "COMPONENTS=${COMPONENTS}")
run(${CMAKE_COMMAND} --build ${SCRATCH}/build)
run(${SCRATCH}/build/example)
