# mpg123::mpg123: the library libmpg123, which brings no CMake package in Debian. forebayConfig.cmake uses the installed copy of this file.
find_library(MPG123_LIBRARY mpg123)
find_path(MPG123_INCLUDE mpg123.h)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(mpg123 REQUIRED_VARS MPG123_LIBRARY MPG123_INCLUDE)
if(mpg123_FOUND AND NOT TARGET mpg123::mpg123)
  add_library(mpg123::mpg123 UNKNOWN IMPORTED)
  set_target_properties(mpg123::mpg123 PROPERTIES IMPORTED_LOCATION ${MPG123_LIBRARY} INTERFACE_INCLUDE_DIRECTORIES ${MPG123_INCLUDE})
endif()
