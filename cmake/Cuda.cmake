# KVSCOPE_CUDA: AUTO builds the CUDA kernels where a compiler is found, ON insists, OFF never looks.
# Sets KVSCOPE_HAS_CUDA. The kernels are compiled for sm_80 (A100) and sm_90 (H100, H200), the latter also as PTX
# for newer devices.
set(KVSCOPE_CUDA AUTO CACHE STRING "Build the CUDA kernels: AUTO, ON or OFF")
set_property(CACHE KVSCOPE_CUDA PROPERTY STRINGS AUTO ON OFF)
set(KVSCOPE_HAS_CUDA OFF)
set(kvscope_no_cuda "")

if(KVSCOPE_CUDA)
    include(CheckLanguage)
    set(kvscope_log_level "${CMAKE_MESSAGE_LOG_LEVEL}")
    set(CMAKE_MESSAGE_LOG_LEVEL WARNING)
    check_language(CUDA)
    set(CMAKE_MESSAGE_LOG_LEVEL "${kvscope_log_level}")
    if(NOT CMAKE_CUDA_COMPILER)
        set(kvscope_no_cuda "no CUDA compiler (nvcc) was found")
    elseif(NOT EXISTS "${KVSCOPE_TORCH}/torch/lib/libtorch_cuda.so"
           OR NOT EXISTS "${KVSCOPE_TORCH}/nvidia/cu13/lib/libcudart.so.13")
        set(kvscope_no_cuda "this LibTorch was built without CUDA 13")
    else()
        set(CMAKE_CUDA_STANDARD 17)
        set(CMAKE_CUDA_STANDARD_REQUIRED ON)
        set(CMAKE_CUDA_ARCHITECTURES "80-real;90")
        enable_language(CUDA)
        if(NOT CMAKE_CUDA_COMPILER_VERSION MATCHES "^13\\.")
            set(kvscope_no_cuda "LibTorch's CUDA runtime is 13, nvcc is ${CMAKE_CUDA_COMPILER_VERSION}")
        else()
            set(KVSCOPE_HAS_CUDA ON)
        endif()
    endif()
    if(kvscope_no_cuda AND NOT KVSCOPE_CUDA STREQUAL "AUTO")
        message(FATAL_ERROR "KVSCOPE_CUDA is ${KVSCOPE_CUDA}, but ${kvscope_no_cuda}.")
    endif()
else()
    set(kvscope_no_cuda "KVSCOPE_CUDA is OFF")
endif()

if(KVSCOPE_HAS_CUDA)
    message(STATUS "CUDA kernels: sm_80 and sm_90, nvcc ${CMAKE_CUDA_COMPILER_VERSION}")
else()
    message(STATUS "CUDA kernels: none, this build runs on the CPU only (${kvscope_no_cuda})")
endif()

# kvscope_add_cuda_module(name SOURCES ...)
# A library that is loaded at run time where a GPU is asked for, linked with LibTorch's CUDA half.
function(kvscope_add_cuda_module name)
    cmake_parse_arguments(MODULE "" "" "SOURCES" ${ARGN})
    add_library(${name} MODULE ${MODULE_SOURCES})
    set_target_properties(${name} PROPERTIES
        LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib
        CUDA_RUNTIME_LIBRARY None # the wheel's own, below: one runtime in the process
        CXX_VISIBILITY_PRESET hidden
        CUDA_VISIBILITY_PRESET hidden)
    target_link_libraries(${name} PRIVATE kvscope_options kvscope::libtorch
        "${KVSCOPE_TORCH}/torch/lib/libtorch_cuda.so"
        "${KVSCOPE_TORCH}/torch/lib/libc10_cuda.so"
        "${KVSCOPE_TORCH}/nvidia/cu13/lib/libcudart.so.13")
    # Programs do not give it their symbols: what it calls of ours is compiled into it.
    target_link_options(${name} PRIVATE "LINKER:-z,defs" "LINKER:-rpath,${KVSCOPE_TORCH}/nvidia/cu13/lib")
    target_include_directories(${name} SYSTEM PRIVATE
        $<$<COMPILE_LANGUAGE:CXX>:${KVSCOPE_TORCH}/nvidia/cu13/include>)
    target_compile_options(${name} PRIVATE
        $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wall,-Wextra $<$<BOOL:${KVSCOPE_WARNINGS_ARE_ERRORS}>:-Werror=all-warnings>>)
endfunction()
