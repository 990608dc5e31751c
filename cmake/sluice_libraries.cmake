# What the library stands on, all from Debian.
find_package(Threads REQUIRED)
find_package(Eigen3 3.4 REQUIRED NO_MODULE)
find_package(Protobuf REQUIRED)
find_package(ONNX REQUIRED)
find_package(nlohmann_json REQUIRED)

# Debian's C++ Actor Framework has no CMake package. SLUICE_CAF_ROOT names another build of it, such as one
# instrumented for ThreadSanitizer.
set(SLUICE_CAF_ROOT "" CACHE PATH "Prefix of a C++ Actor Framework 0.17 other than the system's")
find_path(CAF_INCLUDE_DIR caf/all.hpp HINTS ${SLUICE_CAF_ROOT}/include REQUIRED)
find_library(CAF_CORE_LIBRARY caf_core HINTS ${SLUICE_CAF_ROOT}/lib REQUIRED)
find_library(CAF_IO_LIBRARY caf_io HINTS ${SLUICE_CAF_ROOT}/lib REQUIRED)
add_library(sluice_caf INTERFACE)
target_include_directories(sluice_caf SYSTEM INTERFACE $<BUILD_INTERFACE:${CAF_INCLUDE_DIR}>)
target_link_libraries(sluice_caf INTERFACE ${CAF_CORE_LIBRARY} ${CAF_IO_LIBRARY})

# oneDNN's package file asks for OpenCL, which the CPU engine does not need.
find_path(DNNL_INCLUDE_DIR oneapi/dnnl/dnnl.hpp REQUIRED)
find_library(DNNL_LIBRARY dnnl REQUIRED)
add_library(sluice_dnnl INTERFACE)
target_include_directories(sluice_dnnl SYSTEM INTERFACE ${DNNL_INCLUDE_DIR})
target_link_libraries(sluice_dnnl INTERFACE ${DNNL_LIBRARY})

# Files: .npz, pictures, sound. libzip's package file asks for programs that its development package lacks.
find_path(ZIP_INCLUDE_DIR zip.h REQUIRED)
find_library(ZIP_LIBRARY zip REQUIRED)
find_path(STB_INCLUDE_DIR stb_image.h PATH_SUFFIXES stb REQUIRED)
find_library(STB_LIBRARY stb REQUIRED)
find_path(SNDFILE_INCLUDE_DIR sndfile.h REQUIRED)
find_library(SNDFILE_LIBRARY sndfile REQUIRED)
add_library(sluice_files INTERFACE)
target_include_directories(sluice_files SYSTEM INTERFACE ${ZIP_INCLUDE_DIR} ${STB_INCLUDE_DIR} ${SNDFILE_INCLUDE_DIR})
target_link_libraries(sluice_files INTERFACE ${ZIP_LIBRARY} ${STB_LIBRARY} ${SNDFILE_LIBRARY})
