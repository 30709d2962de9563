"""Confusion matrix, and precision, recall and F1 of every label."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fenchel.cli.terminal import table

if TYPE_CHECKING:
    from fenchel.data.types import MatrixLike
    from fenchel.models.scored import Scored

MOST_COLUMNS, MOST_LABELS = 8, 30  # a wider confusion matrix, or a longer list, is not printed


class ByLabel(NamedTuple):
    """`counts[i, j]` rows of label i were predicted to be label j; the last row, if there is one more, is of unknown labels."""

    labels: list[str]
    counts: np.ndarray

    @property
    def scores(self) -> list[dict[str, Any]]:
        """For each label: precision = right / predicted, recall = right / rows, F1 = 2 right / (predicted + rows)."""
        found = []
        for k, label in enumerate(self.labels):
            right, said, true = int(self.counts[k, k]), int(self.counts[:, k].sum()), int(self.counts[k].sum())
            found.append({
                "label": label, "precision": right / said if said else float("nan"),
                "recall": right / true if true else float("nan"),
                "f1": 2.0 * right / (said + true) if said + true else float("nan"), "rows": true,
            })  # fmt: skip
        return found

    def plain(self) -> dict[str, Any]:
        """The same for --json."""
        return {"confusion": {"labels": self.labels, "counts": self.counts.tolist()}, "by_label": self.scores}

    def text(self) -> str:
        """Both tables, as far as there is room."""
        parts = []
        if len(self.labels) <= MOST_COLUMNS:
            names = [*self.labels, "other labels"][: len(self.counts)]
            rows = [[name, *map(int, row)] for name, row in zip(names, self.counts, strict=True)]
            parts.append(table(["true \\ predicted", *self.labels], rows))
        shown = self.scores[:MOST_LABELS]
        rows = [
            [one["label"], *(_share(one[name]) for name in ("precision", "recall", "f1")), one["rows"]] for one in shown
        ]
        more = f"\n({len(self.labels) - MOST_LABELS} more labels: see --json)" if len(self.labels) > MOST_LABELS else ""
        return "\n\n".join([*parts, table(["label", "precision", "recall", "F1", "rows"], rows) + more])


def _share(value: float) -> str:
    return "-" if np.isnan(value) else f"{value:.4f}"


def by_label(model: Scored, X: MatrixLike, y: np.ndarray) -> ByLabel | None:
    """The counts; y holds indices into `model.labels`, larger ones are of labels that the model does not know."""
    if model.labels is None:
        return None
    place = {label: k for k, label in enumerate(model.labels)}
    found = np.array([place[label] for label in model.predict(X).tolist()], dtype=int)
    k = len(model.labels)
    true = np.minimum(y.astype(int), k)
    counts = np.zeros((k + int((true == k).any()), k), dtype=int)
    np.add.at(counts, (true, found), 1)
    return ByLabel([str(label) for label in model.labels], counts)
