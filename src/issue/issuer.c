/* SPDX-License-Identifier: Apache-2.0 */
#include "issue/issuer.h"

#include <stdlib.h>

#include "base/config.h"

/* So often a form's first recipe is used before it is made anew: native code may be there by
 * then, and whether it is wanted is reckoned when plans are made. */
enum { FIRST_USES = 64 };

__attribute__((noinline, cold)) vp__issuer *vp__issuer_new(vp__core *core) {
    vp__issuer *i = calloc(1, sizeof *i);
    if (!i) return NULL;
    const vp__config *c = vp__config_get();
    /* Where every run's stage shall be decided anew, it is. */
    i->recipe_uses = c->sync || c->jit == VP__JIT_MIXED ? 0 : FIRST_USES;
    return core->issuer = i;
}
