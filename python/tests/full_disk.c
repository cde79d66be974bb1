/* SPDX-License-Identifier: Apache-2.0
 * Preloaded by tests: a disk that takes the first 400,000 bytes of the file of a cache, and cannot set bytes aside. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static int is_cache(int descriptor) {
  char link[64], path[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  const ssize_t size = readlink(link, path, sizeof path - 1);
  if (size < 0) return 0;
  path[size] = '\0';
  return strstr(path, "/parts-v1") != NULL;
}

static int refuse(int why) {
  errno = why;
  return -1;
}

int fallocate(int file, int mode, off_t at, off_t size) {
  (void)file, (void)mode, (void)at, (void)size;
  return refuse(EOPNOTSUPP);
}

int fallocate64(int file, int mode, off64_t at, off64_t size) {
  (void)file, (void)mode, (void)at, (void)size;
  return refuse(EOPNOTSUPP);
}

ssize_t pwrite(int file, const void* bytes, size_t size, off_t at) {
  ssize_t (*const real)(int, const void*, size_t, off_t) = (ssize_t(*)(int, const void*, size_t, off_t))dlsym(RTLD_NEXT, "pwrite");
  return is_cache(file) && at + (off_t)size > 400000 ? refuse(ENOSPC) : real(file, bytes, size, at);
}

ssize_t pwrite64(int file, const void* bytes, size_t size, off64_t at) {
  ssize_t (*const real)(int, const void*, size_t, off64_t) = (ssize_t(*)(int, const void*, size_t, off64_t))dlsym(RTLD_NEXT, "pwrite64");
  return is_cache(file) && at + (off64_t)size > 400000 ? refuse(ENOSPC) : real(file, bytes, size, at);
}
