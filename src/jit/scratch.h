/* SPDX-License-Identifier: Apache-2.0
 *
 * The memory in which a thread runs kernels: block buffers, reduction states, a tile's
 * results, a panel.
 */
#ifndef VP_JIT_SCRATCH_H
#define VP_JIT_SCRATCH_H

enum {
    VP__BUFFER_BYTES = 10240,
    VP__UNIFORM_BYTES = 2048, /* of that, what a uniform value fills */
    VP__BUFFERS_BYTES = 32 * VP__BUFFER_BYTES,
    VP__STATES_BYTES = 256 * 1024,
    VP__RESULTS_BYTES = 64 * 1024,
    VP__PANEL_BYTES = 1024 * 1024,

    VP__SCRATCH_BYTES =
        VP__BUFFERS_BYTES + VP__STATES_BYTES + VP__RESULTS_BYTES + VP__PANEL_BYTES,
};

#endif
