/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "jit/compiler.h"

#include <dlfcn.h>
#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/config.h"
#include "jit/addresses.h"
#include "jit/cache.h"
#include "jit/object.h"
#include "ops/kernels.h"
#include "ops/sin_constants.h"

#if !defined VP_LLVM_VERSION
#define VP_LLVM_VERSION "none"
#endif
/* Changes with whatever changes the code that is emitted for the same IR: a hash of the
 * plug-in's sources, which the build makes. */
extern const char vp__emitter[];

/* --- the machine -------------------------------------------------------------------- */

#define X86 "x86_64-pc-linux-gnu"

/* Of the CPUs with 64-byte vectors: AMD's Zen 4. */
static bool has_halves(void) {
#if defined __x86_64__
    return __builtin_cpu_is("amdfam19h");
#else
    return false;
#endif
}

static vp__machine machine; /* without a name for the CPU: none that we compile for */
static pthread_once_t machine_once = PTHREAD_ONCE_INIT;

static void find_machine(void) {
    static const struct {
        const char *isa;
        vp__machine target;
    } known[] = {
        {"avx512", {X86, "x86-64-v4", "", 64, true, true, true}},
        {"avx2", {X86, "x86-64-v3", "", 32, true, true, false}},
#if defined __x86_64__
        {"baseline", {X86, "x86-64", "", 16, false, false, false}},
#elif defined __aarch64__
        {"baseline",
         {"aarch64-unknown-linux-gnu", "generic", "", 16, false, false, false}},
#endif
    };
    const char *isa = vp__kernels_get()->isa;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strcmp(known[i].isa, isa) != 0) continue;
        machine = known[i].target;
        machine.own_sin &= !vp__config_get()->accurate;
        machine.halves &= has_halves();
    }
}

static const vp__machine *target_of(void) {
    pthread_once(&machine_once, find_machine);
    return machine.cpu ? &machine : NULL;
}

bool vp__compiler_is_possible(void) { return target_of() != NULL; }

/* --- what kernels call -------------------------------------------------------------- */

static int find_type(const char *name) {
    for (int t = 0; t < VP__NDTYPES; t++)
        if (strcmp(name, vp__dtype[t].name) == 0) return t;
    return -1;
}

static int find_row(const char *name) {
    for (int i = 0; i < VP__NOPS; i++)
        if (strcmp(name, vp__ops[i].name) == 0) return i;
    return -1;
}

#define FOUR(n) n, (n) + 1, (n) + 2, (n) + 3
#define SIXTEEN(n) FOUR(n), FOUR((n) + 4), FOUR((n) + 8), FOUR((n) + 12)
static const int32_t lane_numbers[] = {SIXTEEN(0), SIXTEEN(16), SIXTEEN(32), SIXTEEN(48)};
_Static_assert(sizeof lane_numbers / sizeof *lane_numbers == VP__MOST_LANES,
               "a number for each lane");
#undef FOUR
#undef SIXTEEN

/* Functions that code generators call for what a CPU cannot do itself, and what is ours. */
static void *library_function(const char *name) {
    static const double sin_numbers[VP__SIN_COUNT] = VP__SIN_NUMBERS;
    static const struct {
        const char *name;
        void *fn;
    } known[] = {
#define FUNCTION(name) {#name, (void *)(uintptr_t)name}
        FUNCTION(memcpy),
        FUNCTION(memset),
        FUNCTION(floor),
        FUNCTION(floorf),
        FUNCTION(ceil),
        FUNCTION(ceilf),
        FUNCTION(trunc),
        FUNCTION(truncf),
        FUNCTION(rint),
        FUNCTION(rintf),
        FUNCTION(vp__addresses_find),
#undef FUNCTION
        {VP__SIN_SYMBOL, (void *)(uintptr_t)sin_numbers},
        {VP__LANES_SYMBOL, (void *)(uintptr_t)lane_numbers},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(known[i].name, name) == 0) return known[i].fn;
    return NULL;
}

static void *resolve(void *context, const char *name) {
    (void)context;
    char copy[100];
    if (strlen(name) >= sizeof copy) return NULL;
    strcpy(copy, name);
    char *kind = copy, *what = strchr(copy, '.');
    if (!what) return library_function(name);
    *what++ = 0;
    char *type_name = strchr(what, '.');
    if (!type_name) return NULL;
    *type_name++ = 0;
    const int type = find_type(type_name), row = find_row(what);
    if (type < 0 || row < 0) return NULL;
    if (strcmp(kind, "vp_base") == 0)
        return (void *)(uintptr_t)vp__kernels_get()->op[row][type];
    if (strcmp(kind, "vp_reduce") == 0)
        return (void *)(uintptr_t)vp__kernels_get()->reduce[row][type].add;
    return NULL;
}

/* --- the plug-in -------------------------------------------------------------------- */

/* Beside the library or the program that contains us, or above it in a build tree. Nobody
 * else must be able to write what we run. */
static bool is_trusted(const char *path) {
    struct stat s;
    return stat(path, &s) == 0 && S_ISREG(s.st_mode) &&
           !(s.st_mode & (S_IWGRP | S_IWOTH)) && (s.st_uid == 0 || s.st_uid == geteuid());
}

static void *open_beside(void) {
    static const char *const paths[] = {"vproc-llvm.so", "vproc/vproc-llvm.so",
                                        "../vproc-llvm.so", "../../vproc-llvm.so"};
    Dl_info us;
    char self[PATH_MAX], path[PATH_MAX + 32];
    if (!dladdr((void *)(uintptr_t)vp__compile, &us)) return NULL;
    if (!realpath(us.dli_fname, self)) {
        ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
        if (n < 0) return NULL;
        self[n] = 0;
    }
    char *slash = strrchr(self, '/');
    if (!slash) return NULL;
    slash[1] = 0;
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        snprintf(path, sizeof path, "%s%s", self, paths[i]);
        if (is_trusted(path)) return dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    }
    return NULL;
}

/* Held while the dynamic linker works for us. A fork waits for it: a child that began with
 * the linker's own lock taken could never exit. */
static pthread_mutex_t opening = PTHREAD_MUTEX_INITIALIZER;
void vp__compiler_before_fork(void) { pthread_mutex_lock(&opening); }
void vp__compiler_after_fork(void) { pthread_mutex_unlock(&opening); }

/* What VP_LLVM names is asked for, so that it does not go unsaid when it is none. */
static void say_unfit(const char *path, const char *why) {
    fprintf(stderr, "vproc: VP_LLVM=%s cannot be used: %s; nothing is compiled\n", path,
            why);
}

static const vp__plugin *plugin_get(void) {
    static bool tried;
    static const vp__plugin *plugin;
    if (tried) return plugin;
    tried = true;
    pthread_mutex_lock(&opening);
    const char *path = vp__config_get()->llvm;
    void *handle =
        path ? dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE) : open_beside();
    if (!handle && path) say_unfit(path, dlerror());
    pthread_mutex_unlock(&opening);
    if (!handle) return NULL;
    vp__plugin_fn get = (vp__plugin_fn)(uintptr_t)dlsym(handle, VP__PLUGIN_SYMBOL);
    plugin = get ? get(VP__PLUGIN_VERSION) : NULL;
    if (!plugin && path)
        say_unfit(path, get ? "it is a plug-in of another version of the library"
                            : "it is no compiler plug-in");
    return plugin;
}

/* --- compiling ---------------------------------------------------------------------- */

static char *text_of(const vp__ir *ir, const vp__loops *loops, const vp__facts *facts) {
    static const char *const kinds[] = {"map",  "rows",    "chunk",
                                        "cols", "segment", "state"};
    static const char *const reads[] = {"run",   "shared", "again", "often",
                                        "other", "row",    "plane"};
    _Static_assert(sizeof kinds / sizeof *kinds == VP__NLOOPS, "one for each");
    _Static_assert(sizeof reads / sizeof *reads == VP__NREADS, "one for each");
    char *text = NULL;
    size_t n;
    FILE *f = open_memstream(&text, &n);
    if (!f) return NULL;
    fprintf(f, "form %s", kinds[loops->kind]);
    for (int i = 0; i < ir->nleaves; i++) fprintf(f, " %s", reads[loops->read[i]]);
    fputc('\n', f);
    if (facts) vp__facts_print(facts, f);
    vp__ir_print(ir, f);
    return fclose(f) == 0 ? text : NULL;
}

/* What names the code. The text is to be freed, and NULL without memory. */
typedef struct {
    vp__cache_meta meta;
    vp__cache_key key;
    char *text, version[80], features[40];
} name;

static void name_init(name *n, const vp__ir *ir, const vp__loops *loops,
                      const vp__facts *facts) {
    n->text = text_of(ir, loops, facts);
    if (!n->text) return;
    snprintf(n->version, sizeof n->version, "emitter %s, LLVM %s", vp__emitter,
             VP_LLVM_VERSION);
    const vp__machine *target = target_of();
    snprintf(n->features, sizeof n->features, "%s%s%s", target->cpu,
             target->own_sin ? ", own sine" : "", target->halves ? ", halves" : "");
    n->meta = (vp__cache_meta){n->text, facts ? "specialised" : "native", n->features,
                               n->version};
    n->key = vp__cache_key_of(&n->meta);
}

static void show(const vp__ir *ir, const vp__loops *loops, const vp__facts *facts,
                 const char *text) {
    const vp__config *config = vp__config_get();
    if (config->debug_ir) fprintf(stderr, "vproc: kernel\n%s\n", text);
    if (!config->debug_asm || !plugin_get()) return;
    char *message = NULL;
    char *code = plugin_get()->assembly(ir, loops, facts, target_of(), &message);
    fprintf(stderr, "vproc: code\n%s\n", code ? code : message);
    free(code);
    free(message);
}

static bool load(const void *object, size_t size, vp__compiled *out, char **message) {
    vp__object *loaded;
    const char *wrong = vp__object_load(object, size, resolve, NULL, &loaded);
    if (wrong) {
        *message = strdup(wrong);
        return false;
    }
    void *fn = vp__object_symbol(loaded, VP__KERNEL_SYMBOL);
    if (!fn) {
        *message = strdup("the object has no kernel");
        vp__object_release(loaded);
        return false;
    }
    out->fn = (vp__native_fn)(uintptr_t)fn;
    out->object = loaded;
    out->bytes = vp__object_size(loaded);
    return true;
}

/* Gives what was compiled to the caller, for the cache. */
static void give_image(const void *object, size_t size, vp__compiled *out) {
    out->image = malloc(size);
    out->image_bytes = size;
    if (out->image) memcpy(out->image, object, size);
}

static bool compile_ir(const vp__ir *ir, const vp__loops *loops, const vp__facts *facts,
                       vp__compiled *out, char **message) {
    name n;
    name_init(&n, ir, loops, facts);
    if (!n.text) {
        *message = strdup("out of memory");
        return false;
    }
    show(ir, loops, facts, n.text);
    out->key = n.key;
    vp__cache_code code;
    bool ok = false;
    if (vp__cache_get(vp__cache_get_default(NULL), &n.key, &n.meta, &code)) {
        out->from_cache = ok = load(code.object, code.size, out, message);
        vp__cache_code_release(&code);
    }
    const vp__plugin *plugin = ok ? NULL : plugin_get();
    if (plugin) {
        free(*message);
        *message = NULL;
        size_t size;
        void *object = plugin->compile(ir, loops, facts, target_of(), &size, message);
        ok = object && load(object, size, out, message);
        if (ok) give_image(object, size, out);
        plugin->release(object);
    } else if (!ok && !*message) {
        *message = strdup("there is no compiler plug-in (vproc-llvm.so)");
    }
    free(n.text);
    return ok;
}

bool vp__compile(const vp__kernel *kernel, const vp__loops *loops, const vp__facts *facts,
                 vp__compiled *out, char **message) {
    *out = (vp__compiled){0};
    vp__ir ir;
    if (!vp__ir_lower(&ir, kernel)) {
        *message = strdup("out of memory");
        return false;
    }
    const char *wrong = vp__ir_verify(&ir);
    bool ok = !wrong && compile_ir(&ir, loops, facts, out, message);
    if (wrong) *message = strdup(wrong);
    vp__ir_deinit(&ir);
    return ok;
}

void vp__compiler_keep(const vp__kernel *kernel, const vp__loops *loops,
                       const vp__facts *facts, const void *image, size_t bytes) {
    vp__ir ir;
    if (!image || !vp__ir_lower(&ir, kernel)) return;
    name n;
    name_init(&n, &ir, loops, facts);
    if (n.text) vp__cache_put(vp__cache_get_default(NULL), &n.key, &n.meta, image, bytes);
    free(n.text);
    vp__ir_deinit(&ir);
}
