/* SPDX-License-Identifier: Apache-2.0
 *
 * FUZZ_SANITIZED: whether a sanitizer watches; then everything takes longer, and crashes
 * are reported already.
 */
#ifndef FUZZ_SANITIZED_H
#define FUZZ_SANITIZED_H

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define FUZZ_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define FUZZ_SANITIZED 1
#endif
#endif
#ifndef FUZZ_SANITIZED
#define FUZZ_SANITIZED 0
#endif

#endif
