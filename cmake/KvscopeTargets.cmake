# Helpers for the one list of targets in CMakeLists.txt.

# Warnings and the language, for our own code only.
add_library(kvscope_options INTERFACE)
# -Wno-restrict: g++ 12 warns falsely about std::string::insert and operator+ (GCC bug 105651).
target_compile_features(kvscope_options INTERFACE cxx_std_20)
target_compile_options(kvscope_options INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wshadow -Wnon-virtual-dtor -Wno-restrict>)
if(KVSCOPE_WARNINGS_ARE_ERRORS)
    target_compile_options(kvscope_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Werror>)
endif()
target_compile_definitions(kvscope_options INTERFACE QT_NO_KEYWORDS)
target_include_directories(kvscope_options INTERFACE ${PROJECT_SOURCE_DIR})

# kvscope_add_floor(name SOURCES ... LIBS ... [PRIVATE_LIBS ...] [ATEN])
# A static library kvscope_<name> with the alias kvscope::<name>. ATEN shares the precompiled header.
function(kvscope_add_floor name)
    cmake_parse_arguments(FLOOR "ATEN" "" "SOURCES;LIBS;PRIVATE_LIBS" ${ARGN})
    add_library(kvscope_${name} STATIC ${FLOOR_SOURCES})
    add_library(kvscope::${name} ALIAS kvscope_${name})
    target_link_libraries(kvscope_${name} PUBLIC kvscope_options ${FLOOR_LIBS} PRIVATE ${FLOOR_PRIVATE_LIBS})
    if(FLOOR_ATEN)
        target_link_libraries(kvscope_${name} PUBLIC kvscope::libtorch)
        target_precompile_headers(kvscope_${name} REUSE_FROM kvscope_aten_pch)
    endif()
endfunction()

# kvscope_add_test(path/tst_name LIBS ... [SLOW] [OFFSCREEN | XVFB])
# One Qt Test executable from tests/<path>.cpp.
function(kvscope_add_test path)
    cmake_parse_arguments(TEST "SLOW;OFFSCREEN;XVFB" "" "LIBS;SOURCES" ${ARGN})
    if(path MATCHES "^(widgets|app)/tst_" AND NOT KVSCOPE_GUI)
        return()
    endif()
    get_filename_component(name ${path} NAME)
    add_executable(${name} tests/${path}.cpp ${TEST_SOURCES})
    set_target_properties(${name} PROPERTIES AUTOMOC ON RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
    target_link_libraries(${name} PRIVATE kvscope_options ${TEST_LIBS} Qt6::Test)
    # Tests spend their time in the libraries; unoptimised they compile twice as fast.
    target_compile_options(${name} PRIVATE -O0)
    target_compile_definitions(${name} PRIVATE
        KVSCOPE_TEST_DATA="${PROJECT_SOURCE_DIR}/tests/golden" KVSCOPE_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
    # Idle worker threads sleep rather than spin: on a busy machine spinning makes a test thirty times slower.
    set(environment "OMP_WAIT_POLICY=passive")
    if(TEST_XVFB) # a real window on a virtual display
        add_test(NAME ${name} COMMAND xvfb-run -a -s "-screen 0 1440x900x24" $<TARGET_FILE:${name}>)
        list(APPEND environment "QT_QPA_PLATFORM=xcb")
    else()
        add_test(NAME ${name} COMMAND ${name})
    endif()
    set_tests_properties(${name} PROPERTIES TIMEOUT 600)
    if(TEST_SLOW)
        set_tests_properties(${name} PROPERTIES LABELS slow)
    endif()
    if(TEST_OFFSCREEN)
        list(APPEND environment "QT_QPA_PLATFORM=offscreen")
    endif()
    set_tests_properties(${name} PROPERTIES ENVIRONMENT "${environment}")
endfunction()
