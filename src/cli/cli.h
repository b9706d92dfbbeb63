/* SPDX-License-Identifier: Apache-2.0
 *
 * The command `vproc`: a function per subcommand, each with the arguments after its name.
 * Returns the exit status.
 */
#ifndef VP_CLI_CLI_H
#define VP_CLI_CLI_H

int vp__cli_info(int argc, char **argv);
int vp__cli_kernels(int argc, char **argv);
int vp__cli_bench(int argc, char **argv);

#endif
