"""CoNLL-2000 chunking: a chain CRF and a max-margin chain, beside CRFsuite with the very same attributes.

8936 sentences to learn from, 2012 to test. Attributes: the templates that CRF++ ships for chunking (words and parts of speech
in windows of five, pairs and triples of them), as `templates.default_templates(2)` has them. Weights are those of
the pairs of attribute and label, and of successive labels, that occur in training (CRFsuite's default), unless a row says "all
weights": every pair, label bias and both ends as well.

CRF         sum_i -log p(y_i | x_i) + c2 |w|^2: c2 = 1, and the c2 with the best chunk F1 on a fifth of the training sentences
max-margin  C sum_i hinge_i + |w|^2 / 2, C chosen in the same way; errors counted by tokens
CRFsuite    (if it is installed) its L-BFGS with its own stopping rule, and its averaged perceptron

Seconds are wall, from lists of attributes to a model, after one run on a few sentences that compiles. F1 is that of the CoNLL
evaluation: both ends and the type of a chunk must be right.

    python -m experiments.conll_chunking [--small] [--seconds 150] [--cached]
"""

from __future__ import annotations

import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from experiments import common, structured_data
from fenchel.estimators import SequenceLabeler
from fenchel.metrics import chunk_scores, token_error
from fenchel.sequences.templates import default_templates

C2 = (1.0, 0.5, 0.25, 0.1)
C = (0.03, 0.1, 0.3, 1.0)
Part = tuple[list[Any], list[Any]]


def attributes(sentences: list[list[list[str]]]) -> Part:
    """(attributes of every token, labels) of sentences in columns."""
    templates = default_templates(2)
    X = [templates.apply([token[:2] for token in sentence]) for sentence in sentences]
    return X, [[token[-1] for token in sentence] for sentence in sentences]


def small_columns(seed: int = 0) -> structured_data.Columns:
    """Sentences of a toy grammar: noun phrases D A* N, verbs, and words of no chunk."""
    rng = np.random.default_rng(seed)
    vocabulary = {tag: [f"{tag.lower()}{k}" for k in range(12)] for tag in ("DT", "JJ", "NN", "VB", "CC")}

    def sentence() -> list[list[str]]:
        kinds: list[tuple[str, str]] = []
        for _ in range(int(rng.integers(1, 4))):
            phrase = ["DT"] * int(rng.integers(2)) + ["JJ"] * int(rng.integers(3)) + ["NN"]
            kinds += [(tag, "I-NP" if t else "B-NP") for t, tag in enumerate(phrase)]
            kinds.append(("VB", "B-VP") if rng.random() < 0.7 else ("CC", "O"))
        noisy = [tag if rng.random() < 0.8 else str(rng.choice(list(vocabulary))) for tag, _ in kinds]
        return [
            [str(rng.choice(vocabulary[tag])), seen, label] for (tag, label), seen in zip(kinds, noisy, strict=True)
        ]

    made = [sentence() for _ in range(80)]
    return structured_data.Columns(made[:60], made[60:])


def certifier(said: list[Any], labels: list[Any]) -> dict[str, float]:
    """All in percent."""
    found = chunk_scores(labels, said)
    return {
        "F1": 100.0 * found.f1,
        "precision": 100.0 * found.precision,
        "recall": 100.0 * found.recall,
        "accuracy": 100.0 * (1.0 - token_error(labels, said)),
    }


def labeler(loss: str, strength: float, tol: float, seconds: float, every: bool = False) -> SequenceLabeler:
    """`strength` is CRFsuite's c2 for the log-loss, C for the hinge."""
    return SequenceLabeler(
        loss, C=1.0 / (2.0 * strength) if loss == "log" else strength, observed_only=not every, bias=every, ends=every,
        tol=tol, max_time=seconds, n_jobs=-1,
    )  # fmt: skip


def quietly(model: SequenceLabeler, train: Part) -> None:
    """The gap that was reached is in the table: no warning says it again."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(*train)


def ours(train: Part, test: Part, model: SequenceLabeler) -> dict[str, Any]:
    began = time.perf_counter()
    quietly(model, train)
    seconds, curve, primal, dual = time.perf_counter() - began, [], np.inf, -np.inf
    for point in model.history_:
        primal, dual = min(primal, point.primal), max(dual, point.dual)
        if np.isfinite(dual):
            curve.append((point.seconds, (primal - dual) / primal))
    return certifier(model.predict(test[0]), test[1]) | {
        "seconds": seconds, "solver": model.solver_, "gap": model.certificate_.relative_gap,
        "objective": model.objective_ * len(train[0]), "weights": model.coef_.size, "curve": curve,
    }  # fmt: skip


def crfsuite(train: Part, test: Part, algorithm: str, settings: dict[str, Any]) -> dict[str, Any] | None:
    """None if CRFsuite is not installed."""
    try:
        import pycrfsuite
    except ImportError:
        return None
    began = time.perf_counter()
    trainer = pycrfsuite.Trainer(algorithm=algorithm, verbose=False)
    for x, y in zip(*train, strict=True):
        trainer.append(x, y)
    trainer.set_params(settings)
    with tempfile.TemporaryDirectory() as folder:
        trainer.train(str(Path(folder) / "model"))
        seconds = time.perf_counter() - began
        tagger = pycrfsuite.Tagger()
        tagger.open(str(Path(folder) / "model"))
        said = [tagger.tag(x) for x in test[0]]
        tagger.close()
    last = trainer.logparser.last_iteration or {}
    solver = {"lbfgs": "CRFsuite's L-BFGS", "ap": "CRFsuite's perceptron"}[algorithm]
    objective = last.get("loss") if algorithm == "lbfgs" else None
    return certifier(said, test[1]) | {"seconds": seconds, "solver": solver, "objective": objective}


def choose(train: Part, seconds: float) -> dict[str, list[tuple[float, float]]]:
    """Chunk F1 on a fifth of the sentences for every strength."""
    parts = []
    for inside in (False, True):
        parts.append(tuple([v for i, v in enumerate(side) if (i % 5 == 0) == inside] for side in train))
    rest, held = parts
    tried: dict[str, list[tuple[float, float]]] = {"log": [], "hinge": []}
    for loss, strengths in (("log", C2), ("hinge", C)):
        for strength in strengths:
            found = ours(rest, held, labeler(loss, strength, 1e-2, seconds))  # type: ignore[arg-type]
            tried[loss].append((strength, found["F1"]))
    return tried


def work(columns: structured_data.Columns, seconds: float, keep: Any, found: dict[str, Any]) -> None:
    train, test = attributes(columns.train), attributes(columns.test)
    for loss, every in (("log", False), ("log", True), ("hinge", False)):
        few = labeler(loss, 1.0, 1e-1, 600.0, every).set_params(max_iter=3)
        quietly(few, (train[0][:20], train[1][:20]))  # compiled
    if "tried" not in found:
        found["tried"] = choose(train, seconds)
        keep()
    best = {loss: max(pairs, key=lambda pair: pair[1])[0] for loss, pairs in found["tried"].items()}
    rows = found.setdefault("rows", {})

    def row(name: str, fit: Callable[..., dict[str, Any] | None], *settings: Any) -> None:
        if name not in rows:
            rows[name] = fit(train, test, *settings)
            keep()

    for c2 in sorted({1.0, best["log"]}, reverse=True):
        row(f"CRF, c2 = {c2:g}", ours, labeler("log", c2, 1e-3, seconds))
        row(f"CRFsuite, c2 = {c2:g}", crfsuite, "lbfgs", {"c2": c2})
    row(f"CRF, c2 = {best['log']:g}, all weights", ours, labeler("log", best["log"], 1e-3, seconds, every=True))
    row(f"max-margin, C = {best['hinge']:g}", ours, labeler("hinge", best["hinge"], 1e-3, seconds))
    row("averaged perceptron", crfsuite, "ap", {"max_iterations": 50})


def report(args: Any, found: dict[str, Any]) -> None:
    measures = ("F1", "precision", "recall", "accuracy")
    table = [
        [name, *(f"{r[m]:.2f}" for m in measures), r["objective"] and f"{r['objective']:.2f}", r.get("weights"), r["solver"],
         r["seconds"], r.get("gap")]
        for name, r in found["rows"].items() if r is not None
    ]  # fmt: skip
    header = ["model", "F1", "precision", "recall", "token accuracy", "objective", "weights", "solver", "seconds"]
    text = "# Chunks of the test part, percent\n\n" + common.markdown([*header, "relative gap"], table)
    if any(r is None for r in found["rows"].values()):
        text += "\n\nCRFsuite is not installed (`pip install python-crfsuite`): its rows are left out."
    text += "\n\n# Chunk F1 of the held-out fifth\n\n"
    held = [["CRF, c2", s, f"{v:.2f}"] for s, v in found["tried"]["log"]]
    held += [["max-margin, C", s, f"{v:.2f}"] for s, v in found["tried"]["hinge"]]
    text += common.markdown(["model", "strength", "F1"], held)
    common.write(args.out, "conll_chunking", text)
    curves = [
        common.Curve(name, *zip(*r["curve"], strict=True))
        for name, r in found["rows"].items()
        if r is not None and r.get("curve")
    ]
    names = {"log": "CRF: c2", "hinge": "max-margin: C"}
    tried = [common.Curve(names[k], *zip(*pairs, strict=True)) for k, pairs in found["tried"].items()]
    common.plot(args.out, "conll_chunking", [
        common.Panel("training", curves, "seconds", "relative gap", "y"),
        common.Panel("held-out fifth", tried, "strength", "chunk F1 %", "x"),
    ])  # fmt: skip


def main(argv: Sequence[str] | None = None) -> None:
    parser = common.arguments(
        __doc__,
        seconds={"type": float, "default": 150.0, "help": "for each fit of ours"},
        cached=common.CACHED,
    )
    args = parser.parse_args(argv)
    found = common.Kept(args, "conll_chunking")
    columns = small_columns() if args.small else structured_data.conll2000()
    work(columns, 0.5 if args.small else args.seconds, found.write, found)
    report(args, found)


if __name__ == "__main__":
    main()
