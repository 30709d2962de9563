"""scikit-learn's callbacks (from its version 1.9 on): a fit is the task, with a subtask per solve and one per iteration."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # older versions of scikit-learn have no callbacks

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """A mixin without methods."""

    def with_callbacks(method: Any) -> Any:
        """The method itself."""
        return method


__all__ = ["CallbackSupportMixin", "Tasks", "View", "with_callbacks"]


class View(NamedTuple):
    """The data for callbacks: the rows, and the fitted attributes that an estimator would have with coef and intercept."""

    X: Any
    y: Any
    attributes: Callable[[Any, Any], dict[str, Any]]


class Tasks:
    """The tasks of one fit, reported to the callbacks of the estimator; without callbacks it does nothing."""

    def __init__(self, estimator: BaseEstimator, solves: int, view: View | None = None):
        self.estimator, self.view = estimator, view
        begin = getattr(estimator, "_init_callback_context", None)
        self.fit: Any = None if begin is None else begin(max_subtasks=solves)
        self.told = self.fit is not None and bool(getattr(estimator, "_skl_callbacks", None))
        if self.told:
            self._begin(self.fit)

    @contextmanager
    def solve(self, problem: Any, watch: Callable[[Any], Any] | None) -> Iterator[Callable[[Any], Any] | None]:
        """The callback for one solve: it calls `watch`, and then those of scikit-learn, which may stop the solve."""
        if not self.told:
            yield watch
            return
        task = self._begin(self.fit.subcontext(task_name="solve", max_subtasks=None))
        running = [self._begin(task.subcontext(task_name="iteration"))]

        def told(state: Any) -> bool:
            asked = bool(watch(state)) if watch is not None else False
            asked |= bool(self._end(running[0], lambda: problem.present(state.coef, state.intercept)))
            running[0] = self._begin(task.subcontext(task_name="iteration"))
            return asked

        yield told
        self._end(running[0])  # it was started, but the solve has ended
        self._end(task)

    def close(self) -> None:
        """Report the end of the fit."""
        if self.told:
            self._end(self.fit)

    def _begin(self, task: Any) -> Any:
        task.call_on_fit_task_begin(estimator=self.estimator, **self._rows())
        return task

    def _end(self, task: Any, point: Callable[[], tuple[Any, Any]] | None = None) -> Any:
        """Report an iteration; `point` computes coefficients and intercept if a callback needs them."""
        view = self.view
        made = None if point is None or view is None else lambda: view.attributes(*point())
        return task.call_on_fit_task_end(estimator=self.estimator, reconstruction_attributes=made, **self._rows())

    def _rows(self) -> dict[str, Any]:
        return {} if self.view is None else {"X": self.view.X, "y": self.view.y}
