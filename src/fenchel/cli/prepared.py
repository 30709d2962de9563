"""Read a table as it is: decide what its columns hold, and keep what was decided in the model."""

from __future__ import annotations

import difflib
import logging
from argparse import Namespace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from fenchel.cli.reading import Rows
from fenchel.errors import InputError

if TYPE_CHECKING:
    from argparse import _ActionsContainer
    from collections.abc import Mapping

    from fenchel.problems.kinds_of_loss import AnyLoss
    from fenchel.readers.table.raw import RawTable
    from fenchel.tables.columns import Column

Queries = Literal["auto", True, False]
LOG = logging.getLogger("fenchel")
SHOWN = 10
MOST_CLASSES, ROWS_PER_CLASS = (
    10,
    10,
)  # integers with more distinct values, or fewer rows of each, are numbers to predict
TOLERATED_VALUES = 20  # a target with more distinct numbers is a number, even if some cells are none


def add_text_options(group: _ActionsContainer) -> None:
    """Add the options for text that is not what is assumed."""
    group.add_argument("--delimiter", metavar="C", help="tables: the sign between columns (default: found), tab")
    group.add_argument("--encoding", metavar="NAME", help="tables: the encoding of the text (default: utf-8)")


def add_as_is(parser: Any, group: _ActionsContainer) -> None:
    """Add the option that switches preparation off. With it, the intercept is that of other data."""
    group.add_argument(
        "--as-is", action="store_true", help="tables: numbers only, used as they are (default: prepared)"
    )
    parser.set_defaults(intercept=None, plain_intercept=parser.get_default("intercept") or False)


def add_roles(group: _ActionsContainer) -> None:
    """Add the options for columns that are no features."""
    group.add_argument("--id", metavar="COLUMN", help="an identifier, which predict --csv repeats")
    group.add_argument("--weight", metavar="COLUMN", help="sample weights")
    group.add_argument(
        "--offset", metavar="COLUMN", help="a fixed term of the score, or log(COLUMN), as of an exposure"
    )
    group.add_argument("--positive", metavar="LABEL", help="the label of positive scores (default: the greater of two)")
    group.add_argument(
        "--kind", action="append", default=[], metavar="COLUMN=KIND", help="number, category, date or drop, if decided "
        "otherwise (repeatable)",
    )  # fmt: skip
    group.add_argument("--decimal", choices=[".", ","], help="the decimal sign (default: found)")
    add_text_options(group)


def is_prepared(arguments: Namespace, kind: str | None) -> bool:
    """Whether a file of this kind is a table whose columns are to be prepared."""
    return kind is not None and not getattr(arguments, "as_is", True)


def raw_table(arguments: Namespace, kind: str) -> RawTable:
    """The table, from a file or standard input."""
    import sys

    from fenchel.readers.table.raw import read_raw

    path = arguments.data
    source = sys.stdin.buffer.read() if path == "-" else path
    return read_raw(source, kind, arguments.delimiter, arguments.encoding, name=path)


def read_prepared(arguments: Namespace, kind: str, qid: Queries) -> Rows:
    """The training rows of a table; `test` of the result are the rows that are held out."""
    from fenchel.tables.preparation import Preparation

    table = raw_table(arguments, kind)
    roles = _roles(arguments, table)
    kinds = _kinds(arguments) | dict.fromkeys(arguments.drop, "drop")
    taken = _taken(roles, table)
    target = _target(arguments, table, {*taken, *kinds})
    features = {name: column for name, column in table.columns.items() if name not in (target, *taken)}
    _warn_of_index(table, set(kinds))
    if not features:
        raise InputError(f"{table.name} has no column other than the target {target!r}{_perhaps_delimiter(table)}")
    y, words = target_of(table.columns[target], False, roles["decimal"])
    parts = _values(table, roles, _asked_queries(roles, qid, table))
    kept = _complete(table, {target: y, **parts})
    train, test = (kept, None) if not roles.get("test_size") else _split(kept, y, words, roles)
    prepared = Preparation.fit(
        {name: column.take(train) for name, column in features.items()}, kinds=kinds, decimal=roles["decimal"]
    )
    X, notes = prepared.of_columns(features, table.where)
    for note in notes:
        LOG.warning("%s: %s", table.name, note)
    rest: dict[str, Any] = {
        "words": words, "features": prepared.features, "target": target, "dropped": tuple(arguments.drop),
        "preparation": prepared, "roles": roles,
    }  # fmt: skip
    held = None if test is None else _rows(X, y, parts, test, rest)
    return _rows(X, y, parts, train, rest)._replace(test=held)


def read_prepared_for(
    model: Any, arguments: Namespace, kind: str, qid: Queries, need_target: bool, fitted: bool
) -> Rows:
    """The rows of a table for a model with a preparation; `fitted`: those rows to which it was fitted."""
    table, roles = raw_table(arguments, kind), dict(model.roles or {})
    if getattr(arguments, "group", None):
        roles["group"] = arguments.group
    target = arguments.target or (model.target if model.target in table.columns else None)
    _require({"--target": target, "--group": roles.get("group") if qid is True else None}, table)
    used = {target, model.target, *_taken(roles, table), *model.dropped}
    if strange := [name for name in model.preparation.extra(table.columns) if name not in used]:
        LOG.warning("%s: ignored, since the model does not know them: %s", table.name, ", ".join(map(repr, strange)))
    X, notes = model.preparation.of_columns(table.columns, table.where)
    for note in notes:
        LOG.warning("%s: %s", table.name, note)
    as_words = model.labels is not None and isinstance(model.labels[0], str)
    y, words = (None, None) if target is None else target_of(table.columns[target], as_words, roles.get("decimal", "."))
    parts = _values(table, roles if fitted else roles | {"weight": None}, qid if roles.get("group") else False)
    kept = np.arange(table.n)
    if y is not None and need_target:
        kept = _complete(table, {str(target): y, **parts})
    elif y is not None and np.isnan(y).any():
        y = words = None
    if roles.get("test_size") and y is not None and table.n == roles.get("rows"):
        if fitted:
            kept = _split(kept, y, words, roles)[0]
        elif need_target:
            LOG.warning(
                "%s has as many rows as the table of the fit: if it is that one, most rows are training rows, and quality on "
                "them flatters", table.name,
            )  # fmt: skip
    name = roles.get("id")
    ids = None if name not in table.columns else _texts(table.columns[name])
    rest = {"words": words, "features": model.preparation.features, "target": target, "ids": ids}
    return _rows(X, y, parts, kept, rest | {"roles": model.roles, "preparation": model.preparation})


def _rows(X: Any, y: Any, parts: Mapping[str, Any], rows: np.ndarray, rest: Mapping[str, Any]) -> Rows:
    """Some of the rows, with what belongs to them."""
    from fenchel.models.roles import OffsetRows

    everything = rows.size == X.shape[0]
    own = {name: None if value is None else value[rows] for name, value in parts.items()}
    chosen = X if everything else X[rows]
    if (offset := own.get("offset")) is not None:
        chosen = OffsetRows(chosen, offset)
    group = own.get("group")
    return Rows(
        chosen, None if y is None else y[rows], None if group is None else group.astype(np.int64),
        weight=own.get("weight"), **rest,
    )  # fmt: skip


def _roles(arguments: Namespace, table: RawTable) -> dict[str, Any]:
    """The columns that are no features, with all unknown names in one error."""
    from fenchel.tables.decide import decimal_of

    asked = {"--target": arguments.target, "--group": getattr(arguments, "group", None)}
    asked |= {f"--{name}": getattr(arguments, name, None) for name in ("id", "weight", "offset")}
    more = {f"--drop {name}": name for name in arguments.drop} | {f"--kind {name}": name for name in _kinds(arguments)}
    _require(asked | more, table)
    roles = {name: asked[f"--{name}"] for name in ("id", "weight", "offset", "group") if asked[f"--{name}"] is not None}
    roles["decimal"] = arguments.decimal or decimal_of(table.columns)
    if arguments.class_weight:
        roles["class_weight"] = list(arguments.class_weight)
    share = getattr(arguments, "test_size", None)
    if share is not None:
        if not 0.0 < share < 1.0:
            raise InputError(f"--test-size must be a number between 0 and 1, got {share!r}")
        roles |= {"test_size": float(share), "seed": arguments.seed, "rows": table.n}
    return roles


def _require(asked: Mapping[str, str | None], table: RawTable) -> None:
    from fenchel.models.roles import column_of_offset

    wrong = []
    for option, name in asked.items():
        if name is None:
            continue
        plain = column_of_offset(name, table.columns)[0] if option == "--offset" else name
        if plain not in table.columns:
            near = difflib.get_close_matches(plain, list(table.columns), n=1)
            wrong.append(f"{option.split()[0]} {plain!r}" + (f" (did you mean {near[0]!r}?)" if near else ""))
    if wrong:
        raise InputError(
            f"{table.name} has no column {', no column '.join(wrong)}; its columns are {', '.join(table.columns)}"
            + _perhaps_delimiter(table)
        )


def _perhaps_delimiter(table: RawTable) -> str:
    return "; are its columns separated by something else? Then use --delimiter" if len(table.columns) == 1 else ""


def _warn_of_index(table: RawTable, known: set[str]) -> None:
    from fenchel.tables.decide import NAMELESS

    if set(NAMELESS) & set(table.columns) - known:
        LOG.warning(
            "%s has a column without a name, such as the index that pandas writes unless to_csv(index=False): it is not "
            "used as a feature; give it a name if it is one", table.name,
        )  # fmt: skip


def _kinds(arguments: Namespace) -> dict[str, str]:
    """The pairs of --kind.

    >>> _kinds(Namespace(kind=["zip=category"]))
    {'zip': 'category'}
    """
    found = {}
    for word in arguments.kind:
        name, equals, kind = word.rpartition("=")
        if not equals:
            raise InputError(f"--kind {word!r}: expected COLUMN=KIND, as in --kind zip=category")
        found[name] = kind
    return found


def _taken(roles: Mapping[str, Any], table: RawTable) -> set[str]:
    """The columns that are no features."""
    from fenchel.models.roles import column_of_offset

    names = {roles[name] for name in ("id", "weight", "group") if roles.get(name) is not None}
    if roles.get("offset") is not None:
        names.add(column_of_offset(roles["offset"], table.columns)[0])
    return names


def _target(arguments: Namespace, table: RawTable, taken: set[str]) -> str:
    from fenchel.tables.decide import NAMELESS

    if arguments.target is not None:
        if arguments.target in taken:
            raise InputError(
                f"{table.name}: the target {arguments.target!r} is also dropped, or used as something else"
            )
        return arguments.target
    left = [name for name in table.columns if name not in taken and name not in NAMELESS]
    if not left:
        raise InputError(f"{table.name} has no column left to be the target: name it with --target")
    return left[-1]


def target_of(column: Column, as_words: bool, decimal: str = ".") -> tuple[np.ndarray, list[str] | None]:
    """(targets, None) for numbers, (codes, words) for words; NaN where it is missing."""
    from fenchel.tables.cells import are_codes, numbers
    from fenchel.tables.columns import DATE, NUMBER
    from fenchel.tables.rules import as_text

    if column.kind == DATE:
        raise InputError("the target column holds dates: name a column of numbers or labels with --target")
    if column.kind == NUMBER and not as_words:
        return column.values, None
    text = as_text(column)
    counts = text.counts()
    used = [level for level, count in zip(text.levels, counts, strict=True) if count]
    if not as_words and used and not are_codes(used):
        for sign in (decimal, "," if decimal == "." else "."):
            values = numbers(text.levels, sign)
            good = np.isfinite(values)
            if good[counts > 0].all() or (good.sum() > TOLERATED_VALUES and counts[good].sum() >= 0.95 * counts.sum()):
                return text.of_levels(values, np.nan), None
    place = {level: float(k) for k, level in enumerate(used)}
    codes = np.array([place.get(level, np.nan) for level in text.levels], dtype=float)
    return text.of_levels(codes, np.nan), used


def _values(table: RawTable, roles: Mapping[str, Any], qid: Queries) -> dict[str, np.ndarray]:
    """Weights, offsets and queries of all rows; NaN where they are missing."""
    from fenchel.models.roles import numbers_of, offset_of

    found: dict[str, np.ndarray] = {}
    if (name := roles.get("weight")) is not None:
        if name not in table.columns:
            raise InputError(f"{table.name} has no column {name!r}, which holds the weights of the fit")
        found["weight"] = numbers_of(table.columns[name], roles)
        if (found["weight"] < 0.0).any():
            row = int(np.argmax(found["weight"] < 0.0))
            raise InputError(f"{table.name}: the weight in {table.where(row)} is negative")
    if roles.get("offset") is not None:
        found["offset"] = offset_of(table.columns, roles, table.where)
    if qid and (name := roles.get("group")) is not None:
        found["group"] = numbers_of(table.columns[name], roles)
        if (found["group"] != np.floor(found["group"])).any():
            raise InputError(f"{table.name}: column {name!r} must hold integers (query ids)")
    return found


def _asked_queries(roles: Mapping[str, Any], qid: Queries, table: RawTable) -> Queries:
    if qid is True and "group" not in roles:
        raise InputError(f"{table.name}: this loss needs queries; name the query-id column with --group")
    return qid


def _complete(table: RawTable, parts: Mapping[str, np.ndarray]) -> np.ndarray:
    """The rows that have a target, a weight, ...; the others are left out with a warning."""
    good = np.ones(table.n, dtype=bool)
    for name, values in parts.items():
        gone = np.flatnonzero(~np.isfinite(values))
        good[gone] = False
        if gone.size:
            places = ", ".join(table.where(int(row)) for row in gone[:SHOWN]) + (", ..." if gone.size > SHOWN else "")
            LOG.warning(
                "%s: %d row%s without a value of %s %s left out: %s", table.name, gone.size, "s" * (gone.size > 1), name,
                "are" if gone.size > 1 else "is", places,
            )  # fmt: skip
    if not good.any():
        raise InputError(f"{table.name} has no row with a target")
    return np.flatnonzero(good)


def _split(
    kept: np.ndarray, y: np.ndarray, words: list[str] | None, roles: Mapping[str, Any]
) -> tuple[np.ndarray, np.ndarray]:
    """(training rows, held-out rows), shuffled, and stratified by the target if it has few values."""
    if roles.get("group") is not None:
        raise InputError("--test-size would cut queries: split the file by query, and use fenchel evaluate")
    rng = np.random.default_rng(roles["seed"])
    order = rng.permutation(kept.size)
    values = y[kept]
    if words is not None or np.unique(values).size <= MOST_CLASSES:
        order = order[np.argsort(values[order], kind="stable")]
    share = roles["test_size"]
    steps = np.floor(np.arange(1, kept.size + 1) * share + 0.5)
    held = np.diff(steps, prepend=0.0) > 0.0
    if not held.any() or held.all():
        raise InputError(f"--test-size {share:g} leaves no rows on one side: there are {kept.size} rows")
    return np.sort(kept[order[~held]]), np.sort(kept[order[held]])


def _texts(column: Column) -> list[str]:
    from fenchel.tables.rules import as_text

    text = as_text(column)
    return ["" if code < 0 else text.levels[code] for code in text.values.tolist()]


def likely_loss(data: Rows) -> str:
    """The loss for a table if none was asked for: by what the target is.

    >>> likely_loss(Rows(None, np.array([0.0, 1.0]), words=["no", "yes"])), likely_loss(Rows(None, np.array([0.5, 2.5, 1.0])))
    ('logistic', 'squared')
    """
    values = np.unique(data.y)
    if data.words is not None or values.size == 2:
        return "logistic" if values.size <= 2 else "softmax"
    whole = bool((values == np.floor(values)).all())
    few = values.size <= MOST_CLASSES and values.size * ROWS_PER_CLASS <= data.y.size
    return "softmax" if whole and few else "squared"


def settle(arguments: Namespace, data: Rows) -> None:
    """Choose loss and intercept for a table, where the user has not."""
    from fenchel.cli.problem_options import asked_loss

    if data.preparation is not None and not names_loss(arguments):
        arguments.loss = likely_loss(data)
    arguments.intercept = intercept_for(arguments, arguments.intercept, data, asked_loss(arguments))


def intercept_for(arguments: Namespace, asked: bool | None, data: Rows, loss: AnyLoss) -> bool:
    """Whether the intercept is free: by default it is for prepared tables, unless the loss does not see it."""
    from fenchel.cli.tasks import task_of
    from fenchel.measures import is_measure

    if asked is not None:
        return asked
    if data.preparation is None or arguments.constant is not None:
        return bool(arguments.plain_intercept)
    return not is_measure(loss) and task_of(loss) != "novelty"


def names_loss(arguments: Namespace) -> bool:
    """Whether the user has asked for a loss, a measure or a type of liblinear."""
    return any(getattr(arguments, name, None) is not None for name in ("loss", "measure", "type"))
