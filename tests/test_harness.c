/* SPDX-License-Identifier: Apache-2.0
 *
 * The harness tests itself: a check that cannot fail would make every other test worthless.
 */
#include "tests/harness.h"

#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Runs a function in a process of its own, quietly, and returns its exit status. */
static int exit_status_of(void (*run)(void)) {
    pid_t pid = fork();
    if (pid == 0) {
        int quiet = open("/dev/null", O_WRONLY);
        dup2(quiet, STDERR_FILENO);
        run();
        _exit(0);
    }
    int status = 0;
    VP_CHECK_EQ(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void fail_condition(void) { VP_CHECK(1 + 1 == 3); }
static void fail_equal(void) { VP_CHECK_EQ(1, 2); }
static void fail_sign(void) { VP_CHECK_EQ(-1, UINT64_MAX); }
static void fail_less(void) { VP_CHECK_LT(2.0, 2.0); }
static void fail_nan(void) { VP_CHECK_EQ((double)NAN, (double)NAN); }
static void fail_near(void) { VP_CHECK_NEAR(1.0, 1.1, 0.05); }
static void fail_near_nan(void) { VP_CHECK_NEAR(1.0, (double)NAN, 1e300); }
static void fail_string(void) { VP_CHECK_STR("a", NULL); }
static void fail_part(void) { VP_CHECK_CONTAINS("abc", "abd"); }
static void fail_bytes(void) { VP_CHECK_BYTES("abc", "abd", 3); }
static void fail_at_once(void) { VP_FAIL("with reason %d", 1); }
static void skip_at_once(void) { VP_SKIP("no such device"); }

VP_TEST(a_failed_check_ends_the_test) {
    VP_CHECK_EQ(exit_status_of(fail_condition), 1);
    VP_CHECK_EQ(exit_status_of(fail_equal), 1);
    VP_CHECK_EQ(exit_status_of(fail_sign), 1);
    VP_CHECK_EQ(exit_status_of(fail_less), 1);
    VP_CHECK_EQ(exit_status_of(fail_nan), 1);
    VP_CHECK_EQ(exit_status_of(fail_near), 1);
    VP_CHECK_EQ(exit_status_of(fail_near_nan), 1);
    VP_CHECK_EQ(exit_status_of(fail_string), 1);
    VP_CHECK_EQ(exit_status_of(fail_part), 1);
    VP_CHECK_EQ(exit_status_of(fail_bytes), 1);
    VP_CHECK_EQ(exit_status_of(fail_at_once), 1);
    VP_CHECK_EQ(exit_status_of(skip_at_once), 77);
}

VP_TEST(checks_compare_by_value) {
    uint64_t large = UINT64_MAX;
    const char *text = "abc";
    bool yes = true;
    VP_CHECK_EQ((int8_t)-1, -1LL);
    VP_CHECK_EQ(yes, 1);
    VP_CHECK_NE(-1, large);
    VP_CHECK_LT(-1, 0u);
    VP_CHECK_GT(large, INT64_MAX);
    VP_CHECK_GE(2.5f, 2);
    VP_CHECK_LE(INT64_MIN, INT64_MIN);
    VP_CHECK_EQ(text, text);
    VP_CHECK_NE(text, NULL);
    VP_CHECK_NEAR((double)INFINITY, (double)INFINITY, 0);
    VP_CHECK_NEAR((double)NAN, (double)NAN, 0);
    VP_CHECK_STR(text, "abc");
    VP_CHECK_STR(NULL, NULL);
}
