/* SPDX-License-Identifier: Apache-2.0
 *
 * Specialised code: it is tried where the same facts go on, kept where measured times say
 * that it pays, dropped where not, and never becomes too much. Times are given by the tests.
 * That it has the bits of the other stages is for test_native.c, test_exec.c and
 * test_staging.c to see.
 */
#define _GNU_SOURCE
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "jit/cache.h"
#include "jit/cache_dir.h"
#include "jit/plan.h"
#include "tests/cache_support.h"
#include "tests/jit_support.h"
#include "vproc.h"

enum { MOST = 1024, TRIAL = 200 };

static _Atomic int attempts[3];                  /* to compile, by stage */
static double native_ns = 1e8, special_ns = 1e8; /* far more than compiling takes */

static double told_time(vp__stage stage, double ns) {
    (void)ns;
    return stage == VP__STAGE_SPECIALISED ? special_ns : native_ns;
}

/* While set, specialised code is not ready yet: a trial begins when the test says so. */
static _Atomic bool held;

static bool count_attempts(vp__stage stage) {
    attempts[stage]++;
    while (stage == VP__STAGE_SPECIALISED && held) usleep(100);
    return true;
}

static bool refuse_special(vp__stage stage) {
    attempts[stage]++;
    return stage != VP__STAGE_SPECIALISED;
}

/* One run of x * a + x, for n elements; the stage that it used. */
static vp__stage run(double a, int64_t n) {
    static double x[MOST], out[MOST];
    vp__kernel k = {.nleaves = 2, .ninstrs = 2, .reduce = -1, .result = VP_F64};
    k.leaf[0].dtype = k.leaf[1].dtype = VP_F64;
    k.leaf[1].constant = true;
    k.leaf[1].value.f64[0] = a;
    k.instr[0] = (vp__instr){VP__OP_multiply, VP_F64, VP_F64, {0, 1, 0}};
    k.instr[1] = (vp__instr){VP__OP_add, VP_F64, VP_F64, {2, 0, 0}};
    const vp__code code = vp__exec_flat_code(&k, 1e6, n);
    if (!code.fn) return VP__STAGE_BASE;
    for (int i = 0; i < n; i++) x[i] = i;
    void *data[] = {x, NULL};
    vp__exec_flat_native(&code, &k, data, out, n);
    for (int i = 0; i < n; i++) VP_CHECK_EQ(out[i], i * a + i);
    return (vp__stage)code.stage;
}

/* Some runs; how many of them used specialised code. */
static int run_often(double a, int64_t n, int times) {
    int specialised = 0;
    for (int i = 0; i < times; i++) specialised += run(a, n) == VP__STAGE_SPECIALISED;
    return specialised;
}

/* Starts with native code that is there. */
static void begin(void) {
    need_compiler();
    use("on", "off");
    vp__native_test_time = told_time;
    if (!vp__native_test_hook) vp__native_test_hook = count_attempts;
    run(3, 100);
    vp__native_settle();
    VP_CHECK_EQ(run(3, 100), VP__STAGE_NATIVE);
}

/* Runs until the facts have been worth it, and its code is there. */
static void bring_to_trial(double a, int64_t n) {
    held = true;
    run_often(a, n, 40);
    held = false;
    vp__native_settle();
}

VP_TEST(code_that_pays_is_kept) {
    begin();
    special_ns = 0.9 * native_ns;
    bring_to_trial(3, 100);
    VP_CHECK_EQ(stats().specialised, 1);
    const int tried = run_often(3, 100, TRIAL);
    VP_CHECK_EQ(stats().kept, 1);
    VP_CHECK_LT(tried, TRIAL);
    VP_CHECK_EQ(run_often(3, 100, TRIAL), TRIAL);
    /* Other facts have native code at once. */
    VP_CHECK_EQ(run(3, 101), VP__STAGE_NATIVE);
    VP_CHECK_EQ(run(4, 100), VP__STAGE_NATIVE);
    VP_CHECK_EQ(run(3, 100), VP__STAGE_SPECIALISED);
}

VP_TEST(code_that_does_not_pay_is_dropped) {
    begin();
    special_ns = 0.98 * native_ns;
    bring_to_trial(3, 100);
    run_often(3, 100, TRIAL);
    VP_CHECK_EQ(stats().dropped, 1);
    VP_CHECK_EQ(stats().kept, 0);
    /* And not tried again, even if it paid by now. */
    special_ns = 0.5 * native_ns;
    VP_CHECK_EQ(run_often(3, 100, 1000), 0);
    vp__native_settle();
    VP_CHECK_EQ(attempts[VP__STAGE_SPECIALISED], 1);
}

VP_TEST(a_gain_too_small_to_ask_for_is_none) {
    begin();
    bring_to_trial(3, 100);
    native_ns = 200;
    special_ns = 180;
    run_often(3, 100, TRIAL);
    VP_CHECK_EQ(stats().dropped, 1);
}

VP_TEST(kept_code_that_stops_paying_is_dropped) {
    begin();
    special_ns = 0.5 * native_ns;
    bring_to_trial(3, 100);
    run_often(3, 100, TRIAL);
    VP_CHECK_EQ(stats().kept, 1);
    special_ns = 1.5 * native_ns;
    run_often(3, 100, 10000);
    VP_CHECK_EQ(stats().dropped, 1);
    VP_CHECK_EQ(run_often(3, 100, TRIAL), 0);
}

VP_TEST(kept_code_that_goes_on_paying_stays) {
    begin();
    special_ns = 0.99 * 0.9 * native_ns;
    bring_to_trial(3, 100);
    run_often(3, 100, TRIAL);
    run_often(3, 100, 40000);
    VP_CHECK_EQ(stats().dropped, 0);
    VP_CHECK_GE(stats().kept, 2);
    VP_CHECK_EQ(run_often(3, 100, 50), 50);
}

/* --- bounds ------------------------------------------------------------------------- */

VP_TEST_TIMEOUT(a_million_constants_compile_nothing, 60) {
    begin();
    const int times = 1000000 / vp__test_slowdown();
    for (int i = 0; i < times; i++) run(i + 5, 1 + i % 3);
    vp__native_settle();
    VP_CHECK_EQ(attempts[VP__STAGE_SPECIALISED], 0);
    VP_CHECK_EQ(attempts[VP__STAGE_NATIVE], 1);
}

/* Each goes on long enough to be tried, as long as there is room. */
VP_TEST(many_shapes_are_few_variants) {
    begin();
    special_ns = 0.5 * native_ns;
    for (int i = 0; i < 300; i++) {
        bring_to_trial(3, 1 + i);
        run_often(3, 1 + i, 20);
    }
    VP_CHECK_GE(attempts[VP__STAGE_SPECIALISED], 2);
    VP_CHECK_LE(attempts[VP__STAGE_SPECIALISED], 8);
    VP_CHECK_EQ(attempts[VP__STAGE_NATIVE], 1);
}

/* What is frequent is found among what is not. */
VP_TEST(two_shapes_in_turn_are_both_tried) {
    begin();
    special_ns = 0.5 * native_ns;
    for (int i = 0; i < 400; i++) {
        run(3, 100);
        run(3, 200);
        if (i % 3 == 0) run(5 + i, 50);
        vp__native_settle();
    }
    VP_CHECK_EQ(stats().kept, 2);
    VP_CHECK_EQ(run(3, 100), VP__STAGE_SPECIALISED);
    VP_CHECK_EQ(run(3, 200), VP__STAGE_SPECIALISED);
}

/* --- when something goes wrong ------------------------------------------------------ */

VP_TEST(a_failed_compile_is_tried_once) {
    vp__native_test_hook = refuse_special;
    begin();
    bring_to_trial(3, 100);
    VP_CHECK_EQ(run_often(3, 100, 300), 0);
    vp__native_settle();
    VP_CHECK_EQ(attempts[VP__STAGE_SPECIALISED], 1);
    VP_CHECK_EQ(stats().failed, 1);
    VP_CHECK_EQ(run(3, 100), VP__STAGE_NATIVE);
}

static void fork_and_go_on(vp__stage expected) {
    const pid_t child = fork();
    VP_CHECK_GE(child, 0);
    run_often(3, 100, 2 * TRIAL);
    if (child == 0) exit(stats().kept == 1 && run(3, 100) == expected ? 0 : 1);
    VP_CHECK_EQ(wait_for(child), 0);
    VP_CHECK_EQ(run(3, 100), expected);
}

VP_TEST(a_fork_in_the_middle_of_a_trial) {
    begin();
    special_ns = 0.5 * native_ns;
    bring_to_trial(3, 100);
    run_often(3, 100, 20);
    VP_CHECK_EQ(stats().kept, 0);
    fork_and_go_on(VP__STAGE_SPECIALISED);
}

static bool dawdle(vp__stage stage) {
    if (stage != VP__STAGE_SPECIALISED) return true;
    attempts[stage]++;
    usleep(300000);
    return true;
}

/* The child is left with the code that was there. */
VP_TEST(a_fork_in_the_middle_of_a_compile) {
    vp__native_test_hook = dawdle;
    begin();
    VP_CHECK_EQ(vp_sync(), VP_OK); /* forks are looked after from now on */
    special_ns = 0.5 * native_ns;
    while (attempts[VP__STAGE_SPECIALISED] == 0) run(3, 100);
    const pid_t child = fork();
    VP_CHECK_GE(child, 0);
    if (child == 0) {
        run_often(3, 100, TRIAL);
        exit(stats().specialised == 0 && run(3, 100) == VP__STAGE_NATIVE ? 0 : 1);
    }
    VP_CHECK_EQ(wait_for(child), 0);
    vp__native_settle();
    run_often(3, 100, TRIAL);
    VP_CHECK_EQ(run(3, 100), VP__STAGE_SPECIALISED);
}

/* --- the cache ---------------------------------------------------------------------- */

static bool count_special(void *context, const vp__cache_entry *entry) {
    if (strcmp(entry->file.meta.stage, "specialised") == 0) {
        VP_CHECK_CONTAINS(entry->file.meta.ir, "loops 100 1 1\n");
        VP_CHECK_CONTAINS(entry->file.meta.ir, "value 1 0x4008000000000000\n");
        ++*(int *)context;
    }
    return true;
}

static int special_files(void) {
    int n = 0;
    vp__cache *cache = vp__cache_open(cache_path("c"), NULL, 1 << 24, NULL);
    VP_CHECK(cache);
    vp__cache_each(cache, count_special, &n);
    vp__cache_close(cache);
    return n;
}

static void in_child(double pays, uint64_t loaded) {
    const pid_t child = fork();
    VP_CHECK_GE(child, 0);
    if (child == 0) {
        use("on", cache_path("c"));
        vp__native_test_time = told_time;
        special_ns = pays * native_ns;
        run(3, 100);
        vp__native_settle();
        bring_to_trial(3, 100);
        run_often(3, 100, TRIAL);
        vp__native_settle();
        VP_CHECK_EQ(stats().specialised, 1);
        VP_CHECK_EQ(stats().loaded, loaded);
        exit(0);
    }
    VP_CHECK_EQ(wait_for(child), 0);
}

/* Code that does not pay is not written; what does is there for the next process, which has
 * times of its own. */
VP_TEST(only_what_pays_is_cached) {
    need_compiler();
    make_root();
    in_child(1.0, 0);
    VP_CHECK_EQ(special_files(), 0);
    in_child(0.5, 1); /* native code */
    VP_CHECK_EQ(special_files(), 1);
    in_child(0.5, 2);
    VP_CHECK_EQ(special_files(), 1);
    remove_root();
}

/* --- usage -------------------------------------------------------------------------- */

static bool add_native(void *context, const vp__cache_entry *entry) {
    vp__cache_usage *all = context;
    VP_CHECK_STR(entry->file.meta.stage, "native");
    VP_CHECK_CONTAINS(entry->file.meta.versions, "LLVM");
    VP_CHECK_GT(strlen(entry->file.meta.features), 0);
    VP_CHECK_CONTAINS(entry->file.meta.ir, "form map run plane\n%0 = leaf float64 0\n");
    VP_CHECK_GT(entry->file.object_size, 0);
    VP_CHECK_LT(time(NULL) - entry->last_use, 3600);
    all->runs += entry->file.usage.runs;
    all->ns += entry->file.usage.ns;
    return true;
}

/* What the cache says about the one kernel in it. */
static vp__cache_usage noted(void) {
    vp__cache_usage all = {0, 0};
    vp__cache *cache = vp__cache_open(cache_path("c"), NULL, 1 << 24, NULL);
    VP_CHECK(cache);
    VP_CHECK_EQ(vp__cache_each(cache, add_native, &all), 1);
    vp__cache_close(cache);
    return all;
}

/* A process that runs native code so often, `forks` in the middle of it. */
static pid_t start_runs(int times, bool forks) {
    const pid_t child = fork();
    VP_CHECK_GE(child, 0);
    if (child > 0) return child;
    use("on", cache_path("c"));
    vp__native_test_time = told_time;
    vp__native_test_hook = refuse_special;
    VP_CHECK_EQ(vp_sync(), VP_OK);
    run(3, 100);
    vp__native_settle();
    run_often(3, 100, times);
    if (forks) {
        const pid_t inner = fork();
        VP_CHECK_GE(inner, 0);
        if (inner == 0) exit(0);
        VP_CHECK_EQ(wait_for(inner), 0);
    }
    exit(0);
}

VP_TEST(usage_adds_up_over_processes) {
    need_compiler();
    native_ns = special_ns = 1e6; /* so little that nothing is noted before the end */
    make_root();
    for (int i = 1; i <= 3; i++) {
        VP_CHECK_EQ(wait_for(start_runs(100, false)), 0);
        VP_CHECK_EQ(noted().runs, 100 * i);
        VP_CHECK_EQ(noted().ns, i * 100 * (int64_t)native_ns);
    }
    /* What a child inherits is not its own. */
    VP_CHECK_EQ(wait_for(start_runs(100, true)), 0);
    VP_CHECK_EQ(noted().runs, 400);
    remove_root();
}

VP_TEST(usage_of_processes_at_once) {
    need_compiler();
    native_ns = special_ns = 1e6;
    make_root();
    VP_CHECK_EQ(wait_for(start_runs(10, false)), 0);
    pid_t child[8];
    for (int i = 0; i < 8; i++) child[i] = start_runs(100, false);
    for (int i = 0; i < 8; i++) VP_CHECK_EQ(wait_for(child[i]), 0);
    VP_CHECK_GE(noted().runs, 100); /* one may forget another */
    VP_CHECK_LE(noted().runs, 810);
    VP_CHECK_EQ(noted().ns, noted().runs * (int64_t)native_ns);
    remove_root();
}

static bool damage(void *context, const vp__cache_entry *entry) {
    char name[VP__CACHE_NAME], path[4096];
    vp__cache_name(&entry->file.key, name);
    snprintf(path, sizeof path, "%s/%s", cache_path("c"), name);
    FILE *f = fopen(path, "r+");
    VP_CHECK(f);
    VP_CHECK_EQ(fseek(f, VP__CACHE_USAGE_AT + 3, SEEK_SET), 0);
    VP_CHECK_EQ(fputc(0x5a, f), 0x5a);
    VP_CHECK_EQ(fclose(f), 0);
    ++*(int *)context;
    return true;
}

/* The code is as good as before, and counting begins anew. */
VP_TEST(damaged_usage_is_none) {
    need_compiler();
    make_root();
    VP_CHECK_EQ(wait_for(start_runs(100, false)), 0);
    vp__cache *cache = vp__cache_open(cache_path("c"), NULL, 1 << 24, NULL);
    int damaged = 0;
    vp__cache_each(cache, damage, &damaged);
    vp__cache_close(cache);
    VP_CHECK_EQ(damaged, 1);
    VP_CHECK_EQ(noted().runs, 0);
    VP_CHECK_EQ(wait_for(start_runs(70, false)), 0);
    VP_CHECK_EQ(noted().runs, 70);
    remove_root();
}

/* --- the trace ---------------------------------------------------------------------- */

static char *traced(const char *jit, bool (*hook)(vp__stage)) {
    char path[] = "/tmp/vproc-trace-XXXXXX";
    const int file = mkstemp(path);
    VP_CHECK_GE(file, 0);
    const pid_t child = fork();
    VP_CHECK_GE(child, 0);
    if (child == 0) {
        use(jit, "off");
        setenv("VP_TRACE", path, 1);
        setenv("VP_INLINE", "0", 1);
        vp__native_test_hook = hook;
        vp__native_test_time = told_time;
        special_ns = 0.5 * native_ns;
        vp_scope s = vp_begin();
        vp_array x = vp_let(vp_linspace(VP_F64, 0, 1, 20000));
        for (int i = 0; i < 400; i++) {
            vp_wait(vp_let(vp_add(vp_mul(x, 3.0), x)));
            if (i % 50 == 0) vp__native_settle();
        }
        vp_end(s);
        vp__native_settle();
        exit(0);
    }
    VP_CHECK_EQ(wait_for(child), 0);
    char *text = contents(path);
    unlink(path);
    close(file);
    return text;
}

VP_TEST(the_trace_tells_the_stage) {
    need_compiler();
    char *text = traced("on", NULL);
    VP_CHECK_CONTAINS(text, "\"stage\":1");
    VP_CHECK_CONTAINS(text, "\"stage\":2");
    VP_CHECK_CONTAINS(text, "specialised code compiled");
    VP_CHECK_CONTAINS(text, "specialised code kept");
    free(text);
    text = traced("specialised", NULL);
    VP_CHECK_CONTAINS(text, "\"stage\":2");
    free(text);
}

VP_TEST(a_failed_compile_is_in_the_trace) {
    need_compiler();
    char *text = traced("on", refuse_special);
    const char *line = "a kernel stays with native code: the compiler failed";
    const char *first = strstr(text, line);
    VP_CHECK(first);
    VP_CHECK(!strstr(first + 1, line));
    VP_CHECK(!strstr(text, "\"stage\":2"));
    free(text);
}
