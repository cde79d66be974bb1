# One test program per folder of tests that has *_test.cc, linked with the layer of that name (or all of them).
option(FOREBAY_LONG_TESTS "Every test in every build (make test-all), and not a sample of those that take long" OFF)
find_package(GTest REQUIRED)
file(GLOB support CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/support/*.cc)
if(support)
  add_library(test_support STATIC ${support})
  target_link_libraries(test_support PUBLIC forebay_config forebay_columns)
  target_include_directories(test_support PUBLIC ${CMAKE_SOURCE_DIR})
endif()
set(folders base config stores io columns expression queues sources decoders steps orders windows batchers combine
  engine/memory engine/requests engine/read engine/index engine/blocks engine/order engine/tickets engine/run launch plan plan/loader tools pipeline)
if(FOREBAY_SANITIZE STREQUAL "thread")
  # Threads live in src/engine, src/queues and src/stores only (tools/check_layout.py), so no race can be found where neither a part
  # of the engine nor a whole run is tested.
  set(folders stores queues engine/memory engine/requests engine/read engine/index engine/blocks engine/order engine/tickets engine/run tools pipeline)
endif()
if(FOREBAY_SANITIZE)
  set_target_properties(forebay_cli forebay_command PROPERTIES EXCLUDE_FROM_ALL ON)  # tested by python/tests, with the release build
endif()
# Whole runs take a sanitizer half an hour. The sample: for the address sanitizer what reads bad input and what hands memory on, for
# the thread sanitizer what waits, stops, and makes rows in several threads. Random pipelines (tests/pipelines) are a sample of the rest.
set(sample_address bad_input|batchers|changing_files|combine_rows|corrupt|bit_flips|early_rows|free_batches|hostile|images|own_windows|packed_windows|requested_whole_files|row_readers|skip_row|stretches|unmapped)
set(sample_thread combine|early_rows|fault|feed|fetch|functions|requested_files|requested_wait|requested_whole_files|restart|row_readers|same_stream|skip_row|stateful|stop|stretches|waiting|windows_batches)
foreach(folder ${folders})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/${folder}/*_test.cc)
  list(FILTER sources EXCLUDE REGEX allocations_test)
  if(folder STREQUAL "pipeline" AND FOREBAY_SANITIZE AND NOT FOREBAY_LONG_TESTS)
    if(FOREBAY_SANITIZE STREQUAL "thread")
      list(FILTER sources INCLUDE REGEX "/(${sample_thread})_test[.]cc$")
    else()
      list(FILTER sources INCLUDE REGEX "/(${sample_address})_test[.]cc$")
    endif()
  endif()
  if(sources)
    string(REPLACE "/" "_" name ${folder})
    add_executable(${name}_test ${sources})
    set(layer ${name})
    if(folder MATCHES "^(engine/.*|plan/.*|pipeline)$")
      set(layer tools)  # everything
    endif()
    target_link_libraries(${name}_test PRIVATE forebay_${layer} GTest::gtest_main GTest::gmock $<TARGET_NAME_IF_EXISTS:test_support>)
    target_include_directories(${name}_test PRIVATE ${CMAKE_SOURCE_DIR})
    # Tests are compiled to be compiled fast; what they test is not, in the release.
    if(folder MATCHES "^(io|engine/.*|plan|plan/.*|tools|pipeline)$" OR (FOREBAY_SANITIZE AND folder MATCHES "^(queues|sources|batchers|expression|launch)$"))
      target_compile_options(${name}_test PRIVATE -O0)  # long sources that leave the work to the library
    else()
      target_compile_options(${name}_test PRIVATE -O1)
    endif()
    # Whole programs, not test by test: under a sanitizer a process takes longer to start than most tests to run.
    set(shards 1)
    if(folder STREQUAL "pipeline")
      set(shards 16)
      set_target_properties(${name}_test PROPERTIES UNITY_BUILD_BATCH_SIZE 13)  # one source for all of it would keep one processor busy
    endif()
    math(EXPR last "${shards} - 1")
    foreach(shard RANGE ${last})
      add_test(NAME ${name}_${shard} COMMAND ${name}_test)
      set(environment "GTEST_TOTAL_SHARDS=${shards};GTEST_SHARD_INDEX=${shard}")
      if(FOREBAY_SANITIZE STREQUAL "thread" AND folder STREQUAL "engine/read")
        list(APPEND environment "GTEST_FILTER=-*RecordIndexTest*:Padding*:*FindCorruption*")  # one thread, and minutes of decompression
      endif()
      set_tests_properties(${name}_${shard} PROPERTIES TIMEOUT 900 ENVIRONMENT "${environment}")
    endforeach()
  endif()
endforeach()

# A CUDA runtime library without a GPU, for the tests of staging.
add_library(fake_cudart MODULE ${CMAKE_SOURCE_DIR}/tests/support/cuda/fake_cudart.cc)
target_include_directories(fake_cudart PRIVATE ${CMAKE_SOURCE_DIR})
set_target_properties(fake_cudart PROPERTIES CXX_VISIBILITY_PRESET default)
add_dependencies(engine_run_test fake_cudart)
target_compile_definitions(engine_run_test PRIVATE FOREBAY_FAKE_CUDART="$<TARGET_FILE:fake_cudart>")

# Every public header compiles alone; a sample is every fourth.
if(NOT FOREBAY_SANITIZE)
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS RELATIVE ${CMAKE_SOURCE_DIR}/include ${CMAKE_SOURCE_DIR}/include/*.h)
  set(number 0)
  foreach(header ${headers})
    math(EXPR number "(${number} + 1) % 4")
    if(NOT number EQUAL 1 AND NOT FOREBAY_LONG_TESTS)
      continue()
    endif()
    string(REPLACE "/" "_" name ${header})
    file(GENERATE OUTPUT ${CMAKE_BINARY_DIR}/headers/${name}.cc CONTENT "#include <${header}>\n")
    list(APPEND alone ${CMAKE_BINARY_DIR}/headers/${name}.cc)
  endforeach()
  add_library(public_headers OBJECT ${alone})
  target_link_libraries(public_headers PRIVATE forebay_options)
  target_compile_options(public_headers PRIVATE -O0)
  set_target_properties(public_headers PROPERTIES UNITY_BUILD OFF)
  if(EXISTS ${CMAKE_SOURCE_DIR}/include/forebay/forebay.h)
    add_subdirectory(examples/03_cpp_first_batch)
  endif()
endif()

# What the conformance vectors ask that Python has no door for (tests/conformance/ops_probe.py).
if(NOT FOREBAY_SANITIZE)
  file(GLOB probe CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/support/probe/*.cc)
  add_executable(forebay_probe ${probe})
  target_link_libraries(forebay_probe PRIVATE forebay_tools)
  target_include_directories(forebay_probe PRIVATE ${CMAKE_SOURCE_DIR})
endif()

# Replaces malloc to count calls, which only the plain C library allows.
if(NOT FOREBAY_SANITIZE)
  add_executable(allocations_test ${CMAKE_SOURCE_DIR}/tests/pipeline/allocations_test.cc)
  target_link_libraries(allocations_test PRIVATE forebay_tools GTest::gtest_main)
  target_include_directories(allocations_test PRIVATE ${CMAKE_SOURCE_DIR})
  add_test(NAME allocations COMMAND allocations_test)
endif()

# bench/take.cc, bench/take_batches.cc and bench/images.cc, built on demand.
add_executable(bench_take_batches EXCLUDE_FROM_ALL ${CMAKE_SOURCE_DIR}/bench/take_batches.cc)
target_link_libraries(bench_take_batches PRIVATE forebay_tools)
target_include_directories(bench_take_batches PRIVATE ${CMAKE_SOURCE_DIR}/src)
add_executable(bench_take EXCLUDE_FROM_ALL ${CMAKE_SOURCE_DIR}/bench/take.cc)
target_link_libraries(bench_take PRIVATE forebay_columns)
add_executable(bench_images EXCLUDE_FROM_ALL ${CMAKE_SOURCE_DIR}/bench/images.cc)
target_link_libraries(bench_images PRIVATE forebay_tools)
target_include_directories(bench_images PRIVATE ${CMAKE_SOURCE_DIR})

# bench/requests.cc, built on demand.
add_executable(bench_requests EXCLUDE_FROM_ALL ${CMAKE_SOURCE_DIR}/bench/requests.cc)
target_link_libraries(bench_requests PRIVATE forebay_tools)
target_include_directories(bench_requests PRIVATE ${CMAKE_SOURCE_DIR})
