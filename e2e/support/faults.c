// Loaded before the C library: makes the calls fail that DECANT_FAULT names, as "CALL FAULT", which real file systems
// let fail too, but none that a test can have.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

/* Microseconds. */
#define SLOW 100000

/* What is shorter is no write of an image. */
#define LARGE 1024

static int asked(const char *fault) {
  const char *all = getenv("DECANT_FAULT");
  return all != NULL && strcmp(all, fault) == 0;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static int refuse(int error) {
  errno = error;
  return -1;
}

/* What is done, in its order: a line in the file DECANT_LOG. */
static void note(const char *line) {
  const char *path = getenv("DECANT_LOG");
  FILE *log = path == NULL ? NULL : fopen(path, "a");
  if (log == NULL) return;
  fprintf(log, "%s\n", line);
  fclose(log);
}

int fchmod(int fd, mode_t mode) { return asked("fchmod EPERM") ? refuse(EPERM) : REAL(fchmod)(fd, mode); }

int fchown(int fd, uid_t owner, gid_t group) {
  return asked("fchown EPERM") ? refuse(EPERM) : REAL(fchown)(fd, owner, group);
}

static int may_open(int flags) { return (flags & O_DIRECTORY) == 0 || !asked("folder EACCES"); }

int open(const char *path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  mode_t mode = va_arg(rest, mode_t);
  va_end(rest);
  return may_open(flags) ? REAL(open)(path, flags, mode) : refuse(EACCES);
}

int open64(const char *path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  mode_t mode = va_arg(rest, mode_t);
  va_end(rest);
  return may_open(flags) ? REAL(open64)(path, flags, mode) : refuse(EACCES);
}

static ssize_t faulty(int fd, const void *bytes, size_t count, off_t offset,
                      ssize_t (*real)(int, const void *, size_t, off_t)) {
  if (count >= LARGE && asked("write zero")) return 0;
  if (count >= LARGE && asked("write short")) count = count / 2 + 1;
  return real(fd, bytes, count, offset);
}

ssize_t pwrite(int fd, const void *bytes, size_t count, off_t offset) {
  return faulty(fd, bytes, count, offset, REAL(pwrite));
}

ssize_t pwrite64(int fd, const void *bytes, size_t count, off_t offset) {
  return faulty(fd, bytes, count, offset, REAL(pwrite64));
}

/* A disk that is slow to read, and whether the file is still the same when it has been read. */
static ssize_t slow(int fd, void *bytes, size_t count, off_t offset, ssize_t (*real)(int, void *, size_t, off_t)) {
  if (!asked("read slow")) return real(fd, bytes, count, offset);
  struct stat before, after;
  int was_open = fstat(fd, &before) == 0;
  note("read begins");
  usleep(SLOW);
  int same = was_open && fstat(fd, &after) == 0 && after.st_ino == before.st_ino && after.st_dev == before.st_dev;
  note(same ? "read" : "read after close");
  return real(fd, bytes, count, offset);
}

ssize_t pread(int fd, void *bytes, size_t count, off_t offset) { return slow(fd, bytes, count, offset, REAL(pread)); }

ssize_t pread64(int fd, void *bytes, size_t count, off_t offset) {
  return slow(fd, bytes, count, offset, REAL(pread64));
}

/* A file system that takes a length and forgets it. */
int ftruncate(int fd, off_t length) { return asked("truncate nothing") ? 0 : REAL(ftruncate)(fd, length); }
int ftruncate64(int fd, off_t length) { return asked("truncate nothing") ? 0 : REAL(ftruncate64)(fd, length); }

int fsync(int fd) {
  struct stat about;
  note(fstat(fd, &about) == 0 && S_ISDIR(about.st_mode) ? "fsync folder" : "fsync file");
  return asked("fsync EIO") ? refuse(EIO) : REAL(fsync)(fd);
}

/* A file system without hard links. */
int link(const char *from, const char *to) {
  note("link");
  return asked("link EPERM") ? refuse(EPERM) : REAL(link)(from, to);
}

int rename(const char *from, const char *to) {
  note("rename");
  return REAL(rename)(from, to);
}

/* A folder in which files may be made and not removed. */
int unlink(const char *path) { return asked("unlink EPERM") ? refuse(EPERM) : REAL(unlink)(path); }
