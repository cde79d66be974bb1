/* SPDX-License-Identifier: Apache-2.0
 * Preloaded by tests: appends a byte to $SYNC_LOG for each call that waits until something is on the disk. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static void note(void) {
  const char* log = getenv("SYNC_LOG");
  if (log == NULL) return;
  const long file = syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0) return;
  if (syscall(SYS_write, file, "s", 1ul) != 1) abort();
  syscall(SYS_close, file);
}

int fsync(int descriptor) {
  note();
  return (int)syscall(SYS_fsync, descriptor);
}

int fdatasync(int descriptor) {
  note();
  return (int)syscall(SYS_fdatasync, descriptor);
}

int syncfs(int descriptor) {
  note();
  return (int)syscall(SYS_syncfs, descriptor);
}

void sync(void) {
  note();
  syscall(SYS_sync);
}
