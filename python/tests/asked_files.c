/* SPDX-License-Identifier: Apache-2.0
 * Preloaded by tests: appends a line "CALL PATH" to $ASKED_LOG for each call about a file whose path ends in $ASKED_FILES. A
 * call about a descriptor is logged with the path of its file. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static void note(const char* call, const char* path) {
  char line[4200];
  const char* end = getenv("ASKED_FILES");
  const char* log = getenv("ASKED_LOG");
  if (end == NULL || log == NULL || path == NULL) return;
  const size_t size = strlen(path);
  if (size < strlen(end) || strcmp(path + size - strlen(end), end) != 0) return;
  const int length = snprintf(line, sizeof line, "%s %s\n", call, path);
  const long file = syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0) return;
  if (syscall(SYS_write, file, line, (size_t)length) != length) abort();
  syscall(SYS_close, file);
}

static void note_descriptor(const char* call, int descriptor) {
  char link[64], path[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  const long size = syscall(SYS_readlinkat, AT_FDCWD, link, path, sizeof path - 1);
  if (size < 0) return;
  path[size] = '\0';
  note(call, path);
}

#define REAL(type, name, ...) type (*const real)(__VA_ARGS__) = (type(*)(__VA_ARGS__))dlsym(RTLD_NEXT, name)

#define OPEN(name)                                       \
  int name(const char* path, int flags, ...) {           \
    REAL(int, #name, const char*, int, ...);             \
    va_list rest;                                        \
    va_start(rest, flags);                               \
    const mode_t mode = (flags & O_CREAT) ? va_arg(rest, mode_t) : 0; \
    va_end(rest);                                        \
    note("open", path);                                  \
    return real(path, flags, mode);                      \
  }
OPEN(open)
OPEN(open64)

#define OPEN_AT(name)                                    \
  int name(int folder, const char* path, int flags, ...) { \
    REAL(int, #name, int, const char*, int, ...);        \
    va_list rest;                                        \
    va_start(rest, flags);                               \
    const mode_t mode = (flags & O_CREAT) ? va_arg(rest, mode_t) : 0; \
    va_end(rest);                                        \
    note("open", path);                                  \
    return real(folder, path, flags, mode);              \
  }
OPEN_AT(openat)
OPEN_AT(openat64)

// What the checked builds of glibc call where no file can be made.
#define CHECKED_OPEN(name)                               \
  int name(const char* path, int flags) {                \
    REAL(int, #name, const char*, int);                  \
    note("open", path);                                  \
    return real(path, flags);                            \
  }
CHECKED_OPEN(__open_2)
CHECKED_OPEN(__open64_2)

#define CHECKED_OPEN_AT(name)                            \
  int name(int folder, const char* path, int flags) {    \
    REAL(int, #name, int, const char*, int);             \
    note("open", path);                                  \
    return real(folder, path, flags);                    \
  }
CHECKED_OPEN_AT(__openat_2)
CHECKED_OPEN_AT(__openat64_2)

#define STAT(name, type)                                 \
  int name(const char* restrict path, struct type* restrict out) { \
    REAL(int, #name, const char*, struct type*);         \
    note("stat", path);                                  \
    return real(path, out);                              \
  }
STAT(stat, stat)
STAT(stat64, stat64)
STAT(lstat, stat)
STAT(lstat64, stat64)

#define STAT_AT(name, type)                              \
  int name(int folder, const char* restrict path, struct type* restrict out, int flags) { \
    REAL(int, #name, int, const char*, struct type*, int); \
    note("stat", path);                                  \
    return real(folder, path, out, flags);               \
  }
STAT_AT(fstatat, stat)
STAT_AT(fstatat64, stat64)

#define STAT_OPEN(name, type)                            \
  int name(int descriptor, struct type* out) {           \
    REAL(int, #name, int, struct type*);                 \
    note_descriptor("fstat", descriptor);                \
    return real(descriptor, out);                        \
  }
STAT_OPEN(fstat, stat)
STAT_OPEN(fstat64, stat64)

int statx(int folder, const char* restrict path, int flags, unsigned mask, struct statx* restrict out) {
  REAL(int, "statx", int, const char*, int, unsigned, struct statx*);
  note("stat", path);
  return real(folder, path, flags, mask, out);
}

int access(const char* path, int mode) {
  REAL(int, "access", const char*, int);
  note("access", path);
  return real(path, mode);
}

int faccessat(int folder, const char* path, int mode, int flags) {
  REAL(int, "faccessat", int, const char*, int, int);
  note("access", path);
  return real(folder, path, mode, flags);
}

ssize_t readlink(const char* restrict path, char* restrict out, size_t size) {
  REAL(ssize_t, "readlink", const char*, char*, size_t);
  note("readlink", path);
  return real(path, out, size);
}

char* realpath(const char* restrict path, char* restrict out) {
  REAL(char*, "realpath", const char*, char*);
  note("realpath", path);
  return real(path, out);
}
