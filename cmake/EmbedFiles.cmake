# Text files become C++ strings at build time, so that an edit rebuilds what holds it.

# autotune_embed(TARGET SET name GLOB pattern [INCLUDES pattern]): compiles the files into TARGET,
# kernels with the headers that they include, which match the second pattern, in their place. The
# target can then call `std::span<const autotune::EmbeddedFile> autotune::embedded_<name>()`
# (base/core/embedded_file.hpp). Files are in alphabetical order, named without their folder.
# The texts of kernels are also in the build tree, as embedded/<kernel>.cu.
function(autotune_embed target)
  cmake_parse_arguments(arg "" "SET;GLOB;INCLUDES" "" ${ARGN})
  file(GLOB files CONFIGURE_DEPENDS ${arg_GLOB})
  set(included "")
  if(arg_INCLUDES)
    file(GLOB included CONFIGURE_DEPENDS ${arg_INCLUDES})
  endif()
  list(SORT files)
  set(output ${PROJECT_BINARY_DIR}/embedded/${arg_SET}.cpp)
  set(texts ${files})
  list(FILTER texts INCLUDE REGEX "\\.cu$")
  list(TRANSFORM texts REPLACE "^.*/" "${PROJECT_BINARY_DIR}/embedded/")
  add_custom_command(OUTPUT ${output} ${texts}
    COMMAND ${CMAKE_COMMAND} "-DFILES=${files}" -DSET=${arg_SET} -DOUTPUT=${output}
            -P ${PROJECT_SOURCE_DIR}/cmake/embed_files_script.cmake
    DEPENDS ${files} ${included} ${PROJECT_SOURCE_DIR}/cmake/embed_files_script.cmake
    VERBATIM)
  target_sources(${target} PRIVATE ${output})
endfunction()

# autotune_embed_packed(TARGET NAME FILE): compiles a file into TARGET, compressed with zstd. The target
# can then call `std::string_view autotune::packed_<name>()`.
function(autotune_embed_packed target name file)
  set(output ${PROJECT_BINARY_DIR}/embedded/packed_${name}.cpp)
  add_custom_command(OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -DFILE=${file} -DNAME=${name} -DOUTPUT=${output}
            -P ${PROJECT_SOURCE_DIR}/cmake/embed_packed_script.cmake
    DEPENDS ${file} ${PROJECT_SOURCE_DIR}/cmake/embed_packed_script.cmake
    VERBATIM)
  target_sources(${target} PRIVATE ${output})
endfunction()

# Every kernel_templates/<name>.cu needs a <name>.cpp that defines
# `std::vector<autotune::KernelTemplate> autotune::make_<name>(std::string_view source)`, the templates
# with that source; this writes the list.
function(autotune_generate_template_registry target)
  file(GLOB files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/kernel_templates/*.cu)
  list(SORT files)
  set(declarations "")
  set(entries "")
  set(index 0)
  foreach(file IN LISTS files)
    get_filename_component(name ${file} NAME_WE)
    string(APPEND declarations "std::vector<KernelTemplate> make_${name}(std::string_view source);\n")
    string(APPEND entries "    add(make_${name}(embedded_kernel_sources()[${index}].text));\n")
    math(EXPR index "${index} + 1")
  endforeach()
  configure_file(${PROJECT_SOURCE_DIR}/cmake/template_registry.cpp.in
                 ${PROJECT_BINARY_DIR}/embedded/template_registry.cpp @ONLY)
  target_sources(${target} PRIVATE ${PROJECT_BINARY_DIR}/embedded/template_registry.cpp)
endfunction()
