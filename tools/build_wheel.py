"""Build a wheel for this platform and this minor version of Python that brings the compiled kernels of common fits along.

`make wheel`, or `python tools/build_wheel.py --outdir DIST [--only FIT ...] [--platform-tag TAG]`. The kernels are those that
`fenchel warm-up` compiles with the installed versions of numba and llvmlite, for the baseline of `fenchel/compile/target.py`.
With other versions, and on processors without the baseline, they do not match and are not used: kernels are then compiled at
the first call, as after an installation from source. The bits of results are the same either way.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
BACKEND = "import sys, hatchling.build as b; print(getattr(b, sys.argv[1])(sys.argv[2]))"


def run(*words: str | Path, cwd: Path, **more: str) -> str:
    """What a command prints; its own error ends this program."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("NUMBA_", "FENCHEL_CACHE", "PYTHONPATH"))}
    done = subprocess.run([str(w) for w in words], cwd=cwd, env=environment | more, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(done.returncode)
    return done.stdout


def unpacked(folder: Path) -> Path:
    """The sources as they are published, unpacked."""
    name = run(sys.executable, "-c", BACKEND, "build_sdist", folder, cwd=ROOT).split()[-1]
    with tarfile.open(folder / name) as archive:
        archive.extractall(folder / "source", filter="data")
    (source,) = (folder / "source").iterdir()
    return source


def add_kernels(source: Path, cache: Path, only: list[str]) -> int:
    """Compile the common fits with these sources, and lay the entries beside the loader; returns their number."""
    words = ["--only", *only] if only else []
    where = {"PYTHONPATH": str(source / "src"), "FENCHEL_CACHE_DIR": str(cache)}
    print(run(sys.executable, "-m", "fenchel", "warm-up", *words, cwd=source, **where), end="", flush=True)
    (folder,) = cache.glob("kernels-*")
    target = source / "src" / "fenchel" / "compile" / "prebuilt" / folder.name
    target.mkdir(parents=True)
    for entry in sorted(folder.glob("*.nbk")):
        shutil.copyfile(entry, target / entry.name)  # with the permissions of a new file, as those of the sources
    return len(list(target.iterdir()))


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python tools/build_wheel.py", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--outdir", type=Path, default=ROOT / "dist")
    parser.add_argument("--only", nargs="+", default=[], metavar="FIT", help="kernels of these fits (default: all)")
    parser.add_argument("--platform-tag", help="default: that of this machine; kernels link to no library themselves")
    options = parser.parse_args(argv)
    outdir = options.outdir.resolve()
    outdir.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        source = unpacked(place)
        count = add_kernels(source, place / "cache", options.only)
        wheel = run(sys.executable, "-c", BACKEND, "build_wheel", place, cwd=source).split()[-1]
        platform = options.platform_tag or sysconfig.get_platform().replace("-", "_").replace(".", "_")
        tags = ["--python-tag", f"cp{sys.version_info[0]}{sys.version_info[1]}", "--platform-tag", platform]
        tagged = run(sys.executable, "-m", "wheel", "tags", *tags, place / wheel, cwd=place).split()[-1]
        shutil.copyfile(place / tagged, outdir / tagged)
    print(f"{outdir / tagged}: {count} compiled kernels, {(outdir / tagged).stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
