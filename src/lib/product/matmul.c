/* SPDX-License-Identifier: Apache-2.0
 *
 * Matrix products. The output is cut into a grid of pieces. Small products, integers and
 * everything when there is no BLAS go through the built-in product, which takes any strides
 * and adds every element's terms in order, so that its bits do not depend on the cut. Nor do
 * those of gemm.h, which large products of floats go through. The others go to BLAS, piece by
 * piece and cut by shape alone; operands whose strides BLAS cannot express are copied to
 * scratch first.
 */
#include <math.h>
#include <string.h>

#include "lib/lib.h"
#include "lib/loops.h"
#include "lib/move/nest.h"
#include "lib/product/blas.h"
#include "lib/product/gemm.h"

enum {
    GRAIN = 16,     /* pieces' sides are multiples of this */
    DEPTH = 128,    /* of b's panel in the built-in product: 16 KB, half of L1 */
    ALIGNMENT = 64, /* of what lies in scratch */
    FEW_ROWS = 16,  /* so few are not worth packing b for */
    FEW = 64        /* the same of rows, columns or terms in gemm.h */
};

static vp__matrix matrix_of(const vp__view *v) {
    return (vp__matrix){v->data, v->dims[0], v->dims[1], v->strides[0], v->strides[1]};
}

/* Multiply-adds in about 50 µs, by type, at the speed of one core of a recent x86. */
static double grain_volume(vp_dtype t) {
    switch (t) {
    case VP_F32: return 2e6;
    case VP_C64: return 5e5;
    case VP_C128: return 2.5e5;
    case VP_I64:
    case VP_U64: return 2.5e5;
    default: return 1e6;
    }
}

/* Multiply-adds of one piece, at least. Every piece brings operands into an order of its
 * own first, so small pieces of deep products are slow; with many pieces there is no need
 * for them to be small. */
static double piece_volume(double whole, vp_dtype t) {
    double grain = grain_volume(t), grown = sqrt(whole * grain) / 4;
    return grown > grain ? grown : grain;
}

static int64_t round_up(double x) {
    double up = ceil(x / GRAIN) * GRAIN;
    return up < GRAIN ? GRAIN : up > 1e15 ? (int64_t)1e15 : (int64_t)up;
}

typedef struct {
    int64_t rows, cols;   /* of one piece */
    int64_t down, across; /* pieces */
} grid;

/* Rows of a piece, where out has them. BLAS packs all of b again for every piece, and it
 * takes so many rows, by how fast the type's multiply-adds are, for that not to show:
 * measured on Zen 4 for sides of 256 to 1024, slices of this height and full width are
 * within 4 % of the whole product, 48 x 176 was at 80 %. */
static double slice_rows(vp_dtype t) {
    switch (t) {
    case VP_F32: return 256;
    case VP_F64: return 176;
    case VP_C64: return 128;
    case VP_C128: return 96;
    default: return 0;
    }
}

/* Slices of rows first. Columns are cut where one slice is all there is, or where out is
 * so wide that packing a for each piece does not show either. */
static grid sliced_grid(int64_t m, int64_t n, int64_t k, vp_dtype t) {
    enum { WIDE = 1024 };
    double depth = (double)k, rows = (double)m, cols = (double)n;
    double wish = piece_volume(rows * cols * depth, t);
    double height = fmax(slice_rows(t), wish / (cols * depth));
    double down = ceil(rows / height);
    grid g = {.rows = m, .cols = n};
    if (down > 1) g.rows = round_up(rows / down);
    double width = fmax(down > 1 ? WIDE : GRAIN, wish / ((double)g.rows * depth));
    double across = floor(cols / width);
    if (across > 1) g.cols = round_up(cols / across);
    return g;
}

/* The built-in product packs little, so its pieces are small: four times as wide as high,
 * where out is large enough both ways, for the rows of b that a piece reads to be long
 * runs of memory. */
static grid tiled_grid(int64_t m, int64_t n, int64_t k, vp_dtype t) {
    grid g = {.rows = m, .cols = n};
    double area = (double)m * (double)n;
    double wish = piece_volume(area * (double)k, t) / (double)k; /* elements per piece */
    if (wish >= area) return g;
    int64_t height = round_up(sqrt(wish) / 2);
    if (height < g.rows) g.rows = height;
    int64_t width = round_up(wish / (double)g.rows);
    if (width < g.cols) g.cols = width;
    height = round_up(wish / (double)g.cols); /* out may be too narrow for that */
    if (height > g.rows) g.rows = height < m ? height : m;
    return g;
}

/* Which way a product goes is a matter of shape and type, never of strides or timing. */
static bool uses_blas(int64_t m, int64_t n, int64_t k, vp_dtype t) {
    if ((double)m * (double)n * (double)k <= 4096) return false;
    if (m > INT32_MAX || n > INT32_MAX || k > INT32_MAX) return false;
    return vp__blas_takes(t);
}

/* What BLAS would do in one piece is left to it: it is as quick, and quicker where rows,
 * columns or terms are few. */
static bool uses_gemm(int64_t m, int64_t n, int64_t k, vp_dtype t) {
    return m >= FEW && n >= FEW && k >= FEW &&
           (double)m * (double)n * (double)k > grain_volume(t) && vp__gemm_takes(t);
}

/* So many pieces that cores which differ in speed end at about the same time, and that who
 * waits for a thread to pause does not wait for long. */
static int64_t gemm_parts(int64_t m, int64_t n, int64_t k, vp_dtype t, int cores) {
    enum { EACH = 2, LONGEST = 1000 };
    const double most = (double)m * (double)n * (double)k / grain_volume(t);
    const double least = ceil(most / LONGEST);
    const double wish = cores > 1 ? fmin(most, EACH * cores) : 1;
    return (int64_t)fmax(wish, least);
}

/* The grid of up to so many pieces whose largest takes least time. Every piece brings its
 * rows of a and its columns of b into order first, and an element of those takes as long as
 * some of out's multiply-adds. */
static grid gemm_grid(int64_t m, int64_t n, vp_dtype t, int64_t parts) {
    enum { PACKING = 64 };
    int64_t tall, wide;
    vp__gemm_tile(t, &tall, &wide);
    grid g = {0};
    double least = INFINITY;
    for (int64_t across = 1; across <= parts; across++) {
        const int64_t down = parts / across;
        const int64_t rows = ((m + down - 1) / down + tall - 1) / tall * tall;
        const int64_t cols = ((n + across - 1) / across + wide - 1) / wide * wide;
        const double takes =
            (double)rows * (double)cols + PACKING * ((double)rows + (double)cols);
        if (takes >= least) continue;
        least = takes;
        g = (grid){rows, cols, down, across};
    }
    return g;
}

static grid grid_of(int64_t m, int64_t n, int64_t k, vp_dtype t) {
    if (m < 1) m = 1;
    if (n < 1) n = 1;
    if (k < 1) k = 1;
    grid g = {.rows = m, .cols = n};
    if ((double)m * (double)n * (double)k > grain_volume(t))
        g = slice_rows(t) > 0 ? sliced_grid(m, n, k, t) : tiled_grid(m, n, k, t);
    g.down = (m + g.rows - 1) / g.rows;
    g.across = (n + g.cols - 1) / g.cols;
    return g;
}

int64_t vp__lib_matmul_parts(int64_t m, int64_t n, int64_t k, vp_dtype t, int cores) {
    if (uses_gemm(m, n, k, t)) return gemm_parts(m, n, k, t, cores);
    grid g = grid_of(m, n, k, t);
    return g.down * g.across;
}

/* Whether BLAS can take x as it lies, and how. */
static bool fits(vp__matrix x, int size, vp__blas_matrix *to) {
    for (int turned = 0; turned < 2; turned++) {
        int64_t ld = x.row / size;
        bool whole = x.row % size == 0 && ld >= x.cols && ld >= 1 && ld <= INT32_MAX;
        if (x.rows == 1) whole = true, ld = x.cols;
        if (whole && (x.col == size || x.cols == 1)) {
            *to = (vp__blas_matrix){x.data, ld > 0 ? (int)ld : 1, turned};
            return true;
        }
        x = vp__matrix_turned(x);
    }
    return false;
}

static size_t scratch_of(int64_t rows, int64_t cols, int size) {
    size_t bytes = (size_t)rows * (size_t)cols * (size_t)size;
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* Row-major room for x in scratch, which moves on. */
static vp__matrix place(vp__matrix x, int size, char **scratch) {
    vp__matrix y = {*scratch, x.rows, x.cols, x.cols * size, size};
    *scratch += scratch_of(x.rows, x.cols, size);
    return y;
}

/* A vector's increment in elements, or 0 when BLAS cannot take it. */
static int increment(int64_t stride, int64_t n, int size) {
    if (n == 1) return 1;
    if (stride <= 0 || stride % size != 0 || stride / size > INT32_MAX) return 0;
    return (int)(stride / size);
}

/* Products with a vector have their own routine, many times quicker. */
static bool apply_blas(vp__matrix out, vp__matrix a, vp__matrix b, vp_dtype t, int size) {
    if (out.rows == 1 && out.cols > 1) {
        vp__matrix left = vp__matrix_turned(b);
        b = vp__matrix_turned(a);
        a = left;
        out = vp__matrix_turned(out);
    }
    if (out.cols != 1) return false;
    vp__blas_matrix x;
    int incy = increment(out.row, out.rows, size), incx = increment(b.row, b.rows, size);
    if (!incx || !incy || !fits(a, size, &x)) return false;
    vp__blas_apply(t, (int)out.rows, (int)b.rows, out.data, incy, &x, b.data, incx);
    return true;
}

static void multiply_blas(vp__matrix out, vp__matrix a, vp__matrix b, vp_dtype t,
                          char *scratch) {
    int size = vp__dtype[t].size;
    if (apply_blas(out, a, b, t, size)) return;
    vp__blas_matrix x, y, z;
    if (!fits(a, size, &x)) {
        vp__matrix copy = place(a, size, &scratch);
        vp__matrix_copy(copy, a, size);
        fits(copy, size, &x);
    }
    if (!fits(b, size, &y)) {
        vp__matrix copy = place(b, size, &scratch);
        vp__matrix_copy(copy, b, size);
        fits(copy, size, &y);
    }
    int m = (int)out.rows, n = (int)out.cols, k = (int)a.cols;
    vp__matrix target = out;
    if (!fits(out, size, &z)) {
        target = place(out, size, &scratch);
        fits(target, size, &z);
    }
    if (z.turned) { /* the transpose of the product is the product of the transposes */
        vp__blas_matrix left = {y.data, y.ld, !y.turned},
                        right = {x.data, x.ld, !x.turned};
        z.turned = false;
        vp__blas_product(t, n, m, k, &z, &left, &right);
    } else {
        vp__blas_product(t, m, n, k, &z, &x, &y);
    }
    if (target.data != out.data) vp__matrix_copy(out, target, size);
}

/* Brings a panel of b into rows of VP__PRODUCT_BYTES, padded with zeros; complex elements
 * are split into real and imaginary halves. */
static void pack(char *panel, vp__matrix b, int size, bool is_complex) {
    int component = is_complex ? size / 2 : size;
    if (b.cols * size < VP__PRODUCT_BYTES)
        memset(panel, 0, (size_t)b.rows * VP__PRODUCT_BYTES);
    vp__matrix to = {panel, b.rows, b.cols, VP__PRODUCT_BYTES, component};
    vp__matrix_copy(to, b, component);
    if (!is_complex) return;
    to.data += VP__PRODUCT_BYTES / 2;
    b.data += component;
    vp__matrix_copy(to, b, component);
}

static void multiply_own(vp__matrix out, vp__matrix a, vp__matrix b, vp_dtype t) {
    _Alignas(ALIGNMENT) char panel[DEPTH * VP__PRODUCT_BYTES];
    int size = vp__dtype[t].size;
    bool is_complex = vp__dtype[t].cls == VP__CLASS_C;
    vp__product_fn product = vp__loops_get()->product[t];
    int64_t width = VP__PRODUCT_BYTES / size;
    for (int64_t k = 0; k < a.cols || k == 0; k += DEPTH) {
        int64_t depth = a.cols - k < DEPTH ? a.cols - k : DEPTH;
        for (int64_t c = 0; c < out.cols; c += width) {
            int64_t cols = out.cols - c < width ? out.cols - c : width;
            vp__matrix bp = vp__matrix_part(b, k, depth, c, cols);
            vp__product p = {.out = out.data + c * out.col,
                             .a = vp__matrix_part(a, 0, out.rows, k, depth).data,
                             .b = bp.data,
                             .rows = out.rows,
                             .cols = cols,
                             .depth = depth,
                             .out_row = out.row,
                             .out_col = out.col,
                             .a_row = a.row,
                             .a_col = a.col,
                             .b_row = bp.row,
                             .b_im = VP__PRODUCT_BYTES / 2,
                             .first = k == 0};
            if (is_complex || cols < width || bp.col != size || out.rows > FEW_ROWS) {
                pack(panel, bp, size, is_complex);
                p.b = panel;
                p.b_row = VP__PRODUCT_BYTES;
            }
            product(&p);
        }
    }
}

/* Narrows the matrices down to a part of the grid; false if nothing of them is in it. */
static bool take_part(grid g, int64_t part, vp__matrix *out, vp__matrix *a,
                      vp__matrix *b) {
    const int64_t r = part / g.across * g.rows, c = part % g.across * g.cols;
    const int64_t rows = out->rows - r < g.rows ? out->rows - r : g.rows;
    const int64_t cols = out->cols - c < g.cols ? out->cols - c : g.cols;
    if (rows <= 0 || cols <= 0) return false;
    *a = vp__matrix_part(*a, r, rows, 0, a->cols);
    *b = vp__matrix_part(*b, 0, b->rows, c, cols);
    *out = vp__matrix_part(*out, r, rows, c, cols);
    return true;
}

void vp__lib_matmul(const vp__view *out, const vp__view *a, const vp__view *b,
                    int64_t part, int64_t parts, void *const scratch[2]) {
    const vp_dtype t = out->dtype;
    vp__matrix x = matrix_of(a), y = matrix_of(b), z = matrix_of(out);
    const int64_t m = z.rows, n = z.cols, k = x.cols;
    if (uses_gemm(m, n, k, t)) {
        if (take_part(gemm_grid(m, n, t, parts), part, &z, &x, &y))
            vp__gemm(z, x, y, t, scratch);
        return;
    }
    grid g = grid_of(m, n, k, t);
    const bool gridded = parts == g.down * g.across;
    if (!gridded) { /* a cut of the caller's own: by rows, and never through scratch */
        const int64_t rows = (m + parts - 1) / parts;
        g = (grid){.rows = rows > 0 ? rows : 1, .cols = n, .down = parts, .across = 1};
    }
    if (!take_part(g, part, &z, &x, &y)) return;
    if (gridded && uses_blas(m, n, k, t)) {
        uintptr_t aligned =
            ((uintptr_t)scratch[0] + ALIGNMENT - 1) & ~(uintptr_t)(ALIGNMENT - 1);
        multiply_blas(z, x, y, t, (char *)aligned);
        return;
    }
    if (z.row == vp__dtype[t].size && z.col != vp__dtype[t].size) {
        vp__matrix left = vp__matrix_turned(y);
        y = vp__matrix_turned(x);
        x = left;
        z = vp__matrix_turned(z);
    }
    multiply_own(z, x, y, t);
}

void vp__lib_matmul_scratch(const vp__view *out, const vp__view *a, const vp__view *b,
                            int64_t parts, size_t bytes[2]) {
    int64_t m = out->dims[0], n = out->dims[1], k = a->dims[1];
    bytes[0] = bytes[1] = 0;
    if (m == 0 || n == 0 || k == 0) return;
    if (uses_gemm(m, n, k, out->dtype)) {
        vp__gemm_scratch(gemm_grid(m, n, out->dtype, parts).cols, k, out->dtype, bytes);
        return;
    }
    if (!uses_blas(m, n, k, out->dtype)) return;
    int size = vp__dtype[out->dtype].size;
    grid g = grid_of(m, n, k, out->dtype);
    vp__blas_matrix ignored;
    bytes[0] = ALIGNMENT;
    if (!fits(matrix_of(a), size, &ignored)) bytes[0] += scratch_of(g.rows, k, size);
    if (!fits(matrix_of(b), size, &ignored)) bytes[0] += scratch_of(k, g.cols, size);
    if (!fits(matrix_of(out), size, &ignored))
        bytes[0] += scratch_of(g.rows, g.cols, size);
}
