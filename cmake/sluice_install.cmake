# cmake --install: library, headers as <sluice/FOLDER/file.hpp>, and a package for find_package(sluice).
include(CMakePackageConfigHelpers)

install(TARGETS sluice EXPORT sluice_targets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS sluice_caf EXPORT sluice_targets)
foreach(layer graph devices ops scheduler actors stream)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/${layer}/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/sluice/${layer}
          FILES_MATCHING PATTERN "*.hpp" PATTERN "graph/onnx" EXCLUDE) # graph/onnx shows protobuf types
endforeach()
file(GLOB umbrella_headers ${PROJECT_SOURCE_DIR}/include/sluice/*.hpp)
install(FILES ${umbrella_headers} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/sluice)

install(EXPORT sluice_targets NAMESPACE sluice:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/sluice)
configure_package_config_file(cmake/sluiceConfig.cmake.in sluiceConfig.cmake
                              INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/sluice)
write_basic_package_version_file(sluiceConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/sluiceConfig.cmake ${PROJECT_BINARY_DIR}/sluiceConfigVersion.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/sluice)
