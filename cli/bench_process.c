/* bench_process.c - work in a process of its own, so that its memory can be measured alone.
 *
 * What a program frees, its allocator keeps, and mapped files stay resident: within one process the
 * second case of a bench would begin with what the first one left. A process begins with none of
 * that, and the kernel says what it took. Results come back through memory that both share. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"

void *pk_bench_share(size_t bytes) {
    void *block =
        mmap(NULL, bytes + !bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return block == MAP_FAILED ? NULL : block;
}

void pk_bench_unshare(void *block, size_t bytes) {
    if (block) munmap(block, bytes + !bytes);
}

static _Noreturn void be_child(int (*work)(void *user), void *user) {
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* it ends with the parent */
    const int code = work(user);
    fflush(stderr);
    _exit(code);
}

int pk_bench_apart(const pk_cli *c, int (*work)(void *user), void *user, uint64_t *peak) {
    struct rusage used;
    int           how;
    fflush(stdout); /* or it would be written twice */
    const pid_t child = fork();
    if (child < 0) return pk_cli_fail(c, "cannot start a process: %s", strerror(errno));
    if (child == 0) be_child(work, user);
    while (wait4(child, &how, 0, &used) < 0)
        if (errno != EINTR) return pk_cli_fail(c, "lost a process: %s", strerror(errno));
    if (WIFSIGNALED(how))
        return pk_cli_fail(c, "the measurement was ended by a signal: %s",
                           strsignal(WTERMSIG(how)));
    *peak = (uint64_t)used.ru_maxrss * 1024; /* the kernel counts in KiB */
    return WEXITSTATUS(how);
}
