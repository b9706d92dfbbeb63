/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of library operations as data.
 */
#include "lib/lib.h"

enum { MANY = VP__MANY };

const vp__lib_info vp__lib_rows[VP__LIB_KINDS] = {
#define VP_LIB(id, family, operands, rule, result, size, cost, numpy, doc)               \
    [VP__LIB_##id] = {#id,                                                               \
                      numpy,                                                             \
                      doc,                                                               \
                      operands,                                                          \
                      VP__RULE_##rule,                                                   \
                      VP__RESULT_##result,                                               \
                      VP__SIZE_##size,                                                   \
                      cost},
#include "lib/lib.def"
};

const vp__lane_work vp__lib_along[VP__LIB_KINDS] = {
#define VP_ALONG(id, rule, result, cost, scratch, numpy, doc)                            \
    [VP__LIB_##id] = {vp__lib_##id, vp__lib_##scratch},
#include "lib/lib.def"
};

size_t vp__lib_no_scratch(const vp__view *in, int axis) {
    (void)in;
    (void)axis;
    return 0;
}

bool vp__lib_types(vp__lib_kind kind, vp_dtype t, vp_dtype *work, vp_dtype *result) {
    const vp__lib_info *row = &vp__lib_rows[kind];
    return vp__rule_types((vp__rule)row->rule, (vp__result)row->result, t, work, result);
}

vp__fft_kind vp__lib_fft_kind(vp__lib_kind kind, bool real) {
#define VP_FOURIER(id, rule, result, of_real, of_complex, cost, numpy, doc)              \
    if (kind == VP__LIB_##id) return real ? VP__FFT_##of_real : VP__FFT_##of_complex;
#include "lib/lib.def"
    return VP__FFT_NONE;
}

bool vp__lib_is_fourier(vp__lib_kind kind) {
    return vp__lib_fft_kind(kind, true) != VP__FFT_NONE ||
           vp__lib_fft_kind(kind, false) != VP__FFT_NONE;
}

const char *vp__lib_epilogue_name(vp__lib_kind kind, int op) {
#define VP_EPILOGUE(id, epilogue)                                                        \
    if (kind == VP__LIB_##id && op == VP__OP_##epilogue) return #epilogue "(" #id ")";
#include "lib/lib.def"
    return NULL;
}

bool vp__lib_takes_epilogues(vp__lib_kind kind) {
#define VP_EPILOGUE(id, epilogue)                                                        \
    if (kind == VP__LIB_##id) return true;
#include "lib/lib.def"
    return false;
}
