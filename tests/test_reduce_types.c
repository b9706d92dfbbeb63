/* SPDX-License-Identifier: Apache-2.0
 *
 * Every reduction of every type into every type: what the type rules accept has kernels on
 * every instruction set and gives what conversion and reduction one after the other give;
 * what they refuse is an error where it was issued, which names all three.
 */
#include <stdlib.h>
#include <string.h>

#include "ops/kernels.h"
#include "tests/net_support.h"
#include "tests/reduce_reference.h"

enum { N = 300 };

static const char *const isas[] = {"baseline", "avx2", "avx512"};

static bool is_accepted(vp__op op, vp_dtype t, vp_dtype want, vp_dtype *work,
                        vp_dtype *result) {
    if (!vp__reduce_types(op, t, want, work, result)) return false;
    for (size_t i = 0; i < sizeof isas / sizeof isas[0]; i++) {
        const vp__kernels *k = vp__kernels_for(isas[i]);
        if (!k) continue;
        if (!k->reduce[op][*work].block || !k->cast[t][*work])
            VP_FAIL("%s of %s as %s has no kernel on %s", vp__ops[op].name,
                    vp__dtype[t].name, vp__dtype[*work].name, isas[i]);
    }
    return true;
}

/* Small whole numbers, so that every conversion is defined and some are zero. */
static void fill(vp_dtype t, void *at) {
    for (int i = 0; i < N; i++) {
        const double x = (i * 37 % 19 + (t == VP_BOOL ? 0 : 1)) % 7;
        vp__kernels_get()->cast[VP_F64][t]((char *)at + i * vp__dtype[t].size, &x, 1);
    }
}

static void check_result(vp__op op, vp_dtype t, vp_dtype want, vp_dtype work,
                         vp_dtype result) {
    _Alignas(64) char x[N * 16], as[N * 16], expected[16] = {0}, got[16] = {0};
    fill(t, x);
    vp__kernels_get()->cast[t][work](as, x, N);
    ref_reduce(expected, op, work, as, N);
    vp_scope s = vp_begin();
    vp_expr e =
        vp__reduce((int)op, VP_HERE, VP__IN(vp_from(t, vp_shape(N), x)), NULL, want, 0);
    VP_CHECK_OK(vp_read(e, got, (size_t)vp__dtype[result].size));
    if (memcmp(got, expected, (size_t)vp__dtype[result].size) != 0)
        VP_FAIL("%s of %s as %s differs from the reference", vp__ops[op].name,
                vp__dtype[t].name, vp__dtype[work].name);
    vp_end(s);
}

static void check_refusal(vp__op op, vp_dtype t, vp_dtype want) {
    char x[N * 16];
    fill(t, x);
    vp_scope s = vp_begin();
    vp_expr e =
        vp__reduce((int)op, VP_HERE, VP__IN(vp_from(t, vp_shape(N), x)), NULL, want, 0);
    VP_CHECK_EQ(vp_wait(e), VP_ERR_TYPE);
    VP_CHECK_CONTAINS(vp_message(), vp__ops[op].name);
    VP_CHECK_CONTAINS(vp_message(), vp__dtype[t].name);
    VP_CHECK_CONTAINS(vp_message(), vp__dtype[want].name);
    vp_clear_error();
    vp_end(s);
}

VP_TEST(every_accepted_combination_has_a_kernel) {
    for (int op = 0; op < VP__NOPS; op++)
        for (int t = 0; vp__ops[op].reduces && t < VP__NDTYPES; t++)
            for (int want = 0; want <= VP__NDTYPES; want++) {
                const vp_dtype wish = want < VP__NDTYPES ? (vp_dtype)want : VP_AUTO;
                vp_dtype work, result;
                if (is_accepted((vp__op)op, (vp_dtype)t, wish, &work, &result))
                    check_result((vp__op)op, (vp_dtype)t, wish, work, result);
                else
                    check_refusal((vp__op)op, (vp_dtype)t, wish);
            }
}

VP_TEST(no_type_at_all_is_refused) {
    vp_dtype work, result;
    VP_CHECK(!vp__reduce_types(VP__OP_sum, VP_F64, (vp_dtype)77, &work, &result));
    VP_CHECK(!vp__reduce_types(VP__OP_argmin, VP_F64, (vp_dtype)77, &work, &result));
}
