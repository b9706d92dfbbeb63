/* SPDX-License-Identifier: Apache-2.0
 *
 * fork, while other threads of the program issue.
 *
 * The child has one thread: the one that forked. What another one was in the middle of, with
 * a lock of an array held, a bundle in hand or a node half run, nobody in the child would
 * ever end. So every function of the interface says when it begins and when it ends (call.h), and a
 * fork waits until each other thread that issues is outside of them all, or inside of one at
 * a place where it only waits for the net, holds no lock and has nothing in hand: there it
 * stops until the fork is over. Nobody waits for a result meanwhile, and a node of many
 * pieces is left after the next one, so a fork takes as long as the longest of the pieces
 * and of the copies to the user that are under way.
 *
 * What a child may rely on:
 *  - All arrays, the forking thread's and those of others, can be read, written and dropped.
 *    Each other thread's part of the program ends between two of its instructions; what it
 *    had issued by then, parent and child complete each for itself.
 *  - The child can issue, wait, start threads that do, fork, and exit.
 *  - A call that waits in another thread never returns in the child, and nobody waits for
 *    it: an array it was going to read may be written at once.
 *  - What other threads held without a name, open expressions and mapped arrays, stays as it
 *    was when it was captured, and its memory goes with the child.
 * What the program has of its own, locks above all, is its own business, as ever with fork.
 * So are a thread that is just making the first call of all, and the `release` of borrowed
 * memory: it must not fork, nor wait for a thread that does.
 */
#ifndef VP_NET_FORK_H
#define VP_NET_FORK_H

/* The handlers of fork; with them registered, forks are looked after. */
void vp__fork_init(void);

#endif
