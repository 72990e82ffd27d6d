/* memory_use.c - how much memory this process has, and how much it may have. */
#include "memory_use.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

/* a number that a file of the kernel holds; 0: none */
static uint64_t read_number(const char *path, const char *format) {
    uint64_t number = 0;
    FILE    *file = fopen(path, "re");
    if (!file) return 0;
    if (fscanf(file, format, &number) != 1) number = 0;
    fclose(file);
    return number;
}

uint64_t pk_memory_used(void) {
    return read_number("/proc/self/statm", "%*u %" SCNu64) * (uint64_t)sysconf(_SC_PAGESIZE);
}

uint64_t pk_memory_there(void) {
    const uint64_t machine = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    const uint64_t group = read_number("/sys/fs/cgroup/memory.max", "%" SCNu64);
    return group && group < machine ? group : machine;
}
