/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"

static const struct {
    const char *name, *what;
    int (*run)(int argc, char **argv);
} commands[] = {
    {"bench", "measures the experiments with their peers (vproc bench --help)",
     vp__cli_bench},
    {"info", "shows the machine as the processor sees it, and its settings",
     vp__cli_info},
    {"kernels", "lists compiled kernels in the cache: IR, size, stage, runs, time",
     vp__cli_kernels},
};
enum { COMMANDS = sizeof commands / sizeof *commands };

static void usage(FILE *to) {
    fprintf(to, "usage: vproc COMMAND [arguments]\n\n");
    for (int i = 0; i < COMMANDS; i++)
        fprintf(to, "  %-8s %s\n", commands[i].name, commands[i].what);
}

int main(int argc, char **argv) {
    if (argc < 2) {
        usage(stderr);
        return 2;
    }
    for (int i = 0; i < COMMANDS; i++)
        if (strcmp(argv[1], commands[i].name) == 0)
            return commands[i].run(argc - 2, argv + 2);
    const int helps = strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
                      strcmp(argv[1], "help") == 0;
    if (!helps) fprintf(stderr, "vproc: there is no command %s\n\n", argv[1]);
    usage(helps ? stdout : stderr);
    return helps ? 0 : 2;
}
