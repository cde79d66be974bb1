# forebay::forebay: all layers as one static library. The doors link it, and see include/ only; `cmake --install` installs
# it with the headers, the command and a package for find_package(forebay).
set(FOREBAY_USES fmt::fmt Threads::Threads ZLIB::ZLIB EXPAT::EXPAT JPEG::JPEG PNG::PNG GIF::GIF webp::webpdemux isal::isal zstd::libzstd
  BZip2::BZip2 LibLZMA::LibLZMA sndfile::sndfile mpg123::mpg123 soxr::soxr kissfft::kissfft)

# With FOREBAY_BUILT: the libraries that lie in a build folder.
if(FOREBAY_BUILT)
  foreach(library forebay forebay_command)
    add_library(${library} STATIC IMPORTED)
    set_target_properties(${library} PROPERTIES IMPORTED_LOCATION ${FOREBAY_BUILT}/lib${library}.a)
  endforeach()
  add_library(forebay::forebay ALIAS forebay)
  target_include_directories(forebay INTERFACE ${CMAKE_SOURCE_DIR}/include)
  target_link_libraries(forebay INTERFACE ${FOREBAY_USES} ${CMAKE_DL_LIBS})
  target_link_libraries(forebay_command INTERFACE forebay)
endif()

function(forebay_package)
  get_property(layers GLOBAL PROPERTY FOREBAY_LAYERS)
  list(TRANSFORM layers REPLACE "(.+)" "$<TARGET_OBJECTS:\\1>" OUTPUT_VARIABLE objects)
  add_library(forebay STATIC ${objects})
  add_library(forebay::forebay ALIAS forebay)
  set_target_properties(forebay PROPERTIES LINKER_LANGUAGE CXX)
  target_include_directories(forebay PUBLIC $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/include> $<INSTALL_INTERFACE:include>)
  target_compile_features(forebay PUBLIC cxx_std_20)
  target_link_libraries(forebay PRIVATE ${FOREBAY_USES})
endfunction()

function(forebay_install)
  if(FOREBAY_SANITIZE)
    set_target_properties(forebay PROPERTIES EXCLUDE_FROM_ALL ON)
  elseif(NOT SKBUILD)  # a wheel holds the Python package alone
    include(GNUInstallDirs)
    include(CMakePackageConfigHelpers)
    set(folder ${CMAKE_INSTALL_LIBDIR}/cmake/forebay)
    configure_package_config_file(cmake/forebayConfig.cmake.in ${CMAKE_BINARY_DIR}/forebayConfig.cmake INSTALL_DESTINATION ${folder})
    write_basic_package_version_file(${CMAKE_BINARY_DIR}/forebayConfigVersion.cmake COMPATIBILITY SameMinorVersion)
    install(TARGETS forebay EXPORT forebayTargets)
    install(TARGETS forebay_cli)
    install(DIRECTORY include/forebay DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
    install(EXPORT forebayTargets NAMESPACE forebay:: DESTINATION ${folder})
    install(FILES ${CMAKE_BINARY_DIR}/forebayConfig.cmake ${CMAKE_BINARY_DIR}/forebayConfigVersion.cmake cmake/Findisal.cmake cmake/Findwebp.cmake cmake/Findzstd.cmake
      cmake/Findsndfile.cmake cmake/Findsoxr.cmake cmake/Findmpg123.cmake
      DESTINATION ${folder})
  endif()
endfunction()
