"""Weighted sums of rows of a matrix, and the transposed operation, in SIMD vectors of four numbers.

Automatic vectorisation works in steps of eight or sixteen numbers and leaves the rest to a scalar loop, which for ten or
twenty-six classes is most of the work. These two loops are therefore written with LLVM vectors; the sums stay in registers
until the end of the row. They are two to three times faster than the loops they replace; `py_func` says what they compute.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from fenchel.compile import dispatch
from fenchel.compile.kernel import Kernel

LANES = 4
TILE = 8  # vectors of sums that are kept in registers; more would not fit


class VectorKernel(Kernel):
    """A kernel whose code is emitted by `build(context, builder, types, values)`; all arrays are C-contiguous."""

    def __init__(self, py_func: Callable, build: Callable):
        super().__init__(py_func, fastmath=True)
        self.build = build

    @cached_property
    def dispatcher(self) -> Any:
        from numba import njit, types
        from numba.core.errors import TypingError
        from numba.extending import intrinsic

        from fenchel.compile.pipeline import BaselineCompiler

        build = self.build

        @intrinsic
        def emit(typingctx, scale, values, columns, W, z):
            def codegen(context, builder, signature, arguments):
                build(context, builder, signature.args, arguments)
                return context.get_dummy_value()

            arrays = [kind for kind in (values, columns, W, z) if not isinstance(kind, types.NoneType)]
            if any(kind.layout != "C" for kind in arrays) or {W.dtype, z.dtype} != {types.float64}:
                raise TypingError(f"needs C-contiguous arrays, W and z of float64, got {arrays}")
            return types.void(types.float64, values, columns, W, z), codegen

        def run(scale, values, columns, W, z):
            emit(scale, values, columns, W, z)

        run.__name__ = run.__qualname__ = f"run_{self.py_func.__name__}"  # the names in the disk cache must differ
        return njit(pipeline_class=BaselineCompiler, **dispatch.JIT, forceinline=True)(run)


def vector_kernel(build: Callable) -> Callable[[Callable], VectorKernel]:
    """Decorator of the plain Python version of a kernel whose compiled form `build` emits."""
    return lambda py_func: VectorKernel(py_func, build)


class Emitter:
    """Code generation shared by both loops: arrays, vectors, entries of a row."""

    def __init__(self, context: Any, builder: Any, kinds: Any, arguments: Any):
        from llvmlite import ir
        from numba import types
        from numba.core import cgutils

        self.context, self.builder, self.tools, self.types = context, builder, cgutils, types
        self.scale = arguments[0]
        arrays: list[Any] = [
            None if isinstance(kind, types.NoneType) else context.make_array(kind)(context, builder, argument)
            for kind, argument in zip(kinds[1:], arguments[1:], strict=True)
        ]
        self.values, self.columns, self.W, self.z = arrays
        self.value_kind, self.column_kind = kinds[1].dtype, getattr(kinds[2], "dtype", None)
        self.index = context.get_value_type(types.intp)
        self.vector = ir.VectorType(ir.DoubleType(), LANES)
        self.undefined = ir.Constant(self.vector, ir.Undefined)
        self.zeros = ir.Constant(self.vector, [0.0] * LANES)
        self.first = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
        self.width = cgutils.unpack_tuple(builder, self.W.shape)[1]
        self.entries = cgutils.unpack_tuple(builder, self.values.shape)[0]

    def loop(self, count: int) -> Any:
        return self.tools.for_range(self.builder, count, intp=self.index)

    def at(self, array: Any, place: Any) -> Any:
        """A pointer to the vector that starts at index `place`."""
        return self.builder.bitcast(self.builder.gep(array.data, [place]), self.vector.as_pointer())

    def load(self, array: Any, place: Any) -> Any:
        return self.builder.load(self.at(array, place), align=8)

    def store(self, vector: Any, array: Any, place: Any) -> None:
        self.builder.store(vector, self.at(array, place), align=8)

    def broadcast(self, x: Any) -> Any:
        """A vector with x in all lanes."""
        one = self.builder.insert_element(self.undefined, x, self.index(0))
        return self.builder.shuffle_vector(one, self.undefined, self.first)

    def fused(self, x: Any, a: Any, b: Any) -> Any:
        """x a + b."""
        return self.builder.fadd(self.builder.fmul(x, a, flags=("contract",)), b, flags=("contract",))

    def each_entry(self, work: Callable[[Any, Any], None]) -> None:
        """work(scale x, the index at which the row of W of its column starts), for nonzero entries."""
        builder = self.builder
        with self.loop(self.entries) as loop:
            x = builder.load(builder.gep(self.values.data, [loop.index]))
            x = builder.fmul(self.scale, self.context.cast(builder, x, self.value_kind, self.types.float64))
            if self.columns is None:  # rows of a dense matrix often contain zeros
                with builder.if_then(builder.fcmp_unordered("!=", x, x.type(0.0)), likely=True):
                    work(x, builder.mul(loop.index, self.width))
                return
            j = builder.load(builder.gep(self.columns.data, [loop.index]))
            work(x, builder.mul(self.context.cast(builder, j, self.column_kind, self.types.uintp), self.width))


def _emit_sum(*arguments: Any) -> None:
    """Tiles of vectors of z; the last vector ends at the end of z and may overlap with the previous one."""
    emit = Emitter(*arguments)
    builder, index = emit.builder, emit.index
    start = emit.tools.alloca_once_value(builder, index(0))
    last = builder.sub(emit.width, index(LANES))

    def tile(size: int) -> None:
        begin = builder.load(start)
        places = [builder.add(begin, index(LANES * k)) for k in range(size)]
        places[-1] = builder.select(builder.icmp_signed("<", places[-1], last), places[-1], last)
        sums = [emit.tools.alloca_once(builder, emit.vector) for _ in places]
        for total in sums:
            builder.store(emit.zeros, total)

        def add(x: Any, row: Any) -> None:
            factor = emit.broadcast(x)
            for place, total in zip(places, sums, strict=True):
                w = emit.load(emit.W, builder.add(row, place))
                builder.store(emit.fused(factor, w, builder.load(total)), total)

        emit.each_entry(add)
        for place, total in zip(places, sums, strict=True):
            emit.store(builder.load(total), emit.z, place)
        builder.store(builder.add(begin, index(LANES * size)), start)

    vectors = builder.udiv(builder.add(emit.width, index(LANES - 1)), index(LANES))
    with emit.loop(builder.udiv(vectors, index(TILE))):
        tile(TILE)
    done = builder.append_basic_block("done")
    rest = builder.switch(builder.urem(vectors, index(TILE)), done)
    for size in range(1, TILE):
        block = builder.append_basic_block("rest")
        rest.add_case(index(size), block)
        builder.position_at_end(block)
        tile(size)
        builder.branch(done)
    builder.position_at_end(done)


def _emit_add(*arguments: Any) -> None:
    """The vectors of a row of W, then the remaining entries one by one."""
    emit = Emitter(*arguments)
    builder, index = emit.builder, emit.index
    vectors = builder.udiv(emit.width, index(LANES))
    whole = builder.mul(vectors, index(LANES))
    left = builder.sub(emit.width, whole)

    def add(x: Any, row: Any) -> None:
        factor = emit.broadcast(x)
        with emit.loop(vectors) as loop:
            c = builder.mul(loop.index, index(LANES))
            place = builder.add(row, c)
            emit.store(emit.fused(factor, emit.load(emit.z, c), emit.load(emit.W, place)), emit.W, place)
        with emit.loop(left) as loop:
            c = builder.add(whole, loop.index)
            place = builder.gep(emit.W.data, [builder.add(row, c)])
            u = builder.load(builder.gep(emit.z.data, [c]))
            builder.store(emit.fused(x, u, builder.load(place)), place)

    emit.each_entry(add)


@vector_kernel(_emit_sum)
def sum_rows(scale, values, columns, W, z):
    """z = scale sum_k values_k W[columns_k] (columns None: all rows of W); z has at least LANES entries."""
    z[:] = scale * np.asarray(values, dtype=np.float64) @ (W[: values.size] if columns is None else W[columns])


@vector_kernel(_emit_add)
def add_to_rows(scale, values, columns, W, z):
    """W[columns_k] += scale values_k z for all k."""
    np.add.at(W, np.arange(values.size) if columns is None else columns, np.outer(scale * values, z))
