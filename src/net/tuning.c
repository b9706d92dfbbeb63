/* SPDX-License-Identifier: Apache-2.0 */
#include "net/tuning.h"

vp__tuning_t vp__tuning = {
    /* Handing over takes 100 to 200 ns, but a node costs both cores more than that: loops
     * whose iterations take about a microsecond were not faster on two cores, nor on 16. */
    .inline_ns = 2000,
    /* Longer than a worker takes to come back for more. */
    .busy_ns = 20000,
    /* Their records stay in the second-level cache. */
    .queued = 64,
    /* Long enough for handing a bundle over not to count, short enough to share. */
    .bundle_ns = 40000,
    .bundle_after = 8,
    .inline_elements = 256,
    /* Short enough to share and to stop for a fork, long enough not to notice either. */
    .piece_ns = 50000,
    .flat_grain = 4096,
    /* A copy of this size takes about a microsecond. */
    .copy_bytes = 16384,
    .max_nodes = 65536,
    /* About what giving a device something to do costs. */
    .trial_ns = 20000,
    /* Independent additions of the same two arrays took 154 ns each on one thread and 207 on
     * two at 60 ns of work, 200 and 227 at 100, 570 and 444 at 180. */
    .share_ns = 100,
    /* A futex wake costs the waker 14 µs and the sleeper 20 on a virtual machine. */
    .wake_ns = 60000,
    /* Longer than a piece or a bundle takes: who is through with its own while another is at
     * the last one is there for what comes next. With 30 µs K-means took 2 to 5 %
     * longer, the same code of before beside both. */
    .spin_ns = 100000,
    /* A few hundred instructions take as long; the value is long itself. */
    .unissued_ns = 50000,
    .naps = 50,
};
