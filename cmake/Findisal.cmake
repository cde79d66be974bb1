# isal::isal: ISA-L, which brings no CMake package of its own. forebayConfig.cmake uses the installed copy of this file.
find_library(ISAL_LIBRARY isal)
find_path(ISAL_INCLUDE isa-l/crc.h PATH_SUFFIXES isa-l)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(isal REQUIRED_VARS ISAL_LIBRARY ISAL_INCLUDE)
if(isal_FOUND AND NOT TARGET isal::isal)
  add_library(isal::isal UNKNOWN IMPORTED)
  set_target_properties(isal::isal PROPERTIES IMPORTED_LOCATION ${ISAL_LIBRARY} INTERFACE_INCLUDE_DIRECTORIES ${ISAL_INCLUDE})
endif()
