/*
 * A disk that can lose power, fill up and fail, as a library to preload (LD_PRELOAD) for the tests of the database.
 *
 * It stands between SQLite and the C library and looks at the files whose names end in ".db", ".db-wal" or ".db-journal".
 *
 * Power loss: SAMPAN_SHIM_DURABLE names a folder with a copy of each file. What is written reaches the copy only when the file
 * is synced, so at any moment the copies are what a disk would hold that lost all that was not synced. What a sync has to copy
 * is remembered as ranges of bytes; cutting a file off counts as writing what was cut.
 *
 * Faults: SAMPAN_SHIM_CONTROL names a file of 4,096 bytes that is shared with the test:
 *   byte  0      'n': writes fail with ENOSPC; 'e': writes fail with EIO; 's': syncs fail with EIO;
 *                'r': opening to write fails with EROFS; 0: all is well
 *   byte  1      1: syncs take up to two milliseconds, as on a disk that is slow; 2: four tenths of a second; 3: as long as it
 *                is 3
 *   bytes 8..32  three counters of eight bytes each: writes seen, syncs seen, faults given
 * After a failed sync the ranges are forgotten: as Linux does it, what could not be written is not tried again, although reads
 * of this run still see it.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILES_MAX 16
#define DESCRIPTORS_MAX 65536
#define CONTROL_BYTES 4096
#define SLOW_MICROS_MAX 2000
#define VERY_SLOW_MICROS 400000
#define COPY_BYTES 65536

struct range {
    off_t from, to;
};

/* A file by its name: SQLite opens the same file once for each connection. */
struct file {
    char path[PATH_MAX];
    char durable[PATH_MAX];
    struct range *ranges;
    size_t count, room;
};

struct control {
    volatile char fault, slow, unused[6];
    uint64_t writes, syncs, faults;
};

static struct file files[FILES_MAX];
/* 0, or the file's place plus one. Read without the lock: a descriptor belongs to who opened it. */
static unsigned char file_of[DESCRIPTORS_MAX];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct control nothing, *control = &nothing;
static const char *durable_folder;

#define REAL(name) real_##name
#define FIND(type, name, ...)                                                                                                  \
    static type (*REAL(name))(__VA_ARGS__);                                                                                    \
    static void find_##name(void) {                                                                                            \
        if (!REAL(name)) REAL(name) = (type (*)(__VA_ARGS__))dlsym(RTLD_NEXT, #name);                                          \
    }

FIND(int, open64, const char *, int, ...)
FIND(int, openat64, int, const char *, int, ...)
FIND(int, close, int)
FIND(ssize_t, write, int, const void *, size_t)
FIND(ssize_t, pread64, int, void *, size_t, off_t)
FIND(ssize_t, pwrite64, int, const void *, size_t, off_t)
FIND(int, ftruncate64, int, off_t)
FIND(int, fsync, int)
FIND(int, fdatasync, int)
FIND(int, unlink, const char *)

static void die(const char *what) {
    /* A test must not pass because its disk did nothing. */
    fprintf(stderr, "powerloss: %s: %s\n", what, strerror(errno));
    abort();
}

static void find_all(void) {
    find_open64(), find_openat64(), find_close(), find_write(), find_pread64(), find_pwrite64();
    find_ftruncate64(), find_fsync(), find_fdatasync(), find_unlink();
}

__attribute__((constructor)) static void begin(void) {
    find_all();
    durable_folder = getenv("SAMPAN_SHIM_DURABLE");
    const char *path = getenv("SAMPAN_SHIM_CONTROL");
    if (!path) return;
    int fd = real_open64(path, O_RDWR | O_CLOEXEC);
    if (fd < 0) die(path);
    void *shared = mmap(NULL, CONTROL_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (shared == MAP_FAILED) die(path);
    control = shared;
    real_close(fd);
}

static void count(uint64_t *counter) { __atomic_fetch_add(counter, 1, __ATOMIC_RELAXED); }

static int ends_in(const char *text, const char *end) {
    size_t length = strlen(text), tail = strlen(end);
    return length >= tail && strcmp(text + length - tail, end) == 0;
}

static int is_watched(const char *path) {
    return ends_in(path, ".db") || ends_in(path, ".db-wal") || ends_in(path, ".db-journal");
}

/* The file of this name, a new place where there is none; nothing for names that are not watched. */
static struct file *file_named(const char *path) {
    if (!is_watched(path)) return NULL;
    struct file *file = files;
    while (file < files + FILES_MAX && file->path[0] && strcmp(file->path, path) != 0) file++;
    if (file == files + FILES_MAX) die("too many files");
    if (!file->path[0]) {
        const char *slash = strrchr(path, '/');
        snprintf(file->path, sizeof file->path, "%s", path);
        if (durable_folder) {
            int length = snprintf(file->durable, sizeof file->durable, "%s/%s", durable_folder, slash ? slash + 1 : path);
            if (length < 0 || (size_t)length >= sizeof file->durable) die("a name is too long");
        }
    }
    return file;
}

static int watch(int fd, const char *path) {
    if (fd < 0 || fd >= DESCRIPTORS_MAX) return fd;
    char whole[PATH_MAX];
    if (!is_watched(path) || !realpath(path, whole)) return fd;
    pthread_mutex_lock(&lock);
    struct file *file = file_named(whole);
    if (file) file_of[fd] = (unsigned char)(file - files + 1);
    pthread_mutex_unlock(&lock);
    return fd;
}

/* Whether the file may not be opened like this, `errno` then telling why. */
static int open_fails(const char *path, int flags) {
    if (control->fault != 'r' || (flags & O_ACCMODE) == O_RDONLY || !is_watched(path)) return 0;
    count(&control->faults);
    errno = EROFS;
    return 1;
}

static struct file *file_at(int fd) {
    if (fd < 0 || fd >= DESCRIPTORS_MAX || !file_of[fd]) return NULL;
    return &files[file_of[fd] - 1];
}

/* Called with the lock held, after the bytes are in the file: a sync in between must not take them for copied. */
static void remember(struct file *file, off_t from, off_t to) {
    if (!durable_folder || from >= to) return;
    struct range *last = file->count ? &file->ranges[file->count - 1] : NULL;
    if (last && from <= last->to && to >= last->from) {
        if (from < last->from) last->from = from;
        if (to > last->to) last->to = to;
        return;
    }
    if (file->count == file->room) {
        file->room = file->room ? 2 * file->room : 64;
        file->ranges = realloc(file->ranges, file->room * sizeof *file->ranges);
        if (!file->ranges) die("memory");
    }
    file->ranges[file->count++] = (struct range){from, to};
}

static void copy(int from, int to, struct range range) {
    static char bytes[COPY_BYTES]; /* under the lock */
    while (range.from < range.to) {
        size_t wanted = (size_t)(range.to - range.from) < sizeof bytes ? (size_t)(range.to - range.from) : sizeof bytes;
        ssize_t got = real_pread64(from, bytes, wanted, range.from);
        if (got < 0) die("reading what is to be synced");
        if (got == 0) return; /* cut off since */
        if (real_pwrite64(to, bytes, (size_t)got, range.from) != got) die("writing the durable copy");
        range.from += got;
    }
}

/* What a sync does: the copy becomes what the file is now. */
static void make_durable(struct file *file, int fd) {
    struct stat now;
    int to = real_open64(file->durable, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (to < 0 || fstat(fd, &now) != 0) die(file->durable);
    for (size_t i = 0; i < file->count; i++) copy(fd, to, file->ranges[i]);
    if (real_ftruncate64(to, now.st_size) != 0) die(file->durable);
    real_close(to);
    file->count = 0;
}

static void dawdle(void) {
    static __thread unsigned seed;
    if (!seed) seed = (unsigned)(uintptr_t)&seed ^ (unsigned)getpid();
    while (control->slow == 3) usleep(1000);
    if (control->slow == 2) usleep(VERY_SLOW_MICROS / 2);
    else if (control->slow) usleep((useconds_t)(rand_r(&seed) % (SLOW_MICROS_MAX / 2)));
}

static int synced(int fd, int (*real)(int)) {
    struct file *file = file_at(fd);
    if (!file) return real(fd);
    count(&control->syncs);
    dawdle();
    int failed = 0;
    pthread_mutex_lock(&lock);
    if (control->fault == 's') {
        count(&control->faults);
        file->count = 0;
        failed = 1;
    } else if (durable_folder) {
        make_durable(file, fd);
    }
    pthread_mutex_unlock(&lock);
    dawdle();
    if (failed) {
        errno = EIO;
        return -1;
    }
    /* With a copy the copy is what counts. */
    return durable_folder ? 0 : real(fd);
}

/* Whether this write fails, `errno` then telling why. */
static int write_fails(void) {
    count(&control->writes);
    char fault = control->fault;
    if (fault != 'n' && fault != 'e') return 0;
    count(&control->faults);
    errno = fault == 'n' ? ENOSPC : EIO;
    return 1;
}

static ssize_t written_at(int fd, const void *bytes, size_t length, off_t at) {
    find_all();
    struct file *file = file_at(fd);
    if (!file) return real_pwrite64(fd, bytes, length, at);
    if (write_fails()) return -1;
    pthread_mutex_lock(&lock);
    ssize_t done = real_pwrite64(fd, bytes, length, at);
    if (done > 0) remember(file, at, at + done);
    pthread_mutex_unlock(&lock);
    return done;
}

static int cut(int fd, off_t length) {
    find_all();
    struct file *file = file_at(fd);
    if (!file) return real_ftruncate64(fd, length);
    if (write_fails()) return -1;
    struct stat before;
    pthread_mutex_lock(&lock);
    int failed = fstat(fd, &before) != 0 || real_ftruncate64(fd, length) != 0;
    if (!failed) remember(file, length, before.st_size);
    pthread_mutex_unlock(&lock);
    return failed ? -1 : 0;
}

/* The C library's names. On this platform both widths of an offset are the same. */

#define MODE_OF(flags)                                                                                                         \
    mode_t mode = 0;                                                                                                           \
    if ((flags) & (O_CREAT | O_TMPFILE)) {                                                                                     \
        va_list rest;                                                                                                          \
        va_start(rest, flags);                                                                                                 \
        mode = va_arg(rest, mode_t);                                                                                           \
        va_end(rest);                                                                                                          \
    }

int open64(const char *path, int flags, ...) {
    MODE_OF(flags)
    find_open64();
    return open_fails(path, flags) ? -1 : watch(real_open64(path, flags, mode), path);
}

int open(const char *path, int flags, ...) {
    MODE_OF(flags)
    find_open64();
    return open_fails(path, flags) ? -1 : watch(real_open64(path, flags, mode), path);
}

int openat64(int folder, const char *path, int flags, ...) {
    MODE_OF(flags)
    find_openat64();
    return open_fails(path, flags) ? -1 : watch(real_openat64(folder, path, flags, mode), path);
}

int openat(int folder, const char *path, int flags, ...) {
    MODE_OF(flags)
    find_openat64();
    return open_fails(path, flags) ? -1 : watch(real_openat64(folder, path, flags, mode), path);
}

int close(int fd) {
    find_close();
    if (file_at(fd)) file_of[fd] = 0;
    return real_close(fd);
}

ssize_t write(int fd, const void *bytes, size_t length) {
    find_write();
    struct file *file = file_at(fd);
    if (!file) return real_write(fd, bytes, length);
    if (write_fails()) return -1;
    pthread_mutex_lock(&lock);
    off_t at = lseek(fd, 0, SEEK_CUR);
    ssize_t done = real_write(fd, bytes, length);
    if (done > 0) remember(file, at, at + done);
    pthread_mutex_unlock(&lock);
    return done;
}

ssize_t pwrite(int fd, const void *bytes, size_t length, off_t at) { return written_at(fd, bytes, length, at); }
ssize_t pwrite64(int fd, const void *bytes, size_t length, off_t at) { return written_at(fd, bytes, length, at); }
int ftruncate(int fd, off_t length) { return cut(fd, length); }
int ftruncate64(int fd, off_t length) { return cut(fd, length); }

int fsync(int fd) {
    find_fsync();
    return synced(fd, real_fsync);
}

int fdatasync(int fd) {
    find_fdatasync();
    return synced(fd, real_fdatasync);
}

int unlink(const char *path) {
    find_unlink();
    char whole[PATH_MAX];
    int known = is_watched(path) && realpath(path, whole) != NULL;
    int failed = real_unlink(path);
    if (known && !failed) {
        pthread_mutex_lock(&lock);
        struct file *file = file_named(whole);
        file->count = 0;
        if (durable_folder) real_unlink(file->durable);
        pthread_mutex_unlock(&lock);
    }
    return failed;
}
