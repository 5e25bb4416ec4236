/* Makes every fsync and fdatasync take SLOW_FSYNC_US microseconds, as on disks whose flush is durable.
   Build: gcc -shared -fPIC -O2 -o slow_fsync.so slow_fsync.c -ldl; use: LD_PRELOAD=./slow_fsync.so program */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>

static void linger(void) {
    static long micros = -1;
    if (micros < 0) {
        const char *text = getenv("SLOW_FSYNC_US");
        micros = text ? atol(text) : 2000;
    }
    struct timespec pause = {micros / 1000000, (micros % 1000000) * 1000};
    nanosleep(&pause, NULL);
}

int fsync(int handle) {
    static int (*real)(int);
    if (!real) real = dlsym(RTLD_NEXT, "fsync");
    linger();
    return real(handle);
}

int fdatasync(int handle) {
    static int (*real)(int);
    if (!real) real = dlsym(RTLD_NEXT, "fdatasync");
    linger();
    return real(handle);
}
