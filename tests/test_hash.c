/* SPDX-License-Identifier: Apache-2.0
 *
 * The hash gives what others' BLAKE2b gives, however its input comes.
 */
#include "base/hash.h"

#include <stdio.h>
#include <string.h>

#include "tests/harness.h"

static const char *text_of(vp__hash hash) {
    static char text[65];
    for (int i = 0; i < 32; i++)
        snprintf(text + 2 * (size_t)i, 3, "%02x", (unsigned)hash.bytes[i]);
    return text;
}

VP_TEST(known_values) {
    VP_CHECK_STR(text_of(vp__hash_of("", 0)),
                 "0e5751c026e543b2e8ab2eb06099daa1d1e5df47778f7787faab45cdf12fe3a8");
    VP_CHECK_STR(text_of(vp__hash_of("abc", 3)),
                 "bddd813c634239723171ef3fee98579b94964e3bb1cb3e427262c8c068d52319");
    uint8_t bytes[1000];
    for (int i = 0; i < 1000; i++) bytes[i] = (uint8_t)(i * 7);
    VP_CHECK_STR(text_of(vp__hash_of(bytes, 128)),
                 "14696d2a98d9f8a280da8b132b1045b345e1033759c6b02fcc4ee885c8ae7c37");
    VP_CHECK_STR(text_of(vp__hash_of(bytes, 129)),
                 "3934215260b1039be9d9d2b073b059bcd50120c327a22af93eb4d98cf821c14c");
    VP_CHECK_STR(text_of(vp__hash_of(bytes, 1000)),
                 "6ac4bea923678eb024090384d6e767b5870f849057dc19b172d8d9f2df30bf8e");
}

VP_TEST(parts_do_not_matter) {
    uint8_t bytes[700];
    for (int i = 0; i < 700; i++) bytes[i] = (uint8_t)(i * i);
    for (size_t part = 1; part < 300; part++) {
        vp__hasher h;
        vp__hasher_init(&h);
        for (size_t at = 0; at < sizeof bytes; at += part)
            vp__hasher_add(&h, bytes + at,
                           sizeof bytes - at < part ? sizeof bytes - at : part);
        vp__hash whole = vp__hash_of(bytes, sizeof bytes), parts = vp__hasher_result(&h);
        VP_CHECK_BYTES(&whole, &parts, sizeof whole);
    }
}
