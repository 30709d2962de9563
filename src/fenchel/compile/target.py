"""The processor that kernels are compiled for: a common baseline, so that their bits do not depend on where that was done.

Sums of a kernel may be vectorised and contracted, so their last bits depend on the width of the registers and on fused
multiply-add. Kernels are therefore compiled for x86-64-v3 (AVX2 and FMA: processors since 2013) on every processor that has it:
object code that comes with a wheel, an entry of a cache folder that machines share and a kernel compiled here give the same
bits. On other processors, and where NUMBA_CPU_NAME names one, kernels are compiled for that processor as numba does, and object
code of the baseline does not match. Code of the user's own that numba compiles is not affected.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import llvmlite.binding as llvm
from numba.core import config
from numba.core.codegen import JITCPUCodegen

BASELINE = "x86-64-v3"
NEEDED = frozenset(
    {
        "avx",
        "avx2",
        "bmi",
        "bmi2",
        "cx16",
        "f16c",
        "fma",
        "lzcnt",
        "movbe",
        "popcnt",
        "sahf",
        "sse4.1",
        "sse4.2",
        "ssse3",
    }
)


@cache
def has_baseline() -> bool:
    """Whether this processor executes the instructions of the baseline, and the user has not named another one."""
    if config.CPU_NAME is not None or config.CPU_FEATURES is not None:
        return False
    if not llvm.get_process_triple().startswith("x86_64"):
        return False
    features = llvm.get_host_cpu_features()
    return all(features.get(name, False) for name in NEEDED)


class BaselineCodegen(JITCPUCodegen):
    """numba's code generator, for the baseline in place of this processor."""

    def _get_host_cpu_name(self) -> str:
        return BASELINE

    def _get_host_cpu_features(self) -> str:
        return ""


@cache
def _codegen() -> BaselineCodegen:
    return BaselineCodegen("baseline")


def for_baseline(target_context: Any) -> Any:
    """The same target context with the code generator of the baseline, where the processor has it."""
    return target_context.subtarget(_internal_codegen=_codegen()) if has_baseline() else target_context
