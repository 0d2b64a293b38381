/* Keeps what a disk would hold after a loss of power: loaded with LD_PRELOAD, it copies every file and every folder's names at
   the moment of their fsync to $POWER_KEPT, by inode, and ends the process at the $POWER_CUT-th one, before or after it. */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;
static int calls;

static void keep_file(int from, const char *to) {
    char path[64], block[65536];
    snprintf(path, sizeof path, "/proc/self/fd/%d", from);
    int in = open(path, O_RDONLY), out = open(to, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    ssize_t n;
    while (in >= 0 && out >= 0 && (n = read(in, block, sizeof block)) > 0)
        if (write(out, block, n) != n) abort();
    if (in < 0 || out < 0) abort();
    close(in), close(out);
}

static void keep_names(int of, const char *to) {
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", of);
    DIR *folder = opendir(path);
    FILE *out = fopen(to, "w");
    if (!folder || !out) abort();
    for (struct dirent *e; (e = readdir(folder));)
        if (strcmp(e->d_name, ".") && strcmp(e->d_name, ".."))
            fprintf(out, "%lu %c %s%c", (unsigned long)e->d_ino, e->d_type == DT_DIR ? 'd' : 'f', e->d_name, '\0');
    closedir(folder), fclose(out);
}

static void keep(int fd) {
    const char *kept = getenv("POWER_KEPT"), *cut = getenv("POWER_CUT");
    struct stat about;
    int before = errno;
    if (!kept || fstat(fd, &about)) return;
    pthread_mutex_lock(&one_at_a_time);
    char to[4096], part[4200];
    snprintf(to, sizeof to, "%s/%c%lu", kept, S_ISDIR(about.st_mode) ? 'd' : 'f', (unsigned long)about.st_ino);
    snprintf(part, sizeof part, "%s/part", kept);
    int number = ++calls, at = cut ? abs(atoi(cut)) : 0;
    if (at && number == at && atoi(cut) < 0) kill(getpid(), SIGKILL);  /* before it */
    S_ISDIR(about.st_mode) ? keep_names(fd, part) : keep_file(fd, part);
    if (rename(part, to)) abort();
    if (at && number == at) kill(getpid(), SIGKILL);
    errno = before;
    pthread_mutex_unlock(&one_at_a_time);
}

int fsync(int fd) {
    int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, "fsync");
    int done = real(fd);
    if (!done) keep(fd);
    return done;
}

int fdatasync(int fd) {
    int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, "fdatasync");
    int done = real(fd);
    if (!done) keep(fd);
    return done;
}
