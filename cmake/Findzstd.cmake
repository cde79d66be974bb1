# zstd::libzstd: Debian's libzstd brings no CMake package. forebayConfig.cmake uses the installed copy of this file.
find_library(ZSTD_LIBRARY zstd)
find_path(ZSTD_INCLUDE zstd.h)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(zstd REQUIRED_VARS ZSTD_LIBRARY ZSTD_INCLUDE)
if(zstd_FOUND AND NOT TARGET zstd::libzstd)
  add_library(zstd::libzstd UNKNOWN IMPORTED)
  set_target_properties(zstd::libzstd PROPERTIES IMPORTED_LOCATION ${ZSTD_LIBRARY} INTERFACE_INCLUDE_DIRECTORIES ${ZSTD_INCLUDE})
endif()
