/* SPDX-License-Identifier: Apache-2.0 */
#ifndef VP_NET_RUNTIME_H
#define VP_NET_RUNTIME_H

/* Starts the runtime: once, from whichever thread comes first. */
void vp__net_init(void);

#endif
