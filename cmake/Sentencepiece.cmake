# kvscope::sentencepiece, built by the scripts from PyPI's source package into KVSCOPE_SENTENCEPIECE.
# Debian 12's own is 0.1.97, whose model loader reads out of bounds (CVE-2026-1260, mended in 0.2.1).
set(KVSCOPE_SENTENCEPIECE "$ENV{KVSCOPE_SENTENCEPIECE}" CACHE PATH "Where sentencepiece 0.2.1 is installed")
if(NOT EXISTS "${KVSCOPE_SENTENCEPIECE}/lib/libsentencepiece_train.a")
    message(FATAL_ERROR "sentencepiece was not found in KVSCOPE_SENTENCEPIECE='${KVSCOPE_SENTENCEPIECE}'. "
        "scripts/run and scripts/test build it.")
endif()
add_library(kvscope_sentencepiece INTERFACE)
add_library(kvscope::sentencepiece ALIAS kvscope_sentencepiece)
target_include_directories(kvscope_sentencepiece SYSTEM INTERFACE "${KVSCOPE_SENTENCEPIECE}/include")
target_link_libraries(kvscope_sentencepiece INTERFACE "${KVSCOPE_SENTENCEPIECE}/lib/libsentencepiece.a")

# Making vocabularies, which only training needs.
add_library(kvscope_sentencepiece_trainer INTERFACE)
add_library(kvscope::sentencepiece_trainer ALIAS kvscope_sentencepiece_trainer)
target_link_libraries(kvscope_sentencepiece_trainer INTERFACE "${KVSCOPE_SENTENCEPIECE}/lib/libsentencepiece_train.a" kvscope_sentencepiece)
