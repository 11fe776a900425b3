# kvscope::libtorch, the C++ library inside PyTorch's wheel, as an imported target.
#
# The wheel's own CMake package is not used: it stops where there is no CUDA compiler, and asks for one
# even where only the CPU half is linked. KVSCOPE_TORCH is the folder that holds torch/ (scripts/run and
# scripts/test pass it).
set(KVSCOPE_TORCH "$ENV{KVSCOPE_TORCH}" CACHE PATH "Folder that holds the torch wheel's torch/")
if(NOT EXISTS "${KVSCOPE_TORCH}/torch/lib/libtorch_cpu.so")
    message(FATAL_ERROR "LibTorch was not found in KVSCOPE_TORCH='${KVSCOPE_TORCH}'. "
        "scripts/run and scripts/test install it; or pass -DKVSCOPE_TORCH=FOLDER "
        "after pip install --target FOLDER torch==2.11.0")
endif()

add_library(kvscope_libtorch INTERFACE)
add_library(kvscope::libtorch ALIAS kvscope_libtorch)
target_include_directories(kvscope_libtorch SYSTEM INTERFACE "${KVSCOPE_TORCH}/torch/include")
# at::parallel_for is a header template that runs serially unless compiled for OpenMP. The wheel brings
# its own libgomp; linking that one keeps a single pool of threads in the process.
target_compile_options(kvscope_libtorch INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-fopenmp>)
target_link_libraries(kvscope_libtorch INTERFACE
    "${KVSCOPE_TORCH}/torch/lib/libtorch_cpu.so"
    "${KVSCOPE_TORCH}/torch/lib/libc10.so"
    "${KVSCOPE_TORCH}/torch/lib/libgomp.so.1")
# The wheel's libraries find their CUDA siblings by their own rpath, which ld does not follow.
target_link_options(kvscope_libtorch INTERFACE
    "LINKER:--allow-shlib-undefined" "LINKER:-rpath,${KVSCOPE_TORCH}/torch/lib")
