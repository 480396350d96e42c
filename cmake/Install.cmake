# The program, the library with its public headers, and the package that find_package(autotune)
# reads.
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/autotune)

if(AUTOTUNE_BUILD_PROGRAM)
  install(TARGETS autotune_program RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
set(targets autotune)
if(NOT BUILD_SHARED_LIBS)
  list(APPEND targets autotune_zstd)
endif()
install(TARGETS ${targets} EXPORT autotuneTargets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/autotune ${PROJECT_BINARY_DIR}/include/autotune
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.hpp")
install(EXPORT autotuneTargets NAMESPACE autotune:: DESTINATION ${package_dir})

configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/autotuneConfig.cmake.in
  ${PROJECT_BINARY_DIR}/autotuneConfig.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/autotuneConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/autotuneConfig.cmake
              ${PROJECT_BINARY_DIR}/autotuneConfigVersion.cmake DESTINATION ${package_dir})
