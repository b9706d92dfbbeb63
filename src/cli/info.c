/* SPDX-License-Identifier: Apache-2.0
 *
 * `vproc info [--json]`: the machine as the processor sees it, what it found to work with,
 * and what it reckons work to cost. The figures of the cost model are the ones it starts
 * from; every run corrects them.
 */
#include <stdio.h>
#include <string.h>
#ifdef __GLIBC__
#include <gnu/libc-version.h>
#endif

#include "base/config.h"
#include "cli/cli.h"
#include "device/cpu/pair.h"
#include "device/cpu/topology.h"
#include "device/device.h"
#include "jit/compiler.h"
#include "lib/fft/fftw.h"
#include "lib/product/blas.h"
#include "net/cost.h"
#include "net/tuning.h"
#include "ops/kernels.h"
#include "ops/math.h"
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

/* The library that has the math functions we do not write ourselves. */
static const char *math_library(void) {
#ifdef VP__LIBMVEC
    if (!vp__config_get()->accurate) return "libmvec";
#endif
    return "libm";
}

/* Of the glibc that is here at run time; "" with another C library. */
static const char *glibc_version(void) {
#ifdef __GLIBC__
    return gnu_get_libc_version();
#else
    return "";
#endif
}

static const char *or_else(const char *text, const char *otherwise) {
    return text ? text : otherwise;
}

/* A figure of a device's cost model. relaxed: only the value counts. */
static double figure(vp__figure *f) {
    return (double)atomic_load_explicit(&f->value, memory_order_relaxed);
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

static void show_libraries(void) {
    const char *glibc = glibc_version();
    printf("math         %s, %s%s%s\n", vp__config_get()->accurate ? "accurate" : "fast",
           math_library(), *glibc ? " of glibc " : "", glibc);
    /* Not there, switched off, or a build that will not do. */
    printf("BLAS         %s\n",
           or_else(vp__blas_config(), "OpenBLAS not in use, own loops"));
    for (int single = 0; single <= 1; single++)
        printf("FFTW %s %s\n", single ? "float32" : "float64",
               or_else(vp__fftw_version(single), "not in use, own transform"));
}

static void show_devices(void) {
    const vp__config *c = vp__config_get();
    printf("device 0     cores: %d threads, %lld MB for instructions in flight\n",
           c->threads, (long long)(c->memory >> 20));
    for (int i = 0; i < vp__device_count; i++) {
        vp__device *d = vp__devices[i];
        printf(
            "device %-5d %s: kernels take %.3g of a core's time and begin after %.0f ns, "
            "copies take %.3g ns a byte\n",
            i + 1, d->driver->name, (double)d->slowness, figure(&d->latency),
            figure(&d->ns_per_byte));
    }
}

static void show_costs(void) {
    printf("cost model   a core's ns for 1000 float64:");
    for (int i = 0; i < PRICED; i++)
        printf(" %s %.0f%s", priced[i].name, vp__cost_static(priced[i].op, VP_F64, 1000),
               i + 1 < PRICED ? "," : "\n");
    printf("             inline up to %lld ns, pieces of %lld ns, a wake for %lld ns\n",
           (long long)vp__tuning.inline_ns, (long long)vp__tuning.piece_ns,
           (long long)vp__tuning.wake_ns);
}

static void show_text(void) {
    const vp__config *c = vp__config_get();
    printf("vproc        %s, built by %s\n", VP_VERSION, VP_BUILT_BY);
    printf("cpu          %s\n", vp__cpu_name());
    printf("cores        %d\n", vp__cpu_count());
    printf("caches       L1 %zu kB, L2 %zu kB, L3 %zu kB\n", vp__cpu_cache_bytes(1) >> 10,
           vp__cpu_cache_bytes(2) >> 10, vp__cpu_cache_bytes(3) >> 10);
    printf("two cores    %.0f ns for a hand-over; together %.2f times what one does\n",
           vp__cpu_handover_ns(), vp__cpu_together());
    printf("memory       %lld MB\n", (long long)(c->memory_all >> 20));
    printf("base kernels %s\n", vp__kernels_get()->isa);
    printf("native code  %s, compiler %s\n", jit_name(c->jit),
           or_else(compiler(), "not found"));
    show_libraries();
    show_devices();
    show_costs();
}

static void write_devices(void) {
    const vp__config *c = vp__config_get();
    printf("\"devices\": [{\"name\": \"cores\", \"threads\": %d, \"memory\": %lld, "
           "\"slowness\": 1}",
           c->threads, (long long)c->memory);
    for (int i = 0; i < vp__device_count; i++) {
        vp__device *d = vp__devices[i];
        printf(", {\"name\": \"%s\", \"slowness\": %g, \"latency_ns\": %g, "
               "\"ns_per_byte\": %g}",
               d->driver->name, (double)d->slowness, figure(&d->latency),
               figure(&d->ns_per_byte));
    }
    printf("], ");
}

/* A library that is not in use is an empty string. */
static void show_json(void) {
    const vp__config *c = vp__config_get();
    printf("{\"version\": \"%s\", \"built_by\": \"%s\", \"cpu\": \"%s\", \"cores\": %d, ",
           VP_VERSION, VP_BUILT_BY, vp__cpu_name(), vp__cpu_count());
    printf("\"threads\": %d, \"isa\": \"%s\", \"caches\": [%zu, %zu, %zu], ", c->threads,
           vp__kernels_get()->isa, vp__cpu_cache_bytes(1), vp__cpu_cache_bytes(2),
           vp__cpu_cache_bytes(3));
    printf("\"memory\": %lld, \"handover_ns\": %.1f, \"together\": %.3f, ",
           (long long)c->memory_all, vp__cpu_handover_ns(), vp__cpu_together());
    printf("\"compiler\": \"%s\", \"math\": \"%s\", \"glibc\": \"%s\", ",
           or_else(compiler(), ""), math_library(), glibc_version());
    printf("\"blas\": \"%s\", \"fftw\": \"%s\", \"fftwf\": \"%s\", ",
           or_else(vp__blas_config(), ""), or_else(vp__fftw_version(false), ""),
           or_else(vp__fftw_version(true), ""));
    write_devices();
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
