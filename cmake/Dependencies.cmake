# Everything the project is built from. All of it comes as Debian packages (scripts/setup).

find_package(Threads REQUIRED)

if(AUTOTUNE_PORTABLE)
  # SQLiteCpp's package asks for the shared SQLite; naming the archive first makes it link that.
  find_library(SQLite3_LIBRARY NAMES libsqlite3.a REQUIRED)
  find_library(ZSTD_LIBRARY NAMES libzstd.a REQUIRED)
else()
  find_library(ZSTD_LIBRARY NAMES zstd REQUIRED)
endif()
set(ZLIB_USE_STATIC_LIBS ${AUTOTUNE_PORTABLE})
find_package(SQLite3 REQUIRED)
find_package(SQLiteCpp REQUIRED)
if(AUTOTUNE_BUILD_PROGRAM)
  find_package(CLI11 REQUIRED)
  find_package(ZLIB REQUIRED)
  # Draws the plots of `autotune report`.
  find_file(CHART_JS chart.min.js PATHS /usr/share/javascript PATH_SUFFIXES chart.js REQUIRED)
endif()
find_package(fmt REQUIRED)
# As headers alone, fmt is compiled anew in every file that formats, which is most of a build: only
# for a program that is to run on other machines.
set(AUTOTUNE_FMT $<IF:$<BOOL:${AUTOTUNE_PORTABLE}>,fmt::fmt-header-only,fmt::fmt>)
find_package(nlohmann_json REQUIRED)

# Two small functions in assembler: not worth a shared library at run time.
set(Boost_USE_STATIC_LIBS ON)
find_package(Boost REQUIRED COMPONENTS context)

add_library(autotune_sqlite3 INTERFACE)
add_library(autotune::sqlite3 ALIAS autotune_sqlite3)
target_link_libraries(autotune_sqlite3 INTERFACE SQLite::SQLite3)

find_path(ZSTD_INCLUDE_DIR zstd.h REQUIRED)
add_library(autotune_zstd INTERFACE)
add_library(autotune::zstd ALIAS autotune_zstd)
target_link_libraries(autotune_zstd INTERFACE $<BUILD_INTERFACE:${ZSTD_LIBRARY}>
                                              $<INSTALL_INTERFACE:zstd>)
target_include_directories(autotune_zstd INTERFACE $<BUILD_INTERFACE:${ZSTD_INCLUDE_DIR}>)

find_path(XXHASH_INCLUDE_DIR xxhash.h REQUIRED)
add_library(autotune_xxhash INTERFACE)
add_library(autotune::xxhash ALIAS autotune_xxhash)
target_include_directories(autotune_xxhash INTERFACE $<BUILD_INTERFACE:${XXHASH_INCLUDE_DIR}>)

# cuda.h and nvrtc.h alone: driver and NVRTC are opened at run time. A toolkit has both in one
# folder, the wheels of CUDA 12 in two.
file(GLOB wheel_headers ${PROJECT_SOURCE_DIR}/.deps/cuda/nvidia/*/include)
foreach(header IN ITEMS cuda nvrtc)
  string(TOUPPER ${header} name)
  find_path(${name}_HEADER_DIR NAMES ${header}.h
    HINTS ${CUDAToolkit_ROOT}/include ENV CUDA_HOME ENV CUDA_PATH
    PATHS /usr/local/cuda/include ${wheel_headers}
    PATH_SUFFIXES include)
  if(NOT ${name}_HEADER_DIR)
    message(FATAL_ERROR "${header}.h was not found: run scripts/setup, or set ${name}_HEADER_DIR")
  endif()
endforeach()
set(CUDA_HEADERS_DIR ${CUDA_HEADER_DIR} ${NVRTC_HEADER_DIR})
list(REMOVE_DUPLICATES CUDA_HEADERS_DIR)
# CMake looks elsewhere for the CUDA runtime, which examples and tests use.
if(CUDA_HEADER_DIR IN_LIST wheel_headers)
  cmake_path(GET CUDA_HEADER_DIR PARENT_PATH CUDAToolkit_ROOT)
endif()
