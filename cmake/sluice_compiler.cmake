# How everything is compiled: standard, warnings, visibility, cache, sanitizers.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")

find_program(CCACHE ccache)
if(CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE})
endif()

# The baseline of the whole library; hot kernels are also built for more and picked at load.
add_compile_options(-march=x86-64-v2)

add_library(sluice_warnings INTERFACE)
target_compile_options(sluice_warnings INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion)

if(SLUICE_SANITIZER STREQUAL "address")
  add_compile_options(-O1 -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
  add_link_options(-fsanitize=address,undefined)
  add_compile_definitions(SLUICE_ASAN)
elseif(SLUICE_SANITIZER STREQUAL "thread")
  # With the sanitizer's code in between, g++ 12 takes std::optional's storage for uninitialised.
  add_compile_options(-O1 -fsanitize=thread -fno-omit-frame-pointer
                      $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
  add_link_options(-fsanitize=thread)
  add_compile_definitions(SLUICE_TSAN)
elseif(SLUICE_SANITIZER)
  message(FATAL_ERROR "SLUICE_SANITIZER is '${SLUICE_SANITIZER}': say address, thread or nothing")
endif()
# Adds sources to `target` once for each level of the x86-64 instruction set (devices/cpu_level.hpp). They see
# SLUICE_LEVEL (v2, v3 or v4) as the namespace to define everything in, and must be raw loops over pointers
# with internal linkage: an inline function of the standard library or Eigen that is compiled here for AVX
# could be the copy that the linker keeps for everybody.
function(sluice_add_levels target)
  foreach(level v2 v3 v4)
    set(objects ${target}_level_${level})
    add_library(${objects} OBJECT ${ARGN})
    target_compile_definitions(${objects} PRIVATE SLUICE_LEVEL=${level})
    target_compile_options(${objects} PRIVATE -march=x86-64-${level} -O3 -fopenmp-simd -fno-math-errno
                           -fno-trapping-math -ffp-contract=fast
                           $<$<CXX_COMPILER_ID:Clang>:-Wno-pass-failed>) # calls of libm stay scalar
    if(level STREQUAL v4)
      target_compile_options(${objects} PRIVATE -mprefer-vector-width=512)
    endif()
    target_include_directories(${objects} PRIVATE ${PROJECT_SOURCE_DIR}/include)
    target_link_libraries(${objects} PRIVATE sluice_warnings)
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:${objects}>)
  endforeach()
endfunction()
