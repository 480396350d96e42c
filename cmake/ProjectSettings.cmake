# Settings that every target of this project shares, and autotune_module().

# In another project these are that project's to choose.
if(PROJECT_IS_TOP_LEVEL)
  if(NOT CMAKE_BUILD_TYPE)
    set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
  endif()
  set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
  find_program(CCACHE_PROGRAM ccache)
  if(CCACHE_PROGRAM)
    set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE_PROGRAM})
  endif()
endif()

add_library(autotune_settings INTERFACE)
target_compile_features(autotune_settings INTERFACE cxx_std_20)
# In another project, whose flags may have -Werror, warnings of another compiler would end its build.
set(warnings "")
set(as_errors "")
if(PROJECT_IS_TOP_LEVEL)
  set(warnings -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wnon-virtual-dtor)
  set(as_errors $<$<BOOL:${AUTOTUNE_DEV}>:-Werror>)
endif()
target_compile_options(autotune_settings INTERFACE
  ${warnings}
  -Wno-missing-field-initializers  # designated initialisers leave the rest at its default
  ${as_errors}
  # GCC 12 takes members of std::regex for uninitialized when they are compiled under a sanitizer.
  $<$<AND:$<CXX_COMPILER_ID:GNU>,$<BOOL:${AUTOTUNE_SANITIZER}>>:-Wno-maybe-uninitialized>)
target_compile_definitions(autotune_settings INTERFACE
  $<$<BOOL:${BUILD_SHARED_LIBS}>:AUTOTUNE_SHARED>)
target_include_directories(autotune_settings INTERFACE
  ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/base ${PROJECT_SOURCE_DIR}/src
  ${PROJECT_SOURCE_DIR}/include
  ${PROJECT_BINARY_DIR}/include)
if(AUTOTUNE_SANITIZER STREQUAL "address")
  target_compile_options(autotune_settings INTERFACE -fsanitize=address,undefined
    -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(autotune_settings INTERFACE -fsanitize=address,undefined)
elseif(AUTOTUNE_SANITIZER STREQUAL "thread")
  target_compile_options(autotune_settings INTERFACE -fsanitize=thread -fno-omit-frame-pointer)
  target_link_options(autotune_settings INTERFACE -fsanitize=thread)
elseif(AUTOTUNE_SANITIZER)
  message(FATAL_ERROR "AUTOTUNE_SANITIZER is '${AUTOTUNE_SANITIZER}': use address or thread")
endif()
if(AUTOTUNE_PORTABLE)
  target_link_options(autotune_settings INTERFACE -static-libstdc++ -static-libgcc)
endif()

# autotune_module(NAME FOLDER DEPENDS module...): the static library autotune_NAME of all .cpp
# files below FOLDER, without main.cpp, which makes the program.
function(autotune_module name folder)
  cmake_parse_arguments(arg "" "" "DEPENDS" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${folder}/*.cpp)
  list(FILTER sources EXCLUDE REGEX "/main\\.cpp$")
  add_library(autotune_${name} STATIC ${sources})
  target_link_libraries(autotune_${name} PUBLIC autotune_settings)
  # A shared library is made of them, and exports the symbols that are marked AUTOTUNE_API.
  set_target_properties(autotune_${name} PROPERTIES
    POSITION_INDEPENDENT_CODE ON CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  foreach(module IN LISTS arg_DEPENDS)
    target_link_libraries(autotune_${name} PUBLIC autotune_${module})
  endforeach()
endfunction()
