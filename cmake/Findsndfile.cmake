# sndfile::sndfile: the library libsndfile, which brings no CMake package in Debian. forebayConfig.cmake uses the installed copy of this file.
find_library(SNDFILE_LIBRARY sndfile)
find_path(SNDFILE_INCLUDE sndfile.h)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(sndfile REQUIRED_VARS SNDFILE_LIBRARY SNDFILE_INCLUDE)
if(sndfile_FOUND AND NOT TARGET sndfile::sndfile)
  add_library(sndfile::sndfile UNKNOWN IMPORTED)
  set_target_properties(sndfile::sndfile PROPERTIES IMPORTED_LOCATION ${SNDFILE_LIBRARY} INTERFACE_INCLUDE_DIRECTORIES ${SNDFILE_INCLUDE})
endif()
