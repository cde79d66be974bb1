# webp::webpdemux: Debian's libwebp brings no CMake package. forebayConfig.cmake uses the installed copy of this file.
find_library(WEBP_LIBRARY webp)
find_library(WEBP_DEMUX_LIBRARY webpdemux)
find_path(WEBP_INCLUDE webp/demux.h)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(webp REQUIRED_VARS WEBP_LIBRARY WEBP_DEMUX_LIBRARY WEBP_INCLUDE)
if(webp_FOUND AND NOT TARGET webp::webpdemux)
  add_library(webp::webpdemux UNKNOWN IMPORTED)
  set_target_properties(webp::webpdemux PROPERTIES IMPORTED_LOCATION ${WEBP_DEMUX_LIBRARY}
    INTERFACE_INCLUDE_DIRECTORIES ${WEBP_INCLUDE} INTERFACE_LINK_LIBRARIES ${WEBP_LIBRARY})
endif()
