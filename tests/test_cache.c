/* SPDX-License-Identifier: Apache-2.0
 *
 * The folder of kernels: what is put can be got, and nothing is believed that somebody else
 * could have written or that is damaged.
 */
#define _GNU_SOURCE
#include "jit/cache.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "tests/cache_support.h"

enum { BOUND = 100 << 20 };

VP_TEST(what_is_put_can_be_got) {
    make_root();
    vp__cache *cache = open_cache(BOUND);
    for (int i = 0; i < 20; i++) VP_CHECK(!has_kernel(cache, i));
    for (int i = 0; i < 20; i++) VP_CHECK(put_kernel(cache, i));
    for (int i = 0; i < 20; i++) VP_CHECK(has_kernel(cache, i));
    VP_CHECK(!has_kernel(cache, 20));
    vp__cache_close(cache);
    cache = open_cache(BOUND);
    VP_CHECK(has_kernel(cache, 3));
    VP_CHECK_STR(vp__cache_path(cache), cache_path("c"));
    struct stat s;
    VP_CHECK(stat(cache_path("c"), &s) == 0);
    VP_CHECK_EQ(s.st_mode & 0777, 0700);
    VP_CHECK(stat(kernel_path(3), &s) == 0);
    VP_CHECK_EQ(s.st_mode & 0777, 0600);
    vp__cache_close(cache);
    remove_root();
}

VP_TEST(no_cache_is_an_empty_one) {
    VP_CHECK(!put_kernel(NULL, 1));
    VP_CHECK(!has_kernel(NULL, 1));
    VP_CHECK_EQ(vp__cache_each(NULL, NULL, NULL), 0);
    VP_CHECK_STR(vp__cache_path(NULL), "");
    vp__cache_add_usage(NULL, &(vp__cache_key){{0}}, &(vp__cache_usage){1, 1});
    vp__cache_close(NULL);
}

/* The same key with any other text is another kernel: a collision, or a file from a machine
 * with another CPU or another version. */
VP_TEST(texts_are_compared) {
    make_root();
    vp__cache *cache = open_cache(BOUND);
    made_kernel k;
    vp__cache_code code;
    make_kernel(1, &k);
    VP_CHECK(put_kernel(cache, 1));
    for (int i = 0; i < 4; i++) {
        vp__cache_meta other = k.meta;
        if (i == 0) other.ir = "something else";
        if (i == 1) other.stage = "specialised";
        if (i == 2) other.features = "avx512f,avx2,fma";
        if (i == 3) other.versions = "vproc 0.2 llvm 19";
        VP_CHECK(!vp__cache_get(cache, &k.key, &other, &code));
        vp__cache_key key = vp__cache_key_of(&other);
        VP_CHECK(memcmp(&key, &k.key, sizeof key) != 0);
    }
    VP_CHECK(has_kernel(cache, 1));
    /* A file under another kernel's name is not that kernel. */
    char from[256];
    strcpy(from, kernel_path(1));
    VP_CHECK(rename(from, kernel_path(2)) == 0);
    VP_CHECK(!has_kernel(cache, 1) && !has_kernel(cache, 2));
    VP_CHECK(put_kernel(cache, 2) && has_kernel(cache, 2));
    vp__cache_close(cache);
    remove_root();
}

/* ---- damage ---- */

static void write_file(const char *path, const void *bytes, size_t size) {
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    VP_CHECK(fd >= 0);
    VP_CHECK_EQ(write(fd, bytes, size), (ssize_t)size);
    close(fd);
}

VP_TEST(damaged_files_are_replaced) {
    make_root();
    vp__cache *cache = open_cache(BOUND);
    made_kernel k;
    size_t size;
    make_kernel(5, &k);
    uint8_t *good = vp__cache_file_encode(&k.key, &k.meta, k.object, k.size, &size);
    VP_CHECK(good != NULL);
    for (size_t at = 0; at < size; at += 97) {
        write_file(kernel_path(5), good, at); /* truncated */
        VP_CHECK(!has_kernel(cache, 5));
        VP_CHECK(put_kernel(cache, 5) && has_kernel(cache, 5));
        if (at >= VP__CACHE_USAGE_AT && at < VP__CACHE_HEAD) continue;
        good[at] ^= 0x10; /* damaged */
        write_file(kernel_path(5), good, size);
        good[at] ^= 0x10;
        VP_CHECK(!has_kernel(cache, 5));
        VP_CHECK(put_kernel(cache, 5) && has_kernel(cache, 5));
    }
    free(good);
    vp__cache_close(cache);
    remove_root();
}

/* ---- trust ---- */

static void check_replaced(vp__cache *cache, int i) {
    struct stat s;
    VP_CHECK(!has_kernel(cache, i));
    VP_CHECK(put_kernel(cache, i) && has_kernel(cache, i));
    VP_CHECK(lstat(kernel_path(i), &s) == 0 && S_ISREG(s.st_mode));
    VP_CHECK(s.st_uid == geteuid() && (s.st_mode & 0777) == 0600);
}

VP_TEST(files_that_others_may_write) {
    make_root();
    vp__cache *cache = open_cache(BOUND);
    VP_CHECK(put_kernel(cache, 1));
    static const mode_t modes[] = {0620, 0602, 0666};
    for (int i = 0; i < 3; i++) {
        VP_CHECK(chmod(kernel_path(1), modes[i]) == 0);
        check_replaced(cache, 1);
    }
    VP_CHECK(chmod(kernel_path(1), 0644) == 0); /* others may read */
    VP_CHECK(has_kernel(cache, 1));
    if (geteuid() == 0) {
        VP_CHECK(chown(kernel_path(1), 12345, 0) == 0);
        check_replaced(cache, 1);
    }
    vp__cache_close(cache);
    remove_root();
}

VP_TEST(what_is_not_a_file) {
    make_root();
    vp__cache *cache = open_cache(BOUND);
    VP_CHECK(put_kernel(cache, 1));
    VP_CHECK(rename(kernel_path(1), cache_path("elsewhere")) == 0);
    VP_CHECK(symlink(cache_path("elsewhere"), kernel_path(1)) == 0);
    check_replaced(cache, 1);
    VP_CHECK(access(cache_path("elsewhere"), F_OK) == 0);
    VP_CHECK(unlink(kernel_path(1)) == 0 && mkfifo(kernel_path(1), 0600) == 0);
    check_replaced(cache, 1);
    VP_CHECK(unlink(kernel_path(1)) == 0 && mkdir(kernel_path(1), 0700) == 0);
    VP_CHECK(!has_kernel(cache, 1) && !put_kernel(cache, 1));
    vp__cache_add_usage(cache, &(vp__cache_key){{0}}, &(vp__cache_usage){1, 1});
    vp__cache_close(cache);
    remove_root();
}

static const char *why_not(const char *path, const char *own) {
    const char *why;
    vp__cache *cache = vp__cache_open(path, own, BOUND, &why);
    VP_CHECK((cache == NULL) == (why != NULL));
    vp__cache_close(cache);
    return why;
}

VP_TEST(folders_that_others_may_write) {
    make_root();
    vp__cache_close(open_cache(BOUND));
    static const mode_t modes[] = {0770, 0707, 0777, 01777};
    for (int i = 0; i < 4; i++) {
        VP_CHECK(chmod(cache_path("c"), modes[i]) == 0);
        VP_CHECK_CONTAINS(why_not(cache_path("c"), NULL), "alone");
    }
    VP_CHECK(chmod(cache_path("c"), 0755) == 0);
    VP_CHECK_STR(why_not(cache_path("c"), NULL), NULL);
    VP_CHECK(symlink(cache_path("c"), cache_path("link")) == 0);
    VP_CHECK_CONTAINS(why_not(cache_path("link"), NULL), "opened");
    VP_CHECK_CONTAINS(why_not(cache_path("link//"), NULL), "opened");
    write_file(cache_path("file"), "x", 1);
    VP_CHECK_CONTAINS(why_not(cache_path("file"), NULL), "opened");
    VP_CHECK_CONTAINS(why_not(cache_path("file/c"), NULL), "opened");
    if (geteuid() == 0) {
        VP_CHECK(chown(cache_path("c"), 12345, 0) == 0);
        VP_CHECK_CONTAINS(why_not(cache_path("c"), NULL), "alone");
        /* Nothing is made in the home of somebody else. */
        VP_CHECK_CONTAINS(why_not(cache_path("c/vproc"), cache_path("c")), "opened");
        VP_CHECK(access(cache_path("c/vproc"), F_OK) != 0);
    }
    VP_CHECK_CONTAINS(why_not(cache_path("none/vproc"), cache_path("none")), "opened");
    VP_CHECK_STR(why_not(cache_path("a/b/c/d"), NULL), NULL);
    remove_root();
}

/* The folder is looked at again with every use. */
VP_TEST(folder_that_changes) {
    make_root();
    vp__cache *cache = open_cache(BOUND);
    VP_CHECK(put_kernel(cache, 1));
    VP_CHECK(chmod(cache_path("c"), 0777) == 0);
    VP_CHECK(!has_kernel(cache, 1) && !put_kernel(cache, 2));
    VP_CHECK(chmod(cache_path("c"), 0700) == 0);
    VP_CHECK(has_kernel(cache, 1));
    /* Closing gives the descriptor back even then. */
    int before = open("/dev/null", O_RDONLY);
    VP_CHECK(chmod(cache_path("c"), 0777) == 0);
    vp__cache_close(cache);
    int after = open("/dev/null", O_RDONLY);
    VP_CHECK(after >= 0 && after < before);
    close(before);
    close(after);
    VP_CHECK(chmod(cache_path("c"), 0700) == 0);
    cache = open_cache(BOUND);
    remove_root();
    VP_CHECK(!has_kernel(cache, 1) && !put_kernel(cache, 2));
    vp__cache_close(cache);
}

/* A program that closes all descriptors and opens its own files. */
VP_TEST(descriptor_that_is_gone) {
    make_root();
    vp__cache *cache = open_cache(BOUND);
    VP_CHECK(put_kernel(cache, 1));
    for (int fd = 3; fd < 100; fd++) close(fd);
    VP_CHECK(!has_kernel(cache, 1) && !put_kernel(cache, 2));
    VP_CHECK(mkdir(cache_path("theirs"), 0700) == 0);
    int theirs[8];
    for (int i = 0; i < 8; i++) theirs[i] = open(cache_path("theirs"), O_RDONLY);
    VP_CHECK(!has_kernel(cache, 1) && !put_kernel(cache, 2));
    vp__cache_close(cache);
    for (int i = 0; i < 8; i++) VP_CHECK_EQ(close(theirs[i]), 0);
    remove_root();
}

/* ---- usage and listing ---- */

VP_TEST(usage_adds_up) {
    make_root();
    vp__cache *cache = open_cache(BOUND);
    made_kernel k;
    vp__cache_code code;
    make_kernel(1, &k);
    VP_CHECK(put_kernel(cache, 1));
    for (int i = 0; i < 10; i++)
        vp__cache_add_usage(cache, &k.key, &(vp__cache_usage){3, 1000});
    VP_CHECK(vp__cache_get(cache, &k.key, &k.meta, &code));
    VP_CHECK_EQ(code.usage.runs, 30u);
    VP_CHECK_EQ(code.usage.ns, 10000u);
    vp__cache_code_release(&code);
    make_kernel(2, &k);
    vp__cache_add_usage(cache, &k.key, &(vp__cache_usage){3, 1000}); /* is not there */
    VP_CHECK(!has_kernel(cache, 2));
    vp__cache_close(cache);
    remove_root();
}

typedef struct {
    int seen[30], stop_after;
} listed;

static bool visit(void *context, const vp__cache_entry *entry) {
    listed *l = context;
    int i;
    VP_CHECK(sscanf(entry->file.meta.ir, "v%d", &i) == 1 && i >= 0 && i < 30);
    l->seen[i]++;
    made_kernel k;
    make_kernel(i, &k);
    VP_CHECK_STR(entry->file.meta.ir, k.ir);
    VP_CHECK_STR(entry->file.meta.stage, "native");
    VP_CHECK_EQ(entry->file.object_size, k.size);
    VP_CHECK_GT(entry->bytes, (int64_t)k.size);
    VP_CHECK_LT(time(NULL) - entry->last_use, 100);
    return --l->stop_after != 0;
}

VP_TEST(listing) {
    make_root();
    vp__cache *cache = open_cache(BOUND);
    for (int i = 0; i < 30; i++) VP_CHECK(put_kernel(cache, i));
    write_file(cache_path("c/notes.txt"), "mine", 4);
    write_file(kernel_path(7), "broken", 6);
    listed l = {{0}, -1};
    VP_CHECK_EQ(vp__cache_each(cache, visit, &l), 29);
    for (int i = 0; i < 30; i++) VP_CHECK_EQ(l.seen[i], i != 7);
    l.stop_after = 5;
    VP_CHECK_EQ(vp__cache_each(cache, visit, &l), 5);
    VP_CHECK(access(cache_path("c/notes.txt"), F_OK) == 0);
    vp__cache_close(cache);
    remove_root();
}

VP_TEST(names) {
    made_kernel k;
    char name[VP__CACHE_NAME];
    vp__cache_key key;
    make_kernel(1, &k);
    vp__cache_name(&k.key, name);
    VP_CHECK_EQ(strlen(name), 64 + strlen(".kernel"));
    VP_CHECK(vp__cache_name_parse(name, &key));
    VP_CHECK_BYTES(&key, &k.key, sizeof key);
    name[3] = 'G';
    VP_CHECK(!vp__cache_name_parse(name, &key));
    VP_CHECK(!vp__cache_name_parse("", &key) && !vp__cache_name_parse("x.kernel", &key));
    VP_CHECK(vp__cache_name_is_new("new-1-2") && !vp__cache_name_is_new(name));
}

/* ---- where it is ---- */

static void with_environment(const char *cache, const char *xdg, const char *home) {
    cache ? setenv("VP_CACHE", cache, 1) : unsetenv("VP_CACHE");
    xdg ? setenv("XDG_CACHE_HOME", xdg, 1) : unsetenv("XDG_CACHE_HOME");
    home ? setenv("HOME", home, 1) : unsetenv("HOME");
}

/* Where the cache is in that environment, "" and *why when there is none. In a process of
 * its own, because the environment is read once. */
static const char *place(const char *cache, const char *xdg, const char *home) {
    static char path[512];
    int ends[2];
    VP_CHECK(pipe(ends) == 0);
    pid_t child = fork();
    VP_CHECK(child >= 0);
    if (child == 0) {
        const char *why = NULL;
        with_environment(cache, xdg, home);
        vp__cache *c = vp__cache_get_default(&why);
        if (c != vp__cache_get_default(NULL)) _exit(1);
        if (c && (!put_kernel(c, 1) || !has_kernel(c, 1))) _exit(1);
        const char *answer = c ? vp__cache_path(c) : why;
        _exit(write(ends[1], answer, strlen(answer)) < 0);
    }
    close(ends[1]);
    ssize_t n = read(ends[0], path, sizeof path - 1);
    int status;
    close(ends[0]);
    VP_CHECK(waitpid(child, &status, 0) == child && status == 0);
    path[n > 0 ? n : 0] = '\0';
    return path;
}

VP_TEST(places) {
    make_root();
    const char *const home = cache_root;
    VP_CHECK_STR(place(NULL, NULL, home), cache_path(".cache/vproc"));
    VP_CHECK_STR(place(NULL, cache_path("x"), home), cache_path("x/vproc"));
    VP_CHECK_STR(place(NULL, cache_path("x"), home), cache_path("x/vproc"));
    VP_CHECK_STR(place("on", "relative", home), cache_path(".cache/vproc"));
    VP_CHECK_STR(place(cache_path("d/e"), NULL, NULL), cache_path("d/e"));
    VP_CHECK_CONTAINS(place("off", NULL, home), "off");
    VP_CHECK_CONTAINS(place("0", NULL, home), "off");
    VP_CHECK_CONTAINS(place(NULL, NULL, NULL), "home");
    VP_CHECK_CONTAINS(place(NULL, NULL, ""), "home");
    VP_CHECK_CONTAINS(place(NULL, NULL, "/dev/null/nowhere"), "opened");
    VP_CHECK_CONTAINS(place(NULL, NULL, cache_path("missing")), "opened");
    VP_CHECK_CONTAINS(place("/proc/nothing/here", NULL, home), "opened");
    VP_CHECK(access(cache_path("missing"), F_OK) != 0);
    remove_root();
}

/* In a folder that may not be written, kernels are found and none is kept. */
VP_TEST(read_only_folder) {
    make_root();
    vp__cache *cache = open_cache(BOUND);
    VP_CHECK(put_kernel(cache, 1));
    if (geteuid() == 0) { /* root may write anywhere */
        VP_CHECK(chown(cache_root, 12345, 12345) == 0);
        VP_CHECK(chown(cache_path("c"), 12345, 12345) == 0);
        VP_CHECK(chown(kernel_path(1), 12345, 12345) == 0);
    }
    VP_CHECK(chmod(cache_path("c"), 0500) == 0);
    pid_t child = fork();
    if (child == 0) {
        if (geteuid() == 0 && setresuid(12345, 12345, 12345) != 0) _exit(1);
        _exit(!has_kernel(cache, 1) || put_kernel(cache, 2) || has_kernel(cache, 2));
    }
    int status;
    VP_CHECK(waitpid(child, &status, 0) == child && status == 0);
    VP_CHECK(chmod(cache_path("c"), 0700) == 0);
    vp__cache_close(cache);
    remove_root();
}
