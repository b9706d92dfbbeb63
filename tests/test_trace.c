/* SPDX-License-Identifier: Apache-2.0
 *
 * The trace: what is recorded is in the file, the file is JSON whatever the names are,
 * arrows have both ends, and limits, threads and forks do no harm.
 */
#define _GNU_SOURCE
#include "trace/trace.h"

#include <ctype.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/harness.h"
#include "vproc.h"

static char path[64];

static void begin(void) {
    snprintf(path, sizeof path, "/tmp/vproc-trace-%ld.json", (long)getpid());
    setenv("VP_TRACE", path, 1);
    vp__trace_init();
    VP_CHECK(vp__trace_on);
}

/* The contents of a file, to be freed; NULL when there is none. */
static char *read_all(const char *name) {
    FILE *file = fopen(name, "r");
    struct stat info;
    if (!file || fstat(fileno(file), &info)) return NULL;
    char *text = malloc((size_t)info.st_size + 1);
    VP_CHECK(text != NULL);
    size_t length = fread(text, 1, (size_t)info.st_size, file);
    text[length] = '\0';
    fclose(file);
    return text;
}

/* Whether python3 can read the file as JSON too; true where there is no python3. */
static bool python_agrees(const char *name) {
    char command[256];
    if (system("python3 -c 'import json' >/dev/null 2>&1")) return true;
    snprintf(command, sizeof command,
             "python3 -c \"import json; json.load(open('%s'))['traceEvents']\"", name);
    FILE *python = popen(command, "r");
    return python && pclose(python) == 0;
}

static int count(const char *text, const char *part) {
    /* Not by strstr, of which the address sanitizer makes a look at all of the text each time. */
    const size_t n = strlen(part);
    int found = 0;
    for (const char *end = text + strlen(text) - n + 1; text < end;)
        if (*text == *part && memcmp(text, part, n) == 0) {
            found++;
            text += n;
        } else {
            text++;
        }
    return found;
}

/* ---- a little JSON reader: NULL, or where the value ends ---- */

static const char *skip(const char *c) { return c + strspn(c, " \n\t\r"); }

static const char *json_string(const char *c) {
    if (*c++ != '"') return NULL;
    while (*c != '"') {
        if ((unsigned char)*c < 0x20) return NULL;
        if (*c++ != '\\') continue;
        if (*c == 'u') {
            for (int i = 1; i <= 4; i++) {
                if (!isxdigit((unsigned char)c[i])) return NULL;
            }
        } else if (!*c || !strchr("\"\\/bfnrt", *c)) {
            return NULL;
        }
        c++;
    }
    return c + 1;
}

static const char *json_value(const char *c) {
    c = skip(c);
    if (*c == '"') return json_string(c);
    if (*c == '{' || *c == '[') {
        bool object = *c == '{';
        char end = object ? '}' : ']';
        c = skip(c + 1);
        if (*c == end) return c + 1;
        for (;;) {
            if (object) {
                c = json_string(skip(c));
                if (!c || *(c = skip(c)) != ':') return NULL;
                c++;
            }
            c = json_value(c);
            if (!c) return NULL;
            c = skip(c);
            if (*c == end) return c + 1;
            if (*c++ != ',') return NULL;
        }
    }
    if (!strncmp(c, "true", 4) || !strncmp(c, "null", 4)) return c + 4;
    if (!strncmp(c, "false", 5)) return c + 5;
    char *number_end;
    if (*c != '-' && !isdigit((unsigned char)*c)) return NULL;
    strtod(c, &number_end);
    return number_end;
}

/* Flushes, checks that the file is JSON, and returns its text. */
static char *flush_and_read(void) {
    vp__trace_flush();
    char *text = read_all(path);
    VP_CHECK(text != NULL);
    const char *end = json_value(text);
    VP_CHECK(end && !*skip(end));
    VP_CHECK(python_agrees(path));
    return text;
}

static void finish(char *text) {
    free(text);
    vp__trace_flush(); /* what exit does must not fail either */
    unlink(path);
}

/* ---- tests ---- */

VP_TEST(off_records_nothing) {
    unsetenv("VP_TRACE");
    vp__trace_init();
    VP_CHECK(!vp__trace_on);
    vp__trace(VP__TR_ISSUED, 1, "add", 0);
    vp__trace_thread("nobody");
    vp__trace_flush();
}

VP_TEST(an_empty_trace_is_valid) {
    begin();
    finish(flush_and_read());
}

VP_TEST(a_life_is_shown) {
    begin();
    vp__trace_thread("caller");
    vp__trace(VP__TR_ISSUED, 7, "add", 0);
    vp__trace(VP__TR_SIZED, 7, NULL, 0);
    vp__trace(VP__TR_PLACED, 7, NULL, vp__trace_pack(3, 1, 250));
    vp__trace(VP__TR_READY, 7, NULL, 0);
    vp__trace(VP__TR_WAIT_BEGIN, 7, NULL, 0);
    vp__trace(VP__TR_START, 7, NULL, vp__trace_pack(3, 1, 0));
    vp__trace(VP__TR_FINISH, 7, NULL, 0);
    vp__trace(VP__TR_STORE, 7, NULL, 0);
    vp__trace(VP__TR_WAIT_END, 7, NULL, 0);
    vp__trace(VP__TR_LIMIT, 0, NULL, 12345);
    char *text = flush_and_read();
    VP_CHECK_CONTAINS(text, "\"name\":\"caller\"");
    VP_CHECK_EQ(count(text, "\"ph\":\"X\""), 3); /* issue, run, wait */
    VP_CHECK_EQ(count(text, "\"ph\":\"s\""), 1);
    VP_CHECK_EQ(count(text, "\"ph\":\"f\""), 1);
    VP_CHECK_EQ(count(text, "\"ph\":\"b\""), 1);
    VP_CHECK_EQ(count(text, "\"ph\":\"e\""), 1);
    VP_CHECK_EQ(count(text, "\"ph\":\"n\""), 4);
    VP_CHECK_EQ(count(text, "\"ph\":\"i\""), 1);
    VP_CHECK_CONTAINS(text, "\"cat\":\"run\",\"name\":\"add\"");
    VP_CHECK_CONTAINS(text, "{\"node\":7,\"where\":3,\"stage\":1,\"arg\":250}");
    VP_CHECK_CONTAINS(text, "\"arg\":12345");
    VP_CHECK_CONTAINS(text, "\"dropped\":0");
    finish(text);
}

VP_TEST(accesses_and_operations_are_shown) {
    begin();
    vp__trace(VP__TR_STORAGE, 0, NULL, 4096);
    vp__trace(VP__TR_ISSUED, 7, "sum", 0);
    vp__trace(VP__TR_READ, 7, NULL, 4096);
    vp__trace(VP__TR_WRITE, 7, NULL, 8192);
    vp__trace(VP__TR_OPERATION, 7, "abs", 0);
    vp__trace(VP__TR_OPERATION, 7, NULL, 0);
    vp__trace(VP__TR_START, 7, NULL, 0);
    vp__trace(VP__TR_FINISH, 7, NULL, 0);
    vp__trace(VP__TR_OPERATION, 8, "of nobody \"", 0);
    char *text = flush_and_read();
    VP_CHECK_CONTAINS(text, "\"name\":\"storage\",\"s\":\"t\",\"args\":{\"node\":0,"
                            "\"where\":0,\"stage\":0,\"arg\":4096}");
    VP_CHECK_CONTAINS(text, "\"name\":\"read\",\"id\":7,\"args\":{\"node\":7,"
                            "\"where\":0,\"stage\":0,\"arg\":4096}");
    VP_CHECK_CONTAINS(text, "\"name\":\"write\",\"id\":7");
    VP_CHECK_CONTAINS(text, "\"args\":{\"node\":7,\"operation\":\"abs\"}");
    VP_CHECK_CONTAINS(text,
                      "\"cat\":\"run\",\"name\":\"sum\""); /* not that of an operation */
    finish(text);
}

/* Runs one fused instruction; the sizes decide whether it becomes a node. */
static void run_program(int64_t size) {
    vp_scope s = vp_begin();
    vp_array x = vp_let(vp_counter(VP_F64, vp_shape(size), 1, 1));
    vp_array y = vp_let(vp_sum(vp_abs(vp_negative(x)), 0));
    vp_set(y, vp_sort(x, 0));
    vp_sync();
    vp_end(s);
}

VP_TEST(a_program_tells_its_accesses) {
    begin();
    run_program(100);
    run_program(1000000);
    char *text = flush_and_read();
    VP_CHECK_EQ(count(text, "\"operation\":\"abs\""), 2);
    VP_CHECK_EQ(count(text, "\"operation\":\"negative\""), 2);
    VP_CHECK_EQ(count(text, "\"operation\":\"sum\""), 2);
    VP_CHECK(count(text, "\"name\":\"storage\"") >= 4);
    VP_CHECK(count(text, "\"name\":\"read\"") >= 2);
    VP_CHECK(count(text, "\"name\":\"write\"") >= 4);
    VP_CHECK(count(text, "\"cat\":\"wait\"") >= 2);
    finish(text);
}

/* Whether it ran at once, as a node, or in a bundle. */
VP_TEST(a_program_tells_its_lines) {
    begin();
    static const int64_t sizes[] = {100, 1000000};
    char line[2][64];
    vp_scope s = vp_begin();
    for (int i = 0; i < 2; i++) {
        vp_array x = vp_let(vp_counter(VP_F64, vp_shape(sizes[i]), 1, 1));
        snprintf(line[0], sizeof line[0], "test_trace.c:%d\"", __LINE__ + 1);
        vp_array y = vp_let(vp_sum(vp_abs(vp_negative(x)), 0));
        snprintf(line[1], sizeof line[1], "test_trace.c:%d\"", __LINE__ + 1);
        vp_set(y, vp_sort(x, 0));
    }
    VP_CHECK_EQ(vp_sync(), VP_OK);
    vp_end(s);
    char *text = flush_and_read();
    /* With issuing and computing, of each of the two. */
    for (int i = 0; i < 2; i++) VP_CHECK_GE(count(text, line[i]), 4);
    VP_CHECK_CONTAINS(text, "\"line\":\"");
    finish(text);
}

VP_TEST(odd_names_are_escaped) {
    static const char *const names[] = {
        "quote \" and \\ backslash",
        "new\nline\ttab\x01\x7f",
        "gr\xc3\xbc\xc3\x9f",
        "bad \xff\xc3(\xe2\x82 utf-8 \xed\xa0\x80\xf5\x80",
        "",
        "</script>{}[],:"};
    begin();
    vp__trace_thread("a \"thread\"\n");
    for (int i = 0; i < 6; i++) {
        vp__trace(VP__TR_ISSUED, (uint64_t)i + 1, names[i], 0);
        vp__trace(VP__TR_START, (uint64_t)i + 1, names[i], UINT64_MAX);
        vp__trace(VP__TR_FINISH, (uint64_t)i + 1, names[i], UINT64_MAX);
    }
    char *text = flush_and_read();
    VP_CHECK_CONTAINS(text, "quote \\\" and \\\\ backslash");
    VP_CHECK_CONTAINS(text, "gr\xc3\xbc\xc3\x9f");
    VP_CHECK_CONTAINS(text, "bad \\ufffd");
    finish(text);
}

VP_TEST(broken_pairs_do_no_harm) {
    begin();
    vp__trace(VP__TR_FINISH, 1, "never started", 0);
    vp__trace(VP__TR_WAIT_END, 1, NULL, 0);
    vp__trace(VP__TR_START, 2, "outer", 0);
    vp__trace(VP__TR_START, 3, "inner, never finished", 0);
    vp__trace(VP__TR_FINISH, 2, NULL, 0);
    for (int i = 0; i < 1000; i++) vp__trace(VP__TR_START, 10, "deep", 0);
    vp__trace(VP__TR_ISSUED, 4, "issued, never started", 0);
    char *text = flush_and_read();
    VP_CHECK_EQ(count(text, "\"ph\":\"s\""), 0); /* no arrow without both ends */
    VP_CHECK_EQ(count(text, "\"ph\":\"f\""), 0);
    VP_CHECK_CONTAINS(text, "unfinished");
    finish(text);
}

enum { THREADS = 4, NODES = 3000 };

/* Issues nodes for the next thread and runs those of the one before. */
static void *record_much(void *argument) {
    uint64_t self = (uint64_t)(uintptr_t)argument, other = (self + 1) % THREADS;
    vp__trace_thread("worker");
    for (uint64_t i = 0; i < NODES; i++) {
        vp__trace(VP__TR_ISSUED, 1 + self * NODES + i, "mul", i);
        vp__trace(VP__TR_START, 1 + other * NODES + i, NULL, i);
        vp__trace(VP__TR_FINISH, 1 + other * NODES + i, NULL, i);
        if (i == NODES / 2 && !self) vp__trace_flush(); /* while the others record */
    }
    return NULL;
}

VP_TEST(threads_record_at_once) {
    pthread_t thread[THREADS];
    begin();
    for (int i = 0; i < THREADS; i++) {
        VP_CHECK(!pthread_create(&thread[i], NULL, record_much, (void *)(intptr_t)i));
    }
    for (int i = 0; i < THREADS; i++) pthread_join(thread[i], NULL);
    char *text = flush_and_read();
    VP_CHECK_EQ(count(text, "\"cat\":\"run\",\"name\":\"mul\""), THREADS * NODES);
    VP_CHECK_EQ(count(text, "\"ph\":\"s\""), THREADS * NODES);
    VP_CHECK_EQ(count(text, "\"ph\":\"f\""), THREADS * NODES);
    VP_CHECK_EQ(count(text, "\"name\":\"worker\""), THREADS);
    finish(text);
}

VP_TEST(records_beyond_the_limit_are_counted) {
    vp__trace_limit = 1000;
    begin();
    for (uint64_t i = 0; i < 1500; i++) vp__trace(VP__TR_STEAL, 0, NULL, i);
    char *text = flush_and_read();
    VP_CHECK_EQ(vp__trace_kept(), 1000);
    VP_CHECK_CONTAINS(text, "\"records\":1000,\"dropped\":500");
    VP_CHECK_EQ(count(text, "\"name\":\"steal\""), 1000);
    finish(text);
}

VP_TEST(children_have_their_own_file) {
    char name[128];
    begin();
    vp__trace_thread("main");
    vp__trace(VP__TR_STEAL, 0, NULL, 111);
    pid_t child = fork();
    if (!child) {
        vp__trace(VP__TR_STEAL, 0, NULL, 222);
        vp__trace_flush();
        _exit(0);
    }
    int status;
    VP_CHECK_EQ(waitpid(child, &status, 0), child);
    VP_CHECK_EQ(status, 0);
    char *text = flush_and_read();
    VP_CHECK_CONTAINS(text, "\"arg\":111");
    VP_CHECK_EQ(count(text, "\"arg\":222"), 0);
    finish(text);
    snprintf(name, sizeof name, "%s.%ld", path, (long)child);
    text = read_all(name);
    VP_CHECK(text != NULL);
    unlink(name);
    VP_CHECK(json_value(text) != NULL);
    VP_CHECK_CONTAINS(text, "\"arg\":222");
    VP_CHECK_CONTAINS(text, "\"name\":\"main\"");
    VP_CHECK_EQ(count(text, "\"arg\":111"), 0);
    free(text);
}
