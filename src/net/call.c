/* SPDX-License-Identifier: Apache-2.0 */
#include "net/call.h"

#include "net/runtime.h"

_Thread_local _Atomic int vp__call_within;

__attribute__((noinline, cold)) vp__core *vp__call_first(void) {
    vp__net_init();
    return vp__core_self();
}

/* noinline: in line, every call would find out first whether it is within another. */
__attribute__((noinline)) void vp__call_give_back(const _Atomic int *call) {
    /* What others have left is for workers, where there are any: `release` is not called by a
     * thread that has nothing to do with it. */
    if (call != &vp__call_within) vp__storages_give_back(vp__placeable == 1);
}
