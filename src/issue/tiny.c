/* SPDX-License-Identifier: Apache-2.0 */
#include "issue/tiny.h"

#include "base/config.h"
#include "net/core.h"
#include "net/cost.h"
#include "net/tuning.h"

/* How many times as long something may take on the caller when every core has enough to do: a
 * node of it would wait, and cost memory while it does. */
enum { BUSY_TIMES = 5 };

static int64_t ahead_of(const vp__core *core) {
    return atomic_load_explicit(&core->ahead, memory_order_relaxed); /* a hint */
}

/* Whether there is work in line for the other cores, judged by our own line and that of one
 * of them, another one each time. */
static bool others_are_busy(void) {
    vp__core *core = vp__core_self();
    if (ahead_of(core) < vp__tuning.busy_ns) return false;
    core->random = core->random * 1664525u + 1013904223u;
    return ahead_of(vp__cores[(core->random >> 8) % (uint32_t)vp__placeable]) >=
           vp__tuning.busy_ns;
}

bool vp__is_tiny(float estimate, int key) {
    const vp__config *config = vp__config_get();
    if (config->sync) return true;
    if (!config->inline_nodes) return false;
    const float cost = estimate * (float)vp__cost_factor(key);
    const float most = (float)vp__tuning.inline_ns;
    return cost < most || (cost < BUSY_TIMES * most && others_are_busy());
}
