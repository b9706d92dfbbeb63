/* SPDX-License-Identifier: Apache-2.0
 *
 * `vproc bench`: finds the experiments and hands over to the Python program that runs them.
 * In a build folder they are where the sources are; installed, in a folder of their own. It is
 * started by its path and isolated (-I), without PYTHONPATH: what happens to be in the person's
 * folder, such as a statistics.py, must not take the place of Python's own modules.
 */
#define _GNU_SOURCE
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"

/* The folder of this program, "" when the system does not say. */
static void own_folder(char *folder, char *file) {
    ssize_t length = readlink("/proc/self/exe", file, PATH_MAX - 1);
    file[length > 0 ? length : 0] = 0;
    strcpy(folder, file);
    char *slash = strrchr(folder, '/');
    if (slash) *slash = 0;
}

/* Where scripts and programs are: beside this program in a build folder, else where they
 * were installed. */
static int find(const char *folder, const char **scripts, char *programs) {
    snprintf(programs, PATH_MAX, "%s/experiments", folder);
    *scripts = VP_EXPERIMENTS_SOURCE;
    if (access(programs, X_OK) == 0 && access(*scripts, R_OK) == 0) return 1;
    snprintf(programs, PATH_MAX, "%s", VP_EXPERIMENTS_PROGRAMS);
    *scripts = VP_EXPERIMENTS_INSTALLED;
    return access(programs, X_OK) == 0 && access(*scripts, R_OK) == 0;
}

int vp__cli_bench(int argc, char **argv) {
    static char folder[PATH_MAX], file[PATH_MAX], programs[PATH_MAX], start[PATH_MAX];
    const char *scripts;
    own_folder(folder, file);
    if (!find(folder, &scripts, programs)) {
        fprintf(stderr, "vproc bench: the experiments are neither in %s nor in %s\n",
                VP_EXPERIMENTS_SOURCE, VP_EXPERIMENTS_INSTALLED);
        return 1;
    }
    snprintf(start, sizeof start, "%s/vbench/start.py", scripts);
    char **args = calloc((size_t)argc + 8, sizeof *args);
    if (!args) {
        fprintf(stderr, "vproc bench: no memory\n");
        return 1;
    }
    unsetenv("PYTHONPATH");
    int n = 0;
    args[n++] = (char *)"python3";
    args[n++] = (char *)"-I";
    args[n++] = start;
    args[n++] = (char *)"--command";
    args[n++] = file;
    args[n++] = (char *)"--programs";
    args[n++] = programs;
    for (int i = 0; i < argc; i++) args[n++] = argv[i];
    execvp("python3", args);
    fprintf(stderr, "vproc bench: needs python3, which could not be started\n");
    free(args);
    return 1;
}
