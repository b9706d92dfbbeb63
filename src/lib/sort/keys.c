/* SPDX-License-Identifier: Apache-2.0
 *
 * Loops that turn elements into sort keys and back. One-byte elements are sorted by
 * counting (sort.c); argsort alone makes keys of them.
 */
#include "lib/sort/keys.h"

#include "lib/move/move.h"

/* Elements of any type, seen as words. */
typedef uint16_t word16 __attribute__((may_alias));
typedef uint32_t word32 __attribute__((may_alias));
typedef uint64_t word64 __attribute__((may_alias));

/* Signed integers get the order of unsigned ones when their sign bit is flipped. */
static uint32_t flip_of(vp_dtype t) {
    if (vp__dtype[t].cls != VP__CLASS_S) return 0;
    return UINT32_C(1) << (8 * vp__dtype[t].size - 1);
}

void vp__keys_u32(uint32_t *keys, const char *in, int64_t stride, int64_t n, vp_dtype t,
                  bool same) {
    uint32_t flip = flip_of(t);
    if (vp__dtype[t].size == 1) {
        for (int64_t i = 0; i < n; i++) keys[i] = (uint8_t)in[i * stride] ^ flip;
        return;
    }
    if (vp__dtype[t].size == 2) {
        for (int64_t i = 0; i < n; i++)
            keys[i] = *(const word16 *)(const void *)(in + i * stride) ^ flip;
        return;
    }
    vp__move_row((char *)keys, sizeof *keys, in, stride, n, sizeof *keys);
    if (t == VP_F32 && same)
        for (int64_t i = 0; i < n; i++) keys[i] = vp__key_same32(keys[i]);
    else if (t == VP_F32)
        for (int64_t i = 0; i < n; i++) keys[i] = vp__key_f32(keys[i]);
    else if (flip)
        for (int64_t i = 0; i < n; i++) keys[i] ^= flip;
}

void vp__keys_u64(uint64_t *keys, const char *in, int64_t stride, int64_t n, vp_dtype t,
                  bool same) {
    vp__move_row((char *)keys, sizeof *keys, in, stride, n, sizeof *keys);
    if (t == VP_F64 && same)
        for (int64_t i = 0; i < n; i++) keys[i] = vp__key_same64(keys[i]);
    else if (t == VP_F64)
        for (int64_t i = 0; i < n; i++) keys[i] = vp__key_f64(keys[i]);
    else if (t == VP_I64)
        for (int64_t i = 0; i < n; i++) keys[i] ^= UINT64_C(1) << 63;
}

void vp__keys_undo32(void *out, const uint32_t *keys, int64_t n, vp_dtype t) {
    uint32_t flip = flip_of(t);
    if (vp__dtype[t].size == 2)
        for (int64_t i = 0; i < n; i++) ((word16 *)out)[i] = (uint16_t)(keys[i] ^ flip);
    else if (t == VP_F32)
        for (int64_t i = 0; i < n; i++) ((word32 *)out)[i] = vp__unkey_f32(keys[i]);
    else
        for (int64_t i = 0; i < n; i++) ((word32 *)out)[i] = keys[i] ^ flip;
}

void vp__keys_undo64(void *out, const uint64_t *keys, int64_t n, vp_dtype t) {
    word64 *to = out;
    if (t == VP_F64)
        for (int64_t i = 0; i < n; i++) to[i] = vp__unkey_f64(keys[i]);
    else
        for (int64_t i = 0; i < n; i++)
            to[i] = keys[i] ^ (t == VP_I64 ? UINT64_C(1) << 63 : 0);
}
