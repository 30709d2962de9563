"""All experiments, one after the other: `python -m experiments [--small] [NAME ...]`.

Those whose data are not there are skipped and named at the end, with what they need; an experiment that fails ends the run with
exit status 1.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module

from experiments.data import DataMissing, folder

# With the sizes that fit into two hours or so; each script's own defaults are those of its paper where that is feasible.
EXPERIMENTS: dict[str, list[str]] = {
    "usunier_frank_wolfe": ["--rows", "4000", "--iterations", "300", "--halves", "3", "--folds", "1"],
    "table1_winnow": [],
    "table2_reuters": [],
    "figures_reuters": [],
    "pragam_comparison": [],
    "bmrm_comparison": [],
    "measures_gain": [],
    "f1_threshold": [],
    "hierarchies": [],
    "ocr_letters": [],
    "saddle_frank_wolfe": [],
    "conll_chunking": [],
    "label_sets": [],
    "word_alignment": [],
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run them; how many data sets are missing is no failure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", metavar="NAME", nargs="*", choices=[[], *EXPERIMENTS], help="default: all of them")
    parser.add_argument("--small", action="store_true", help="generated data, seconds instead of minutes")
    parser.add_argument("--out", metavar="FOLDER", help="for tables and plots (default: experiments/out)")
    arguments = parser.parse_args(argv)
    common = (["--small"] if arguments.small else []) + (["--out", arguments.out] if arguments.out else [])
    skipped: dict[str, str] = {}
    for name in arguments.names or EXPERIMENTS:
        print(f"== {name}", flush=True)
        try:
            import_module(f"experiments.{name}").main([*common, *([] if arguments.small else EXPERIMENTS[name])])
        except DataMissing as missing:
            skipped[name] = missing.path.name
            print(f"skipped: {missing}", flush=True)
    if skipped:
        print(
            f"\n{len(skipped)} skipped for want of data in {folder()} (set FENCHEL_DATA to the folder that has them):"
        )
        for name, file in skipped.items():
            print(f"  {name} needs {file}, and what else experiments/data.py reads for it")
        print("`python -m experiments --small` runs all of them on generated data.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
