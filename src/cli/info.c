/* SPDX-License-Identifier: Apache-2.0
 *
 * `vproc info [--json]`: the machine as the processor sees it, what it found to work with,
 * and what it reckons work to cost. The figures of the cost model are the ones it starts
 * from; every run corrects them.
 */
#include <stdio.h>
#include <string.h>

#include "base/config.h"
#include "cli/cli.h"
#include "device/cpu/topology.h"
#include "device/device.h"
#include "jit/compiler.h"
#include "lib/blas.h"
#include "net/cost.h"
#include "net/tuning.h"
#include "ops/kernels.h"
#include "ops/ops.h"

static const char *jit_name(int mode) {
    static const char *const names[] = {"on", "off", "native", "mixed", "specialised"};
    return names[mode];
}

/* The compiler of native code, NULL when there is none. */
static const char *compiler(void) {
#ifdef VP_LLVM_VERSION
    if (vp__compiler_is_possible()) return "LLVM " VP_LLVM_VERSION;
#endif
    return NULL;
}

/* Nanoseconds per 1000 elements of some rows, as the model has them before any run. */
static const struct {
    const char *name;
    int op;
} priced[] = {{"add", VP__OP_add},
              {"divide", VP__OP_divide},
              {"sin", VP__OP_sin},
              {"power", VP__OP_power}};
enum { PRICED = sizeof priced / sizeof *priced };

static void show_text(void) {
    const vp__config *c = vp__config_get();
    printf("vproc        %s\n", VP_VERSION);
    printf("cpu          %s\n", vp__cpu_name());
    printf("cores        %d, %d threads compute\n", vp__cpu_count(), c->threads);
    printf("caches       L1 %zu kB, L2 %zu kB, L3 %zu kB\n", vp__cpu_cache_bytes(1) >> 10,
           vp__cpu_cache_bytes(2) >> 10, vp__cpu_cache_bytes(3) >> 10);
    printf("hand-over    %.0f ns between cores%s\n", vp__cpu_handover_ns(),
           vp__cpu_handover_ns() < 50 ? " (two threads of one physical core)" : "");
    printf("memory       %lld MB, %lld MB of them for instructions in flight\n",
           (long long)(c->memory_all >> 20), (long long)(c->memory >> 20));
    printf("base kernels %s, %s math\n", vp__kernels_get()->isa,
           c->accurate ? "accurate" : "fast");
    printf("native code  %s, compiler %s\n", jit_name(c->jit),
           compiler() ? compiler() : "not found");
    printf("OpenBLAS     %s\n",
           vp__blas_takes(VP_F64) ? "found" : "not found, own loops");
    printf("devices      %d beside the cores\n", vp__device_count);
    printf("cost model   ns for 1000 float64:");
    for (int i = 0; i < PRICED; i++)
        printf(" %s %.0f%s", priced[i].name, vp__cost_static(priced[i].op, VP_F64, 1000),
               i + 1 < PRICED ? "," : "\n");
    printf("             inline up to %lld ns, pieces of %lld ns, a wake for %lld ns\n",
           (long long)vp__tuning.inline_ns, (long long)vp__tuning.piece_ns,
           (long long)vp__tuning.wake_ns);
}

static void show_json(void) {
    const vp__config *c = vp__config_get();
    printf("{\"version\": \"%s\", \"cpu\": \"%s\", \"cores\": %d, \"threads\": %d, ",
           VP_VERSION, vp__cpu_name(), vp__cpu_count(), c->threads);
    printf("\"isa\": \"%s\", \"caches\": [%zu, %zu, %zu], ", vp__kernels_get()->isa,
           vp__cpu_cache_bytes(1), vp__cpu_cache_bytes(2), vp__cpu_cache_bytes(3));
    printf("\"memory\": %lld, \"handover_ns\": %.1f, ", (long long)c->memory_all,
           vp__cpu_handover_ns());
    printf("\"compiler\": \"%s\", \"blas\": %s, \"devices\": %d, ",
           compiler() ? compiler() : "", vp__blas_takes(VP_F64) ? "true" : "false",
           vp__device_count);
    printf("\"cost_ns_per_1000\": {");
    for (int i = 0; i < PRICED; i++)
        printf("%s\"%s\": %.1f", i ? ", " : "", priced[i].name,
               vp__cost_static(priced[i].op, VP_F64, 1000));
    puts("}}");
}

int vp__cli_info(int argc, char **argv) {
    if (argc == 1 && strcmp(argv[0], "--json") == 0) {
        show_json();
        return 0;
    }
    if (argc > 0) {
        fprintf(stderr, "usage: vproc info [--json]\n");
        return 2;
    }
    show_text();
    return 0;
}
