/* SPDX-License-Identifier: Apache-2.0 */
#include "net/place.h"

#include "net/cost.h"
#include "net/remote.h"
#include "net/tuning.h"

/* How much longer all work takes because of trials: one part in this many. */
enum { TRIAL_SHARE = 16 };

static int choose_core(const vp__node *n) {
    /* A node that waits for an input goes where that will be: the work ahead of it there is
     * what it waits for anyway. Stealing mends the rest. */
    if (n->home >= 0 && n->home < vp__placeable &&
        atomic_load_explicit(&n->waits[VP__WAIT_INPUT], memory_order_relaxed) > 1)
        return n->home;
    return vp__cost_least_busy(0);
}

/* What has to be copied of an input. */
static int64_t bytes_of(const vp__input *in) {
    const int64_t all = in->storage->bytes;
    const int64_t lo = in->region.lo > 0 ? in->region.lo : 0;
    const int64_t hi = in->region.hi < all ? in->region.hi : all;
    return hi > lo ? hi - lo : 0;
}

/* Until the node would be done on a device. */
static double on_device(const vp__node *n, vp__device *device) {
    double ns = (double)atomic_load_explicit(&device->ahead, memory_order_relaxed) +
                vp__cost_copy(device, 0) +
                n->estimate * vp__cost_factor_on(device, n->key);
    for (int i = 0; i < n->ninputs; i++)
        if (!vp__remote_will_be_on(n->in[i].storage, device))
            ns += vp__cost_copy(device, bytes_of(&n->in[i]));
    return ns;
}

/* Until it would be done on its core, with help from the others if it can be split. */
static double on_cores(const vp__node *n) {
    double own = n->cost;
    if (own > 2 * (double)vp__tuning.piece_ns) own /= vp__placeable;
    double ns = own + (double)vp__cost_ahead(n->home);
    for (int i = 0; i < n->ninputs; i++) {
        vp__storage *s = n->in[i].storage;
        int home = atomic_load_explicit(&s->home, memory_order_relaxed);
        if (home > VP__HOME_ON_DEVICE) continue;
        if (!atomic_load_explicit(&s->remote, memory_order_acquire) ||
            !vp__storage_is_on_host(s))
            ns += vp__cost_copy(vp__devices[VP__HOME_ON_DEVICE - home], s->bytes);
    }
    return ns;
}

/* Whether a place that would take longer gets the node all the same, now and then: figures
 * that speak against it could not be corrected otherwise. The more it takes, the more seldom,
 * so that such trials cost about one part in TRIAL_SHARE. */
static bool is_due(_Atomic float *credit, double least, double ns) {
    float now = atomic_load_explicit(credit, memory_order_relaxed) + (float)(least / ns);
    bool due = now > TRIAL_SHARE;
    atomic_store_explicit(credit, due ? 0 : now, memory_order_relaxed);
    return due;
}

/* Whether a device could run the node at all. */
static bool can_be_on_device(vp__node *n) {
    if (!n->work->device_part || n->error) return false;
    if (n->work->suits_device && !n->work->suits_device(n)) return false;
    if (!n->is_put && n->result->bytes == 0) return false;
    for (int i = 0; i < n->ninputs; i++)
        if (n->in[i].storage->bytes == 0 || n->in[i].region.period == VP__OF_NOTHING)
            return false;
    return true;
}

/* The device that would be done first, or NULL for the cores. A kind of work that has hardly
 * been done in some place is given to it a few times, if it is worth a trial. */
static vp__device *choose_device(vp__node *n) {
    static _Atomic float cores_credit;
    if (!can_be_on_device(n)) return NULL;
    bool worth_a_trial = n->cost >= (float)vp__tuning.trial_ns;
    int trials = vp__cost_samples(NULL, n->key);
    vp__device *best = NULL;
    double cores = on_cores(n), least = cores;
    for (int i = 0; i < vp__device_count; i++) {
        vp__device *device = vp__devices[i];
        int done = vp__cost_samples(device, n->key);
        if (worth_a_trial && done < VP__COST_TRIALS)
            return done <= trials ? device : NULL;
        double ns = on_device(n, device);
        if (ns < least) {
            least = ns;
            best = device;
        } else if (worth_a_trial && is_due(&device->credit, least, ns)) {
            return device;
        }
    }
    if (worth_a_trial && trials < VP__COST_TRIALS) return NULL;
    return best && is_due(&cores_credit, least, cores) ? NULL : best;
}

__attribute__((noinline)) static void place_among_devices(vp__node *n) {
    n->cost = n->estimate * (float)vp__cost_factor(n->key);
    n->device = choose_device(n);
    vp__cost_book(n);
}

void vp__node_place(vp__node *n) {
    n->home = choose_core(n);
    n->device = NULL;
    if (vp__device_count)
        place_among_devices(n);
    else
        vp__cost_book(n);
}

void vp__node_stay(vp__node *n) {
    const int self = vp__core_self()->index;
    n->home = self < vp__placeable ? self : 0;
    n->device = NULL;
    vp__cost_book(n);
}
