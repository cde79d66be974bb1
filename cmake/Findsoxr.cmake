# soxr::soxr: the library soxr, which brings no CMake package in Debian. forebayConfig.cmake uses the installed copy of this file.
find_library(SOXR_LIBRARY soxr)
find_path(SOXR_INCLUDE soxr.h)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(soxr REQUIRED_VARS SOXR_LIBRARY SOXR_INCLUDE)
if(soxr_FOUND AND NOT TARGET soxr::soxr)
  add_library(soxr::soxr UNKNOWN IMPORTED)
  set_target_properties(soxr::soxr PROPERTIES IMPORTED_LOCATION ${SOXR_LIBRARY} INTERFACE_INCLUDE_DIRECTORIES ${SOXR_INCLUDE})
endif()
