"""fenchel train DATA --loss NAME --penalty NAME --alpha A --model OUT"""

from __future__ import annotations

import json
import math
import time
from argparse import ArgumentParser, Namespace
from dataclasses import replace
from typing import Any

from fenchel.cli.options import COMMON, loss_of, matrix, measure_of, numbers, pairs, penalty_of, tree
from fenchel.cli.progress import Progress
from fenchel.cli.tasks import Task, arrange, queries_for, read
from fenchel.cli.terminal import clean

CERTIFIED, GAP_LEFT, INTERRUPTED = 0, 3, 130
TOL = 1e-6
EPILOG = """\
The objective is (1/n) sum_i loss(<x_i, w> + b, y_i) + R(w), with alpha inside R; -c C means alpha = 1 / (C n).
`fenchel losses` lists losses and penalties. Two labels are mapped to -1 and +1 in ascending order; with more labels
one score per label is fitted, that label against the rest. Regression losses take the labels as targets, and the
novelty loss does not look at them. Losses of several scores (max_hinge, softmax, top_k, ...) are one problem for all
labels; rows and columns of a cost matrix are in ascending order of the labels, and the labels of a tree are its leaves
0, 1, 2, ... Measures are losses of all rows together: of two labels, of ordered labels (ordinal), or, if DATA has
qid:, of each query, with the labels as relevances (above 0 is relevant, where a measure knows only two kinds); ndcg,
mrr, eru and winner_takes_all need qid:. Labels are told apart by thresholds that are the best ones for the measure on
DATA.

With --columns, DATA has a token per line, its columns divided by blanks or tabs and an empty line between sentences; n is
the number of sentences. The loss of a sentence is that of a chain: hinge (max-margin; --beta 1 rescales slack instead of
margin) or log (a conditional random field). The default template is the word, those around it and pairs of them, the same
and triples for each further column, and with a single column spelling too; it needs the label in the last column.

exit status: 0 certified at tol, 3 the gap is above tol (the model is written), 130 Ctrl-C (the best iterate so far is
certified and written), 1 error, 2 wrong usage

examples: fenchel train a9a --loss hinge --penalty l2 --alpha 1e-4 --intercept --model a9a.fenchel
          fenchel train letter --loss top_k --k 5 --model letter.fenchel
          fenchel train mq2008 --measure ndcg --k 10 --model mq2008.fenchel
          fenchel train chunks.txt --columns --loss log -c 1 --model chunks.fenchel
"""


def configure(parser: ArgumentParser) -> None:
    """Declare the options."""
    parser.epilog = EPILOG
    parser.add_argument(
        "data", metavar="DATA", help="svmlight file, with --columns a column file, also .gz, .bz2 or .xz; - is stdin"
    )
    parser.add_argument("--model", metavar="OUT", required=True, help="where the model is written")
    loss = parser.add_argument_group("problem")
    what = loss.add_mutually_exclusive_group()
    what.add_argument("--loss", metavar="NAME", help="default: hinge; with --columns hinge or log")
    what.add_argument("--measure", metavar="NAME", help="instead of a loss: f1, roc_area, ndcg, ...")
    for name in COMMON:
        loss.add_argument(f"--{name}", type=float, metavar="X", help=f"parameter {name} of the loss")
    loss.add_argument("--k", type=int, metavar="K", help="parameter k of the loss or measure")
    loss.add_argument("--rho", metavar="X,X,...", help="weights of ranks, not increasing, as in 3,2,1")
    loss.add_argument("--cost", metavar="FILE", help="matrix of costs: a text file, a row per label that is true")
    loss.add_argument("--tree", metavar="FILE", help="a label path per line, in the order of the labels; or parents")
    loss.add_argument("--loss-param", action="append", default=[], metavar="NAME=X", help="any parameter of the loss")
    loss.add_argument("--smooth", type=float, metavar="GAMMA", help="use the loss's Moreau envelope")
    loss.add_argument("--penalty", metavar="NAME", default="l2", help="default: l2")
    loss.add_argument("--penalty-param", action="append", default=[], metavar="NAME=X", help="such as l1_ratio=0.5")
    strength = loss.add_mutually_exclusive_group()
    strength.add_argument("--alpha", type=float, metavar="A", help="strength of the penalty (default: 1e-4)")
    strength.add_argument("-c", "--C", dest="C", type=float, metavar="C", help="alpha = 1 / (C n), as in liblinear")
    intercept = loss.add_mutually_exclusive_group()
    intercept.add_argument("--intercept", action="store_true", help="fit a free intercept")
    intercept.add_argument("--no-intercept", dest="intercept", action="store_false", help="the default")
    solve = parser.add_argument_group("solving")
    solve.add_argument("--tol", type=float, help="relative gap to be certified (default: 1e-6; with --columns 1e-3)")
    solve.add_argument("--max-iter", type=int, metavar="N", help="at most so many iterations (per label)")
    solve.add_argument("--max-time", type=float, metavar="SECONDS", help="at most so long, reading excluded")
    solve.add_argument("--solver", default="auto", metavar="NAME", help="default: auto")
    solve.add_argument(
        "--checkpoint", metavar="FILE", help="where the state is kept; of several labels FILE.0, FILE.1, ..."
    )
    solve.add_argument("--checkpoint-every", type=float, metavar="SECONDS", help="default: 60")
    solve.add_argument(
        "--resume", action="store_true", help="go on from --checkpoint, if it is there: to the same bits"
    )
    solve.add_argument("--threads", type=int, metavar="N", help="default: all cores; the answer does not depend on it")
    _configure_columns(parser)
    files = parser.add_argument_group("files and output")
    files.add_argument("--index-base", choices=["auto", "0", "1"], default="auto", help="how DATA counts its features")
    files.add_argument("--n-features", type=int, metavar="D", help="default: the largest index in DATA")
    files.add_argument("--no-dual", action="store_true", help="leave the dual point out of the model")
    files.add_argument("--quiet", action="store_true", help="no progress line")
    files.add_argument("--json", action="store_true", help="print the outcome as JSON")


def _configure_columns(parser: ArgumentParser) -> None:
    columns = parser.add_argument_group("column files: a chain that labels the tokens of sentences")
    columns.add_argument("--columns", action="store_true", help="DATA is a CoNLL column file")
    columns.add_argument(
        "--template", metavar="FILE", help="feature templates as CRF++ has them (default: a window of two tokens)"
    )
    columns.add_argument("--label-column", type=int, metavar="K", help="from 0, or from the end: -1 (default: -1)")
    columns.add_argument("--min-count", type=int, metavar="N", help="leave out attributes seen less often (default: 1)")
    columns.add_argument(
        "--observed-only", action="store_true", help="weights only for pairs that occur in DATA, as CRFsuite does"
    )
    columns.add_argument("--no-bias", action="store_true", help="labels have no weights of their own")
    columns.add_argument("--no-ends", action="store_true", help="no weights for labels at the ends of a sentence")


def run(arguments: Namespace) -> int:
    """Train, write the model, print its certificate."""
    from fenchel.cli import columns
    from fenchel.model import Model
    from fenchel.whole_file import check_writable

    if arguments.tol is None:
        arguments.tol = columns.TOL if arguments.columns else TOL
    if arguments.columns:
        return columns.train(arguments)
    columns.refuse_own(arguments)
    loss = _loss(arguments)
    penalty = penalty_of(arguments.penalty, pairs(arguments.penalty_param, "--penalty-param"), 1.0)
    check_writable(arguments.model)
    places_of(arguments, 1)  # what is wrong with them is better said before reading
    base = arguments.index_base if arguments.index_base == "auto" else int(arguments.index_base)
    data = read(arguments.data, base, arguments.n_features, queries_for(loss))
    penalty = penalty.scaled(alpha_of(arguments, data.X.shape[0]))
    task = arrange(data, loss, arguments.data)
    results = _solve_all(arguments, data.X, task, loss, penalty)
    model = Model.from_results(
        results, labels=task.labels, index_base=data.index_base, keep_dual=not arguments.no_dual,
        thresholds=_thresholds(data.X, task, loss, results[0]),
    )  # fmt: skip
    intercept = " + free intercept" if model.fit_intercept else ""
    return finish(
        model, results, arguments, f"{model.n} rows, {model.d} features: {model.loss!r} + {model.regularizer!r}{intercept}"
    )  # fmt: skip


def finish(model: Any, results: list[Any], arguments: Namespace, problem: str) -> int:
    """Write the model, print its certificate; the exit status."""
    from fenchel.model_file import save

    save(arguments.model, model)
    print(_as_json(model, results, arguments) if arguments.json else _as_text(model, results, arguments, problem))
    if model.status.name == "CERTIFIED":
        return CERTIFIED
    return INTERRUPTED if model.status.name == "INTERRUPTED" else GAP_LEFT


def _loss(arguments: Namespace) -> Any:
    given = {name: getattr(arguments, name) for name in (*COMMON, "k") if getattr(arguments, name) is not None}
    words = [*arguments.loss_param, *(f"{name}={value!r}" for name, value in given.items())]
    parameters: dict[str, Any] = dict(pairs(words, "--loss-param"))
    if arguments.rho is not None:
        parameters["rho"] = numbers(arguments.rho, "--rho")
    for name, parse in (("cost", matrix), ("tree", tree)):
        if getattr(arguments, name) is not None:
            parameters[name] = parse(getattr(arguments, name))
    if arguments.measure is not None:
        return measure_of(arguments.measure, parameters, arguments.smooth)
    return loss_of(arguments.loss or "hinge", parameters, arguments.smooth)


def _thresholds(X: Any, task: Task, loss: Any, result: Any) -> list[float] | None:
    """Between the labels of a measure."""
    import numpy as np

    from fenchel.estimators.cuts import best_threshold, best_thresholds, level_costs

    if result.problem.family != "set" or task.labels is None:
        return None
    z, y = np.asarray(X @ result.coef), np.asarray(task.targets[0])
    if type(loss).__name__ != "Ordinal":
        return [best_threshold(loss, z, y > 0.0)]
    return best_thresholds(z, y.astype(int), level_costs(loss, len(task.labels))).tolist()


def alpha_of(arguments: Namespace, n: int) -> float:
    """The strength that the options ask for, for n rows."""
    from fenchel.errors import InputError
    from fenchel.regularizers import DEFAULT_ALPHA

    if arguments.C is None:
        return DEFAULT_ALPHA if arguments.alpha is None else arguments.alpha
    if not 0.0 < arguments.C < math.inf:
        raise InputError(f"-c must be a number greater than 0, got {arguments.C!r}")
    return 1.0 / (arguments.C * n)


def places_of(arguments: Namespace, count: int) -> list[Any]:
    """The checkpoint of each of several solves, None where none is wanted."""
    from fenchel.errors import InputError

    if arguments.checkpoint is None:
        if arguments.resume or arguments.checkpoint_every is not None:
            raise InputError("--resume and --checkpoint-every need --checkpoint FILE")
        return [None] * count
    from fenchel.checkpoint import SECONDS, Checkpoint, checkpoints

    every = SECONDS if arguments.checkpoint_every is None else arguments.checkpoint_every
    return checkpoints(Checkpoint(arguments.checkpoint, every), count)


def _solve_all(arguments: Namespace, X: Any, task: Task, loss: Any, penalty: Any) -> list[Any]:
    """One Result per problem; after Ctrl-C the scores not yet fitted get their starting point, certified."""
    from fenchel.engines import Local
    from fenchel.problem import Problem
    from fenchel.result import Status
    from fenchel.solve import solve

    engine, began, wanted = Local(arguments.threads), time.perf_counter(), task.targets
    places = places_of(arguments, len(wanted))

    def fit(j: int, limit: int | None) -> Any:
        seconds = arguments.max_time
        if seconds is not None and j > 0:  # what is left is shared by the scores that are left
            seconds = max((seconds - (time.perf_counter() - began)) / (len(wanted) - j), 1e-3 * seconds)
        problem = Problem(
            X, wanted[j], loss=loss, regularizer=penalty, fit_intercept=arguments.intercept, groups=task.groups
        )  # fmt: skip
        keep = {"checkpoint": places[j], "resume": arguments.resume}
        return solve(problem, arguments.solver, arguments.tol, limit, seconds, progress, engine=engine, **keep)

    results: list[Any] = []
    stopped = False
    with Progress(arguments.tol, arguments.quiet) as progress:
        for j in range(len(wanted)):
            progress.begin(f"label {j + 1} of {len(wanted)}  " if len(wanted) > 1 else "")
            try:
                result = fit(j, 0 if stopped else arguments.max_iter)
            except KeyboardInterrupt:
                if stopped or not results:  # asked twice, or there is nothing to keep
                    raise
                stopped = True
                result = fit(j, 0)
            if stopped and result.status is not Status.CERTIFIED:
                result = replace(result, status=Status.INTERRUPTED)
            stopped = stopped or result.status is Status.INTERRUPTED
            results.append(result)
    return results


def _as_text(model: Any, results: list[Any], arguments: Namespace, problem: str) -> str:
    worst = model.certificate
    lines = {
        "problem": problem,
        "status": f"{model.status.name}: {model.status.advice}",
        "solver": " / ".join(sorted({result.reason for result in results})),
        "work": f"{sum(result.n_iter for result in results)} iterations, "
        f"{sum(result.passes for result in results):.4g} passes, {sum(result.seconds for result in results):.3g} s",
        "primal": f"{worst.primal:.12g}",
        "dual": f"{worst.dual:.12g}",
        "gap": f"{worst.gap:.3g}, relative {worst.relative_gap:.3g}, asked {model.tol:g}",
    }
    if model.family == "vector":
        lines["scores"] = f"{model.k} scores per row, {len(model.labels)} labels, one problem"
    elif model.family != "structured" and model.k > 1:
        lines["scores"] = f"{model.k} labels, one against the rest; primal, dual and gap are those of the widest gap"
    lines["model"] = arguments.model
    return "\n".join(f"{name:<8} {clean(text)}" for name, text in lines.items())


def _as_json(model: Any, results: list[Any], arguments: Namespace) -> str:
    fits = [
        {
            "status": result.status.name,
            "solver": result.solver,
            "primal": _number(result.certificate.primal),
            "dual": _number(result.certificate.dual),
            "gap": _number(result.certificate.gap),
            "relative_gap": _number(result.certificate.relative_gap),
            "iterations": result.n_iter,
            "passes": result.passes,
            "seconds": result.seconds,
        }
        for result in results
    ]
    outcome = {"status": model.status.name, "tol": model.tol, "n": model.n, "d": model.d, "labels": model.labels}
    return json.dumps({**outcome, "model": arguments.model, "fits": fits}, allow_nan=False)


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None
