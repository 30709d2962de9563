"""fenchel convert DATA DIR [--target COLUMN] [--float32]"""

from __future__ import annotations

from argparse import Namespace

from fenchel.cli.reading import add_drop
from fenchel.cli.terminal import CleanParser

EPILOG = """\
Writes the rows to DIR as arrays that are mapped into memory, with a manifest of their digests: fenchel
train DIR and fenchel.Problem(fenchel.open(DIR), ...) use them without loading them as a whole. The format
of DATA follows from its name: svmlight text, .csv and .tsv with a header (all of them also .gz, .bz2, .xz),
.parquet (tables need pip install 'fenchel[tables]'). Labels that are words are kept for predictions.

exit status: 0 done, 1 error, 2 wrong usage

example: fenchel convert train.svm.xz train.rows && fenchel train train.rows --model model.fenchel
"""


def configure(parser: CleanParser) -> None:
    """Add the options."""
    parser.epilog = EPILOG
    parser.add_argument("data", metavar="DATA", help="the file to convert")
    parser.add_argument("folder", metavar="DIR", help="the folder to create")
    parser.add_argument("--target", metavar="COLUMN", help="tables: the target column (default: the last one)")
    parser.add_argument("--group", metavar="COLUMN", help="tables: the query-id column (integers)")
    add_drop(parser)
    parser.add_argument("--float32", action="store_true", help="store values in single precision: half the size")
    parser.add_argument(
        "--zero-based", action="store_true", help="svmlight: index of the first feature (default: detected)"
    )
    parser.add_argument("--n-features", type=int, help="svmlight: the number of columns (default: the largest index)")


def run(arguments: Namespace) -> int:
    """Convert the file and print what was written."""
    from fenchel.cli.terminal import clean
    from fenchel.data.store import open_store
    from fenchel.readers.convert import convert

    place = convert(
        arguments.data, arguments.folder, target=arguments.target, group=arguments.group, drop=arguments.drop,
        dtype="float32" if arguments.float32 else "float64", index_base=0 if arguments.zero_based else "auto",
        n_features=arguments.n_features,
    )  # fmt: skip
    stored = open_store(place)
    size = sum(file.stat().st_size for file in place.iterdir())
    storage = "dense" if not hasattr(stored.X, "nnz") else f"{stored.X.nnz} stored values"
    print(
        clean(
            f"{place}: {stored.X.shape[0]} rows, {stored.X.shape[1]} columns, {storage}, {size / 1e6:.1f} MB, checked"
        )
    )
    return 0
