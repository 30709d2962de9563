"""Write constraints.txt: the exact versions, known to work together, of all that Fenchel and its extras need.

`make pin` takes them from the environment it runs in. Extras that are not installed there are left out and named.
"""

from __future__ import annotations

import tomllib
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parent.parent
FILE = ROOT / "constraints.txt"
LEFT_OUT = ("bench",)  # the peers: whatever is newest
NOT_PINNED = ("setuptools",)  # comes with the environment; osqp asks for it
HEAD = """\
# Exact versions that work together: pip install --constraint constraints.txt . (written by `make pin`)
"""


def declared() -> list[Requirement]:
    """What pyproject.toml asks for, the build backend and the extras among it."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    extras = project["project"]["optional-dependencies"]
    wanted = [*project["build-system"]["requires"], *project["project"]["dependencies"]]
    for name, more in extras.items():
        wanted += [] if name in LEFT_OUT else more
    return [Requirement(text) for text in wanted]


def closure(wanted: list[Requirement]) -> dict[str, str]:
    """Name and installed version of all of them and of what they need in turn."""
    found: dict[str, str] = {}
    waiting = list(wanted)
    while waiting:
        requirement = waiting.pop()
        name = canonicalize_name(requirement.name)
        if name in found or name in NOT_PINNED or not _applies(requirement):
            continue
        try:
            package = distribution(name)
        except PackageNotFoundError:
            print(f"not installed, left out: {requirement}")
            continue
        found[name] = package.version
        waiting += [Requirement(text) for text in package.requires or []]
    return dict(sorted(found.items()))


def _applies(requirement: Requirement) -> bool:
    return requirement.marker is None or requirement.marker.evaluate({"extra": ""})


if __name__ == "__main__":
    pins = closure(declared())
    FILE.write_text(HEAD + "".join(f"{name}=={version}\n" for name, version in pins.items()), encoding="utf-8")
    print(f"{FILE.name}: {len(pins)} packages")
