"""The optional native engine. Without a C++ compiler the package installs and runs without it."""

from pathlib import Path

from pybind11.setup_helpers import ParallelCompile, Pybind11Extension
from setuptools import setup

NATIVE = Path("src/fittest/native")

ParallelCompile("NPY_NUM_BUILD_JOBS", default=2).install()
setup(
    ext_modules=[
        Pybind11Extension(
            "fittest._native",
            sorted(str(path) for path in NATIVE.glob("*.cpp")),
            include_dirs=[str(NATIVE)],
            depends=sorted(str(path) for path in NATIVE.glob("*.hpp")),
            cxx_std=17,
            # No -ffast-math: it would let the compiler undo the exact form of the loss. No
            # -march: each level_*.cpp names its own instruction set, and one is chosen at run time.
            # Neither errno nor traps are read; without them square roots go through vectors.
            extra_compile_args=["-O3", "-fno-math-errno", "-fno-trapping-math"],
            optional=True,
        )
    ]
)
