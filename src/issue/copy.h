/* SPDX-License-Identifier: Apache-2.0 */
#ifndef VP_ISSUE_COPY_H
#define VP_ISSUE_COPY_H

#include "array/storage.h"

/* Copies all of one storage to another of the same size, failures included: what renaming a
 * buffer takes. False without memory. */
bool vp__copy_storage(vp__storage *to, vp__storage *from, const char *where);

#endif
