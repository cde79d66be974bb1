/* SPDX-License-Identifier: Apache-2.0
 * Preloaded by tests: makes reading of files whose path contains $HINDER_FILES fail or fall short.
 *   HINDER_SHORT=N  a read brings 1 … N bytes, by turns, and every third one is interrupted before it has any
 *   HINDER_AT=N     the read that reaches byte N of a file fails with EIO, as does every later one there
 * Such files cannot be mapped, so that all their bytes are read. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <unistd.h>

static int hindered(int descriptor) {
  char link[64], path[4096];
  const char* files = getenv("HINDER_FILES");
  if (files == NULL || descriptor < 0) return 0;
  snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  const ssize_t size = readlink(link, path, sizeof path - 1);
  if (size < 0) return 0;
  path[size] = '\0';
  return strstr(path, files) != NULL;
}

ssize_t pread(int descriptor, void* out, size_t size, off_t offset) {
  static __thread unsigned turn;
  ssize_t (*const real)(int, void*, size_t, off_t) = dlsym(RTLD_NEXT, "pread");
  if (hindered(descriptor)) {
    const char* at = getenv("HINDER_AT");
    const char* shortest = getenv("HINDER_SHORT");
    if (at != NULL && offset + (off_t)size > atoll(at)) {
      if (offset >= atoll(at)) {
        errno = EIO;
        return -1;
      }
      size = (size_t)(atoll(at) - offset);
    }
    if (shortest != NULL) {
      if (++turn % 3 == 0) {
        errno = EINTR;
        return -1;
      }
      const size_t most = 1 + turn % (unsigned)atoi(shortest);
      if (size > most) size = most;
    }
  }
  return real(descriptor, out, size, offset);
}

ssize_t pread64(int descriptor, void* out, size_t size, off_t offset) { return pread(descriptor, out, size, offset); }

void* mmap(void* address, size_t size, int protection, int flags, int descriptor, off_t offset) {
  void* (*const real)(void*, size_t, int, int, int, off_t) = dlsym(RTLD_NEXT, "mmap");
  if (hindered(descriptor)) {
    errno = ENODEV;
    return MAP_FAILED;
  }
  return real(address, size, protection, flags, descriptor, offset);
}

void* mmap64(void* address, size_t size, int protection, int flags, int descriptor, off_t offset) {
  return mmap(address, size, protection, flags, descriptor, offset);
}
