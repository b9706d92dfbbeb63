# SPDX-License-Identifier: Apache-2.0
"""What is measured: every experiment with its sizes, its series and the figures of the paper,
"A Virtual Processor brings back the Free Lunch".

A series is one program in one language with one set of flags or settings. The names are the
ones that tables, figures and JSON files show.
"""

from dataclasses import dataclass, field

from vresults.names import WITHOUT


@dataclass(frozen=True)
class Series:
    name: str
    kind: str  # vproc, c, fortran, python: how its program is built and started
    program: str
    flags: tuple = ()  # of the compiler, or NAME=VALUE settings of vproc
    valid: bool = True  # whether its result is to be compared
    libraries: tuple = ()


@dataclass(frozen=True)
class Experiment:
    name: str
    title: str
    times: dict  # size -> evaluations in one sample
    tolerance: float  # relative; 0: bit for bit
    series: tuple
    figure: str = ""
    one_size: bool = False
    seconds: float = 10  # running time of a series, as the paper's
    least_seconds: float = 0  # below which a series is mostly its start
    least_size: int = 1
    planes: int = 0  # matrices of float64 of that side that it keeps
    paper: dict = field(default_factory=dict)  # size -> {label: ms, or [least, most]}
    left_out: dict = field(default_factory=dict)  # name of a peer -> why it has no program
    # (program, size) -> the elements that an evaluation of it on vproc goes over at least, and
    # those that it stores at least into parts of arrays: who counts less has skipped work
    least: object = None


GCC = ("-O3", "-march=native")
FAST = ("-ffast-math",)
OPENMP = ("-fopenmp",)


def vproc_series(program, loop=None):
    """One program on vproc in all the ways it can run."""
    found = [
        Series("vproc", "vproc", program),
        Series("vproc-warm", "vproc", program, ("CACHE=warm",)),
        Series("vproc-sync", "vproc", program, ("VP_SYNC=1",)),
    ]
    if loop:
        found += [
            Series("vproc-loop", "vproc", loop),
            Series("vproc-loop-warm", "vproc", loop, ("CACHE=warm",)),
            Series("vproc-loop-sync", "vproc", loop, ("VP_SYNC=1",)),
        ]
    return found + [
        Series("vproc-base", "vproc", program, ("VP_JIT=off",)),
        Series("vproc-native", "vproc", program, ("VP_JIT=native",)),
        Series("vproc-specialised", "vproc", program, ("VP_JIT=specialised",)),
    ]


def fortran_series(program):
    native = GCC + FAST
    return [
        Series("gfortran-O0", "fortran", program, ("-O0",)),
        Series("gfortran-O3", "fortran", program, ("-O3",)),
        Series("gfortran-native-fast", "fortran", program, native),
        Series("gfortran-fused", "fortran", program, native + ("-DFUSED",)),
    ]


def c_series(program, fast=True):
    found = [
        Series("c", "c", program, GCC),
        Series("c-openmp", "c", program, GCC + OPENMP),
    ]
    if fast:
        found += [
            Series("c-fast", "c", program, GCC + FAST),
            Series("c-openmp-fast", "c", program, GCC + FAST + OPENMP),
        ]
    return found


def python_series(program, *modules):
    known = {
        "numpy": ("numpy_programs", program),
        "numba": ("numba_programs", program),
        "numba-parallel": ("numba_programs", program + "_parallel"),
        "jax": ("jax_programs", program),
    }
    flags = {
        "numba": ("@njit(fastmath=True)",),
        "numba-parallel": ("@njit(fastmath=True, parallel=True)",),
        "jax": ("jit", "centres moved by a product of matrices") if program == "a4"
               else ("jit",),
    }
    return [Series(name, "python", " ".join(known[name]), flags.get(name, ()))
            for name in modules]


A1 = Experiment(
    name="a1",
    title="A1: sum((m0 & (A << shift)) | (~m0 & B), 1) on uint32 [507,10,5,17]",
    times={507: 1000},
    tolerance=0,
    figure="Figure 4",
    paper={507: {"paper: Numba": [0.66, 1.2], "paper: NumPy": [0.46, 2.2],
                 "paper: Fortran": 0.10,
                 "paper: VP": 0.066, "paper: VP experimental": 0.0085}},
    one_size=True,
    least=lambda program, n: (507 * 10 * 5 * 17, 0),
    series=tuple(vproc_series("a1") + c_series("a1", fast=False) + fortran_series("a1")
                 + python_series("a1", "numpy", "numba", "numba-parallel", "jax")),
)

A2 = Experiment(
    name="a2",
    title="A2: sum(abs(sin(A)), 0), and the same as a loop over columns",
    times={1500: 10, 200: 500},
    planes=3,
    tolerance=1e-12,
    figure="Figure 5",
    paper={1500: {"paper: loop": 14.3, "paper: vectorised": 12.7, "paper: Parallel.For": 3.6,
                  "paper: VP loop": 5.3, "paper: VP vectorised": [1.3, 2.0]},
           200: {"paper: loop": 0.43, "paper: Parallel.For": 0.46, "paper: VP loop": 0.47,
                 "paper: VP vectorised": 0.024}},
    least=lambda program, n: (n * n, n if program == "a2_loop" else 0),
    series=tuple(vproc_series("a2", loop="a2_loop") + c_series("a2") + fortran_series("a2")
                 + python_series("a2", "numpy", "numba", "numba-parallel", "jax")
                 + [Series("numpy-loop", "python", "numpy_programs a2_loop")]),
)

A3 = Experiment(
    name="a3",
    title="A3: for i: B[0:i+1] = sum(abs(sin(A[:,i])))",
    times={1500: 10, 200: 500},
    planes=3,
    tolerance=1e-12,
    figure="Figure 6",
    paper={1500: {"paper: loop": 18.1, "paper: Parallel.For (wrong)": 12.4, "paper: VP": 5.2}},
    least=lambda program, n: (n * n, n * (n + 1) // 2),
    series=tuple(
        vproc_series("a3")
        + [Series("c", "c", "a3", GCC + ("-DORDER=0",)),
           Series("c-fast", "c", "a3", GCC + FAST + ("-DORDER=0",)),
           Series("c-openmp-ordered", "c", "a3", GCC + OPENMP + ("-DORDER=1",)),
           Series("c-openmp-ordered-fast", "c", "a3", GCC + FAST + OPENMP + ("-DORDER=1",)),
           Series("c-openmp-invalid", "c", "a3", GCC + FAST + OPENMP + ("-DORDER=0",),
                  valid=False)]
        + fortran_series("a3") + python_series("a3", "numpy", "numba")),
    left_out={"numba-parallel": "has no ordered loops", "jax": "has no slices whose length varies under jit"},
)

CLASSES = 50


def least_of_a4(program, n):
    """Every column is compared with every centre and has its class stored; at the paper's size
    in five iterations, which all move every centre. At others there may be one, and empty
    classes."""
    if n == 1203:
        return 5 * n * n * CLASSES, 5 * (n + CLASSES * n)
    return n * n * CLASSES, n


A4 = Experiment(
    name="a4",
    title="A4: K-means, 50 classes of columns of float64",
    times={1203: 3},
    seconds=15,
    least_seconds=1.5,
    least_size=100,  # with hardly more columns than classes, rounding would decide
    planes=4,
    tolerance=0,
    figure="Figure 7",
    paper={1203: {"paper: NumPy": 1246, "paper: no VP": 1000, "paper: Fortran": 247,
                  "paper: VP": 107}},
    least=least_of_a4,
    series=tuple(vproc_series("a4") + c_series("a4") + fortran_series("a4")
                 + python_series("a4", "numpy", "numba", "numba-parallel", "jax")),
)

FFT = Experiment(
    name="fft",
    title="F: R1 = abs(fft(data1)); R1 = sum(R1 + abs(fft(data2)), 1)",
    times={256: 100, 1024: 10, 4096: 1},
    planes=6,
    tolerance=1e-9,
    # Two transforms, two magnitudes, one sum.
    least=lambda program, n: (5 * n * n, 0),
    series=tuple(vproc_series("fft")
                 + [Series("fftw-threads", "c", "fft", GCC + FAST + OPENMP,
                           libraries=("-lfftw3_omp", "-lfftw3")),
                    # MKL offers its transforms as FFTW's functions, too.
                    Series("mkl", "c", "fft", GCC + FAST + OPENMP, libraries=("-lmkl_rt",))]
                 + python_series("fft", "numpy", "jax")),
)

TINY = Experiment(
    name="tiny",
    title="tiny: c = a + b on a few float64",
    times={10: 100000},
    tolerance=0,
    least=lambda program, n: (n, 0),
    series=tuple(vproc_series("tiny") + python_series("tiny", "numpy", "jax")),
)

EXPERIMENTS = {e.name: e for e in (A1, A2, A3, A4, FFT, TINY)}

# Mechanisms that --ablate switches off, one at a time: VP_WITHOUT's words.
MECHANISMS = ("fusion", "sizes", "renaming", "continuation", "stealing", "inline",
              "bundles", "replay", "liveness")


def ablations(experiment):
    """The main series of an experiment without one mechanism each."""
    main = [s for s in experiment.series if s.name in ("vproc", "vproc-loop")]
    return tuple(Series(f"{s.name}{WITHOUT}{m}", "vproc", s.program, (f"VP_WITHOUT={m}",))
                 for s in main for m in MECHANISMS)
