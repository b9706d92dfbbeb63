/* SPDX-License-Identifier: Apache-2.0
 *
 * FFTW, opened at run time when the first length wants it. The process pays nothing for it
 * until then, and runs without it.
 */
#ifndef VP_LIB_FFT_FFTW_H
#define VP_LIB_FFT_FFTW_H

#include "lib/fft/fft.h"

/* Gives p a plan of FFTW's for its kind, type and length; false if VP_FFTW forbids it, there
 * is no FFTW or it has no plan. One thread at a time makes and frees plans. */
bool vp__fftw_plan(vp__fft_plan *p);
void vp__fftw_free(vp__fft_plan *p);

/* The version, in its own words, of the library for float32 or float64; NULL where there is
 * none to be used. Opens it, so one thread at a time here too. */
const char *vp__fftw_version(bool single);

/* Any thread. */
size_t vp__fftw_scratch(const vp__fft_plan *p);
void vp__fftw_run(const vp__fft_plan *p, const vp__fft_fibres *lanes);

#endif
