/*
 * Holds SQLite's write lock of a database in WAL mode, as another process does that is in a transaction: for up to a second, again
 * and again, until standard input ends.
 *
 *     lock DATABASE-shm MILLIS_MAX
 *
 * The lock is byte 120 of the shared-memory file (walFormat in SQLite's documentation, "WAL-Index File Locks": WAL_WRITE_LOCK).
 * Prints "held" when it holds the lock for the first time, which lasts until it can read a byte from its standard input; at the end the number of times that it held the lock, and the longest, in
 * milliseconds.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { WAL_WRITE_LOCK = 120 };

static int lock(int fd, short type) {
    struct flock lock = {.l_type = type, .l_whence = SEEK_SET, .l_start = WAL_WRITE_LOCK, .l_len = 1};
    return fcntl(fd, F_SETLKW, &lock);
}

/* Whether standard input has ended within the time. */
static int ended(int millis) {
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    return poll(&input, 1, millis) != 0;
}

int main(int count, char **words) {
    if (count != 3) return 2;
    int fd = open(words[1], O_RDWR), most = atoi(words[2]), times = 0, longest = 0;
    if (fd < 0 || most < 1) {
        perror(words[1]);
        return 1;
    }
    srand((unsigned)getpid());
    for (int done = 0; !done; times++) {
        /* The first is the longest, so that every run has one. */
        int millis = times ? 1 + rand() % most : most;
        if (lock(fd, F_WRLCK) != 0) {
            perror("lock");
            return 1;
        }
        if (!times) puts("held"), fflush(stdout);
        usleep((useconds_t)millis * 1000);
        char word;
        if (!times && read(STDIN_FILENO, &word, 1) < 0) return 1;
        if (lock(fd, F_UNLCK) != 0) {
            perror("unlock");
            return 1;
        }
        if (millis > longest) longest = millis;
        done = ended(100 + rand() % 400);
    }
    printf("%d %d\n", times, longest);
    return 0;
}
