/* SPDX-License-Identifier: Apache-2.0
 *
 * Code that the loader refuses, one reason at a time.
 */
#if VP_REASON == 1
long test_value = 7; /* writable data */
long test_get(void) { return test_value++; }
#elif VP_REASON == 2
long test_value; /* writable data that no file holds */
long test_get(void) { return test_value++; }
#elif VP_REASON == 3
__thread long test_value = 7; /* a copy per thread */
long test_get(void) { return test_value++; }
#elif VP_REASON == 4
long test_get(void) { return 1; }
/* Code that wants to run at load time. */
static void __attribute__((constructor)) start(void) { __asm__ volatile(""); }
#endif
