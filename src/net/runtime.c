/* SPDX-License-Identifier: Apache-2.0
 *
 * The runtime's beginning and end.
 */
#include "net/runtime.h"

#include <pthread.h>

#include "array/pool.h"
#include "base/clock.h"
#include "base/failure.h"
#include "jit/native.h"
#include "lib/lib.h"
#include "net/cost.h"
#include "net/fork.h"
#include "net/workers.h"
#include "ops/kernels.h"
#include "trace/trace.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;

/* How many nodes the calling thread has issued, by which failures are put in order. */
static uint64_t issued_by_thread(void) {
    const vp__core *core = vp__core_of_thread();
    return core ? atomic_load_explicit(&core->counters.issued, memory_order_relaxed) : 0;
}

static void init(void) {
    vp__clock_init();
    vp__trace_init();
    vp__kernels_get();
    vp__cores_init();
    /* Handlers run before a fork in the reverse order of their registration: the pool's, which
     * registers with its first use, those of native code and of Fourier transforms must lock
     * after our workers have gone. */
    vp__pool_free(vp__pool_alloc(64), 64);
    vp__native_init(vp__cost_book_compiling);
    vp__lib_fft_init();
    vp__failure_init(issued_by_thread);
    vp__fork_init();
}

void vp__net_init(void) { pthread_once(&once, init); }

/* The library goes, or the process: nobody may run our code after this. */
__attribute__((destructor)) static void finish(void) {
    vp__storages_end();
    vp__workers_end();
    vp__native_finish();
    vp__failure_end();
}
