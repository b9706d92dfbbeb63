/* SPDX-License-Identifier: Apache-2.0
 *
 * Processes that take turns, so that all that is compared sees the same machine. Asked
 * with a byte, a peer does what the byte stands for and answers with a double, most often
 * a time; it ends when nobody can ask any more.
 */
#ifndef VP_BENCH_PEER_H
#define VP_BENCH_PEER_H

#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct {
    pid_t process;
    int to, from;
    bool here; /* it has always answered; whoever asks ignores SIGPIPE */
} peer;

/* Forks: 0 in the peer, which gets the ends it serves. */
static inline pid_t peer_start(peer *p, int *in, int *out) {
    int ask[2], answer[2];
    if (pipe2(ask, O_CLOEXEC) || pipe2(answer, O_CLOEXEC)) exit(1);
    const pid_t child = fork();
    if (child < 0) exit(1);
    *p = (peer){child, ask[1], answer[0], true};
    *in = ask[0];
    *out = answer[1];
    close(child ? ask[0] : ask[1]);
    close(child ? answer[1] : answer[0]);
    return child;
}

/* A peer that is another program, with one or two arguments, and serves its standard
 * input and output. */
static inline _Noreturn void peer_become(int in, int out, const char *program,
                                         const char *first, const char *second) {
    if (dup2(in, 0) == 0 && dup2(out, 1) == 1)
        execlp(program, program, first, second, (char *)NULL);
    _exit(1);
}

static inline void peer_serve(int in, int out, double (*turn)(int number)) {
    unsigned char number;
    while (read(in, &number, 1) == 1) {
        const double answer = turn(number);
        if (write(out, &answer, sizeof answer) < 0) return;
    }
}

/* 0 once the peer does not answer. */
static inline double peer_ask(peer *p, int number) {
    const unsigned char byte = (unsigned char)number;
    double answer = 0;
    if (p->here && (write(p->to, &byte, 1) != 1 ||
                    read(p->from, &answer, sizeof answer) != (ssize_t)sizeof answer))
        p->here = false;
    return p->here ? answer : 0;
}

/* Nobody asks them any more. A peer may hold what another one is asked through, so that
 * all are told before one is waited for. */
static inline void peers_end(const peer *p, int count) {
    for (int i = 0; i < count; i++) close(p[i].to);
    for (int i = 0; i < count; i++) {
        close(p[i].from);
        waitpid(p[i].process, NULL, 0);
    }
}

#endif
