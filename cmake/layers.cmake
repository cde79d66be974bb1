# One static library per folder of src; a layer may use only what it names (tools/check_layout.py checks the includes).
find_package(Threads REQUIRED)
find_package(ZLIB REQUIRED)
find_package(EXPAT REQUIRED)
find_path(CURL_INCLUDE_DIR curl/curl.h REQUIRED)  # headers only: the library is loaded when an address is read
find_package(BZip2 REQUIRED)
find_package(LibLZMA REQUIRED)
find_package(JPEG REQUIRED)
find_package(PNG REQUIRED)
find_package(GIF REQUIRED)
find_package(webp REQUIRED MODULE)
find_package(sndfile REQUIRED MODULE)
find_package(soxr REQUIRED MODULE)
find_package(mpg123 REQUIRED MODULE)
find_package(kissfft CONFIG REQUIRED COMPONENTS SHARED float)
find_package(fmt REQUIRED)
find_package(FastFloat REQUIRED)  # headers only
find_package(CLI11 REQUIRED)
find_package(isal REQUIRED MODULE)
find_package(zstd REQUIRED MODULE)

add_library(forebay_options INTERFACE)
target_include_directories(forebay_options INTERFACE ${CMAKE_SOURCE_DIR}/include)
target_compile_options(forebay_options INTERFACE -Wall -Wextra -Wpedantic -Wconversion -Wshadow
  -Wno-missing-field-initializers
  # GCC 12 takes "text" + std::string for copies that overlap (its bug 105651).
  $<$<AND:$<CXX_COMPILER_ID:GNU>,$<VERSION_LESS:$<CXX_COMPILER_VERSION>,13>>:-Wno-restrict>
  # -Wconversion of clang has -Wsign-conversion in it, that of g++ has not.
  $<$<CXX_COMPILER_ID:Clang>:-Wthread-safety;-Werror=thread-safety;-Wno-sign-conversion>)
target_link_libraries(forebay_options INTERFACE fmt::fmt Threads::Threads)
if(FOREBAY_SANITIZE)
  target_compile_options(forebay_options INTERFACE -fsanitize=${FOREBAY_SANITIZE}
    -fno-sanitize-recover=all -fno-omit-frame-pointer
    $<$<CXX_COMPILER_ID:Clang>:-fsanitize-ignorelist=${CMAKE_SOURCE_DIR}/fuzz/ignorelist.txt>)
  target_link_options(forebay_options INTERFACE -fsanitize=${FOREBAY_SANITIZE})
endif()

# The plug-ins: src/plugins.def has one line PLUGIN(kind, name) for each, made by src/kind/name.cc.
file(STRINGS ${CMAKE_SOURCE_DIR}/src/plugins.def FOREBAY_PLUGINS REGEX "^PLUGIN")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/plugins.def)
foreach(line ${FOREBAY_PLUGINS})
  string(REGEX REPLACE "^PLUGIN\\(([a-z_]+), ([a-z_0-9]+)\\).*" "\\1/\\2" plugin ${line})
  get_filename_component(kind ${plugin} DIRECTORY)
  get_filename_component(name ${plugin} NAME)
  file(GLOB plugin_source ${CMAKE_SOURCE_DIR}/src/${plugin}.cc ${CMAKE_SOURCE_DIR}/src/${kind}/*/${name}.cc)
  if(NOT plugin_source)
    message(FATAL_ERROR "src/plugins.def names ${plugin}, but there is no src/${plugin}.cc, nor one in a folder of src/${kind}")
  endif()
endforeach()

# forebay_layer(FOLDER [FOLDERS subfolder...] USES folder...): the library of src/FOLDER, and of those subfolders of it.
function(forebay_layer folder)
  cmake_parse_arguments(LAYER "" "" "FOLDERS;USES" ${ARGN})
  string(REPLACE "/" "_" name ${folder})
  set(patterns ${CMAKE_SOURCE_DIR}/src/${folder}/*.cc)
  foreach(inner ${LAYER_FOLDERS})
    list(APPEND patterns ${CMAKE_SOURCE_DIR}/src/${folder}/${inner}/*.cc)
  endforeach()
  file(GLOB sources CONFIGURE_DEPENDS ${patterns})
  if(sources)
    add_library(forebay_${name} STATIC ${sources})
    if(NOT FOREBAY_SANITIZE AND NOT name MATCHES "^(config|steps|orders|windows|engine_.*|launch|plan|tools)$")
      # The loops over bytes and elements: in one unit with others, GCC inlines less of them (2 to 3 % more instructions).
      set_target_properties(forebay_${name} PROPERTIES UNITY_BUILD OFF)
    endif()
    set_property(GLOBAL APPEND PROPERTY FOREBAY_LAYERS forebay_${name})
    set(kind PUBLIC)
  else()
    add_library(forebay_${name} INTERFACE)
    set(kind INTERFACE)
  endif()
  target_link_libraries(forebay_${name} ${kind} forebay_options)
  if(FOREBAY_SANITIZE AND name STREQUAL "engine_memory")
    target_compile_definitions(forebay_${name} PRIVATE FOREBAY_POISON)
  endif()
  if(FOREBAY_SANITIZE MATCHES "address" AND name MATCHES "^(base|io|columns|sources|decoders|engine_tickets)$")
    # Loops over bits, bytes and records, which tests wait for. All else is compiled to be compiled fast.
    target_compile_options(forebay_${name} PRIVATE -O1)
  endif()
  target_include_directories(forebay_${name} ${kind} ${CMAKE_SOURCE_DIR}/src)
  foreach(used ${LAYER_USES})
    string(REPLACE "/" "_" used ${used})
    target_link_libraries(forebay_${name} ${kind} forebay_${used})
  endforeach()
  if(name STREQUAL "engine_run")
    target_link_libraries(forebay_${name} ${kind} ${CMAKE_DL_LIBS})  # staging loads the CUDA runtime
  endif()
  if(name STREQUAL "steps")
    target_link_libraries(forebay_${name} ${kind} JPEG::JPEG PNG::PNG GIF::GIF webp::webpdemux sndfile::sndfile mpg123::mpg123 soxr::soxr kissfft::kissfft)
  endif()
  if(folder STREQUAL "stores")
    target_link_libraries(forebay_stores PUBLIC EXPAT::EXPAT)
  endif()
  if(name STREQUAL "io" OR name STREQUAL "columns" OR name STREQUAL "sources")
    target_link_libraries(forebay_${name} ${kind} isal::isal ZLIB::ZLIB zstd::libzstd BZip2::BZip2
      LibLZMA::LibLZMA)
  endif()
endfunction()

# The presets of CI compile a folder as one unit (CMAKE_UNITY_BUILD), which takes a third of the time; names are therefore
# unique in a folder, in anonymous namespaces too. Twins for one instruction set share theirs on purpose.
file(GLOB FOREBAY_TWINS ${CMAKE_SOURCE_DIR}/src/columns/*_avx*.cc ${CMAKE_SOURCE_DIR}/src/*/*/*_avx*.cc)
set_source_files_properties(${FOREBAY_TWINS} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
# Programs that do not stage on a GPU, such as the command, get no code that loads a library.
set_source_files_properties(${CMAKE_SOURCE_DIR}/src/engine/run/staging/cuda_runtime.cc ${CMAKE_SOURCE_DIR}/src/engine/run/staging/staging_cuda.cc
  ${CMAKE_SOURCE_DIR}/src/engine/run/staging/pinned_cuda.cc
  PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
