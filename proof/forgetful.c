/* Notes which files were written, synced and named, so that a power cut can be acted out.

   cc -shared -fPIC -o forgetful.so forgetful.c -ldl
   FORGETFUL_LOG=log LD_PRELOAD=./forgetful.so program

   Lines of the log: W inode (written), S inode size (synced), N inode-of-folder path (new name). */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define REAL(name) static __typeof__(&name) real; if (!real) real = dlsym(RTLD_NEXT, #name)

static void note(const char *format, ...) {
    static int log = -1;
    int kept = errno;
    const char *path = getenv("FORGETFUL_LOG");
    if (log < 0 && path)
        log = syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    char line[PATH_MAX + 64];
    va_list rest;
    va_start(rest, format);
    int length = vsnprintf(line, sizeof line, format, rest);
    va_end(rest);
    if (log >= 0) syscall(SYS_write, log, line, length);
    errno = kept;
}

static void note_file(char what, int file) {
    struct stat is;
    int kept = errno;
    if (!fstat(file, &is) && (S_ISREG(is.st_mode) || S_ISDIR(is.st_mode)))
        note("%c %lu %ld\n", what, (unsigned long)is.st_ino, (long)is.st_size);
    errno = kept;
}

static void note_name(const char *path) {
    char whole[PATH_MAX], folder[PATH_MAX];
    struct stat is;
    int kept = errno;
    if (realpath(path, whole)) {
        strcpy(folder, whole);
        if (!stat(dirname(folder), &is)) note("N %lu %s\n", (unsigned long)is.st_ino, whole);
    }
    errno = kept;
}

ssize_t write(int file, const void *from, size_t size) {
    REAL(write);
    ssize_t done = real(file, from, size);
    if (done > 0) note_file('W', file);
    return done;
}

ssize_t pwrite64(int file, const void *from, size_t size, off64_t at) {
    REAL(pwrite64);
    ssize_t done = real(file, from, size, at);
    if (done > 0) note_file('W', file);
    return done;
}

ssize_t writev(int file, const struct iovec *parts, int count) {
    REAL(writev);
    ssize_t done = real(file, parts, count);
    if (done > 0) note_file('W', file);
    return done;
}

int fsync(int file) {
    REAL(fsync);
    int done = real(file);
    if (!done) note_file('S', file);
    return done;
}

int fdatasync(int file) {
    REAL(fdatasync);
    int done = real(file);
    if (!done) note_file('S', file);
    return done;
}

int rename(const char *from, const char *to) {
    REAL(rename);
    int existed = !access(to, F_OK), done = real(from, to);
    if (!done && !existed) note_name(to);
    return done;
}

#define OPEN(name)                                                                        \
    int name(const char *path, int flags, ...) {                                          \
        REAL(name);                                                                       \
        va_list rest;                                                                     \
        va_start(rest, flags);                                                            \
        mode_t mode = flags & O_CREAT ? va_arg(rest, mode_t) : 0;                         \
        va_end(rest);                                                                     \
        int made = flags & O_CREAT && access(path, F_OK), file = real(path, flags, mode); \
        if (file >= 0 && made) note_name(path);                                           \
        return file;                                                                      \
    }
OPEN(open)
OPEN(open64)
