/* SPDX-License-Identifier: Apache-2.0
 *
 * The thresholds of the net, in one place. They decide how something runs, never what
 * comes out, so tests lower them to make rare paths common.
 */
#ifndef VP_NET_TUNING_H
#define VP_NET_TUNING_H

#include <stdint.h>

typedef struct {
    int64_t inline_ns; /* ready segments up to this cost run on the caller */
    int64_t busy_ns;   /* unstarted work that makes a core busy: see vp__issue_is_tiny */
    int64_t queued;    /* ready nodes of an issuer before it does one for each it adds */
    int64_t
        bundle_ns; /* work of a bundle; a single put of a bundle takes less than half */
    int bundle_after;        /* puts of one form in a row before they are bundled */
    int64_t inline_elements; /* likewise library work up to this size */
    int64_t piece_ns;        /* a piece of a big node should take about this long */
    int64_t flat_grain; /* pieces of flat parts are multiples of this many elements */
    int64_t copy_bytes; /* up to this, a write with pending readers renames */
    int64_t max_nodes;  /* in flight, before the issuer helps */
    int64_t trial_ns;   /* a node worth trying on a device that has not done its like */
    int64_t share_ns;   /* nodes shorter than this are left to a thread that waits */
    int64_t wake_ns;    /* unstarted work that is worth waking a worker for */
    int64_t spin_ns;    /* how long an idle worker looks around before it naps */
    int64_t
        unissued_ns; /* how long it sees a value that is kept unissued; 0: it never looks */
    int naps;        /* how often it naps before it sleeps for good */
} vp__tuning_t;

extern vp__tuning_t vp__tuning;

#endif
