# What is shipped is compiled so that an overwritten return address, a call of a wrong place and a copy past its end stop the program
# (docs/adr/0065). tools/check_hardening.py looks for it in the files. Builds for tests check indices of the standard library, too.
include(CheckCXXCompilerFlag)
check_cxx_compiler_flag(-fcf-protection=full FOREBAY_HAS_CET)

if(FOREBAY_SANITIZE)
  add_compile_definitions(_GLIBCXX_ASSERTIONS)
else()
  set(optimized $<CONFIG:Release,RelWithDebInfo,MinSizeRel>)
  add_compile_options(-fstack-protector-strong)
  add_compile_options("$<${optimized}:-U_FORTIFY_SOURCE;-D_FORTIFY_SOURCE=3>")  # needs an optimizing compiler
  add_compile_definitions($<$<CONFIG:Debug>:_GLIBCXX_ASSERTIONS>)
  if(FOREBAY_HAS_CET)
    add_compile_options(-fcf-protection=full)
  endif()
  add_link_options(LINKER:-z,relro LINKER:-z,now LINKER:-z,noexecstack)
endif()
