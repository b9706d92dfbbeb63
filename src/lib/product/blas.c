/* SPDX-License-Identifier: Apache-2.0
 *
 * Opening OpenBLAS and calling it.
 *
 * Only its pthreads build is taken, set to one thread. In that build the one structure
 * that calls share, the table of work buffers, is locked inside, so several threads may
 * call at once and nothing is serialised here. The OpenMP build leaves that lock out and
 * takes its thread count from OpenMP whatever it is told; the serial build has the lock
 * only as a compile-time option that cannot be asked for. Without a suitable library the
 * built-in product is used.
 */
#include "lib/product/blas.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

#include "base/config.h"

enum { ROW_MAJOR = 101, PLAIN = 111, TURNED = 112, PTHREADS = 1 };

/* The cblas functions that are used; complex ones take their factors by address. */
static struct {
    void (*sgemm)(int, int, int, int, int, int, float, const void *, int, const void *,
                  int, float, void *, int);
    void (*dgemm)(int, int, int, int, int, int, double, const void *, int, const void *,
                  int, double, void *, int);
    void (*cgemm)(int, int, int, int, int, int, const void *, const void *, int,
                  const void *, int, const void *, void *, int);
    void (*zgemm)(int, int, int, int, int, int, const void *, const void *, int,
                  const void *, int, const void *, void *, int);
    void (*sgemv)(int, int, int, int, float, const void *, int, const void *, int, float,
                  void *, int);
    void (*dgemv)(int, int, int, int, double, const void *, int, const void *, int,
                  double, void *, int);
    void (*cgemv)(int, int, int, int, const void *, const void *, int, const void *, int,
                  const void *, void *, int);
    void (*zgemv)(int, int, int, int, const void *, const void *, int, const void *, int,
                  const void *, void *, int);
    const char *(*config)(void); /* NULL in very old versions */
    bool usable;
} blas;

/* dlsym gives a data pointer; POSIX lets it hold a function's address all the same. */
static bool find(void *library, const char *name, void *function) {
    void *found = dlsym(library, name);
    memcpy(function, &found, sizeof found);
    return found != NULL;
}

/* Ends the threads the library has started for itself: nobody wants them. A fork that had
 * begun when it was opened would not end them either, and the child would wait for them at
 * its own next fork or exit. Left alone where the program has opened the library itself. */
static void end_threads(void *library) {
    int (*end)(void);
    if (find(library, "blas_thread_shutdown_", &end)) end();
}

static bool bind(void *library) {
    int (*parallel)(void);
    void (*set_threads)(int);
    if (!find(library, "openblas_get_parallel", &parallel) || parallel() != PTHREADS ||
        !find(library, "openblas_set_num_threads", &set_threads))
        return false;
    if (!find(library, "cblas_sgemm", &blas.sgemm) ||
        !find(library, "cblas_dgemm", &blas.dgemm) ||
        !find(library, "cblas_cgemm", &blas.cgemm) ||
        !find(library, "cblas_zgemm", &blas.zgemm) ||
        !find(library, "cblas_sgemv", &blas.sgemv) ||
        !find(library, "cblas_dgemv", &blas.dgemv) ||
        !find(library, "cblas_cgemv", &blas.cgemv) ||
        !find(library, "cblas_zgemv", &blas.zgemv))
        return false;
    find(library, "openblas_get_config", &blas.config);
    set_threads(1);
    return true;
}

static void open_library(void) {
    static const char *const names[] = {"libopenblas.so.0", "libopenblas.so",
                                        "libopenblasp.so.0"};
    if (!vp__config_get()->blas) return;
    for (size_t i = 0; i < sizeof names / sizeof *names && !blas.usable; i++) {
        void *others = dlopen(names[i], RTLD_NOW | RTLD_NOLOAD);
        void *library = others ? others : dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
        if (!library) continue;
        blas.usable = bind(library);
        if (!others) end_threads(library);
        if (!blas.usable) dlclose(library);
    }
}

bool vp__blas_takes(vp_dtype t) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (vp__dtype[t].cls != VP__CLASS_F && vp__dtype[t].cls != VP__CLASS_C) return false;
    pthread_once(&once, open_library);
    return blas.usable;
}

const char *vp__blas_config(void) {
    if (!vp__blas_takes(VP_F64)) return NULL;
    return blas.config ? blas.config() : "OpenBLAS";
}

static const vp__c64 one32 = {1, 0}, zero32 = {0, 0};
static const vp__c128 one64 = {1, 0}, zero64 = {0, 0};

void vp__blas_product(vp_dtype t, int m, int n, int k, const vp__blas_matrix *out,
                      const vp__blas_matrix *a, const vp__blas_matrix *b) {
    int ta = a->turned ? TURNED : PLAIN, tb = b->turned ? TURNED : PLAIN;
    const void *x = a->data, *y = b->data;
    void *z = out->data;
    if (t == VP_F32)
        blas.sgemm(ROW_MAJOR, ta, tb, m, n, k, 1, x, a->ld, y, b->ld, 0, z, out->ld);
    else if (t == VP_F64)
        blas.dgemm(ROW_MAJOR, ta, tb, m, n, k, 1, x, a->ld, y, b->ld, 0, z, out->ld);
    else if (t == VP_C64)
        blas.cgemm(ROW_MAJOR, ta, tb, m, n, k, &one32, x, a->ld, y, b->ld, &zero32, z,
                   out->ld);
    else
        blas.zgemm(ROW_MAJOR, ta, tb, m, n, k, &one64, x, a->ld, y, b->ld, &zero64, z,
                   out->ld);
}

void vp__blas_apply(vp_dtype t, int m, int k, void *y, int incy, const vp__blas_matrix *a,
                    const void *x, int incx) {
    int ta = a->turned ? TURNED : PLAIN, ld = a->ld;
    int rows = a->turned ? k : m, cols = a->turned ? m : k;
    const void *p = a->data;
    if (t == VP_F32)
        blas.sgemv(ROW_MAJOR, ta, rows, cols, 1, p, ld, x, incx, 0, y, incy);
    else if (t == VP_F64)
        blas.dgemv(ROW_MAJOR, ta, rows, cols, 1, p, ld, x, incx, 0, y, incy);
    else if (t == VP_C64)
        blas.cgemv(ROW_MAJOR, ta, rows, cols, &one32, p, ld, x, incx, &zero32, y, incy);
    else
        blas.zgemv(ROW_MAJOR, ta, rows, cols, &one64, p, ld, x, incx, &zero64, y, incy);
}
