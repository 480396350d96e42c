# The program, the library with its public headers, and the package that find_package(autotune)
# reads. Each is a component, of which cmake/Packages.cmake makes packages.
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/autotune)

# All that is installed: scripts/autotune builds it, so that its build can be installed.
add_custom_target(autotune_installed)
add_dependencies(autotune_installed autotune)
if(AUTOTUNE_BUILD_PROGRAM)
  install(TARGETS autotune_program
          RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT program)
  # The program knows its manual pages and completions.
  set(share ${PROJECT_BINARY_DIR}/share)
  add_custom_command(OUTPUT ${share}/written
    COMMAND autotune_program manual --output ${share}
    COMMAND ${CMAKE_COMMAND} -E touch ${share}/written
    DEPENDS autotune_program VERBATIM)
  add_custom_target(autotune_manual ALL DEPENDS ${share}/written)
  add_dependencies(autotune_installed autotune_manual)
  install(DIRECTORY ${share}/ DESTINATION ${CMAKE_INSTALL_DATADIR} COMPONENT program
          PATTERN written EXCLUDE)
endif()
set(targets autotune)
if(NOT BUILD_SHARED_LIBS)
  list(APPEND targets autotune_zstd)
endif()
install(TARGETS ${targets} EXPORT autotuneTargets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library
        NAMELINK_COMPONENT development)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/autotune ${PROJECT_BINARY_DIR}/include/autotune
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development
        FILES_MATCHING PATTERN "*.hpp" PATTERN "*.h")
install(EXPORT autotuneTargets NAMESPACE autotune:: DESTINATION ${package_dir}
        COMPONENT development)

configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/autotuneConfig.cmake.in
  ${PROJECT_BINARY_DIR}/autotuneConfig.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/autotuneConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/autotuneConfig.cmake
              ${PROJECT_BINARY_DIR}/autotuneConfigVersion.cmake
        DESTINATION ${package_dir} COMPONENT development)

# pkg-config, for Makefiles. What a static library needs is under Libs.private: --static asks for it.
# The file finds the prefix from where it is, so that the prefix may be moved, unless it is outside of it.
if(IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}")
  set(pkgconfig_prefix ${CMAKE_INSTALL_PREFIX})
else()
  file(RELATIVE_PATH pkgconfig_to_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
  set(pkgconfig_prefix "\${pcfiledir}/${pkgconfig_to_prefix}")
endif()
foreach(folder IN ITEMS LIBDIR INCLUDEDIR)
  set(pkgconfig_${folder} "\${prefix}")
  cmake_path(APPEND pkgconfig_${folder} "${CMAKE_INSTALL_${folder}}")  # an absolute folder replaces it
endforeach()
set(pkgconfig_definitions "")
if(BUILD_SHARED_LIBS)
  set(pkgconfig_definitions " -DAUTOTUNE_SHARED")
endif()
configure_file(${PROJECT_SOURCE_DIR}/cmake/autotune.pc.in ${PROJECT_BINARY_DIR}/autotune.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/autotune.pc
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)

# Debian keeps a package's licence in the folder of that package. THIRD_PARTY has the notices of what
# is compiled into it.
set(package_of_program autotune)
set(package_of_library libautotune${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
set(package_of_development libautotune-dev)
foreach(component IN ITEMS program library development)
  install(FILES ${PROJECT_SOURCE_DIR}/LICENSE RENAME copyright COMPONENT ${component}
          DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${package_of_${component}})
  install(FILES ${PROJECT_SOURCE_DIR}/THIRD_PARTY COMPONENT ${component}
          DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${package_of_${component}})
endforeach()
include(Packages)
