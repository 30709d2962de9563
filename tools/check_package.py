"""Build wheel and source archive, install the wheel into an empty environment, run the tests that need no extra there.

`make check-package`; `make check-lowest` does it with the lowest versions of the dependencies that pyproject.toml allows.
Which tests need no extra is read from their imports, and from those of the helpers beside them: the standard library, Fenchel,
its own dependencies and pytest. They are run from the unpacked source archive, so both are tried.
"""

from __future__ import annotations

import ast
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import venv
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).parent.parent
RUNNER = ["pytest", "pytest-timeout", "pytest-xdist"]
IMPORTED_AS = {"scikit-learn": "sklearn"}


def core_modules() -> set[str]:
    """What a plain installation can import."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    names = {Requirement(text).name for text in project["dependencies"]}
    return {*sys.stdlib_module_names, *(IMPORTED_AS.get(name, name) for name in names), "fenchel", "pytest", "llvmlite"}


def imports(file: Path) -> set[str]:
    """The top-level modules that a file imports when it is imported."""
    found = set()
    for node in ast.parse(file.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module.partition(".")[0])
    return found


def needs_no_extra(file: Path, folder: Path, core: set[str]) -> bool:
    """True if all that the test imports, also through its helpers, is there without an extra."""
    for name in imports(file) - core:
        helper = next(
            (place / f"{name}.py" for place in (folder, ROOT / "docs/ext") if (place / f"{name}.py").exists()), None
        )
        if helper is None or not needs_no_extra(helper, folder, core):
            return False
    return True


def plain_tests(folder: Path) -> list[str]:
    """The test files that need no extra."""
    core = core_modules()
    return [f"tests/{file.name}" for file in sorted(folder.glob("test_*.py")) if needs_no_extra(file, folder, core)]


def run(*words: str | Path, cwd: Path = ROOT) -> None:
    """Run a command, and end with its status if that is not 0."""
    print("$", *words, flush=True)
    status = subprocess.run([str(word) for word in words], cwd=cwd).returncode
    if status:
        sys.exit(status)


def lowest() -> str:
    """A constraint file with the lowest version of every dependency that `pyproject.toml` allows."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    bounds = [(Requirement(text).name, Requirement(text).specifier) for text in project["dependencies"]]
    return "".join(f"{name}=={spec.version}.*\n" for name, specs in bounds for spec in specs if spec.operator == ">=")


def main(arguments: list[str]) -> None:
    """All of it; `arguments` are "--lowest", other tests to run there, or options of pytest."""
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        run(sys.executable, "-m", "build", "--no-isolation", "--outdir", place / "dist", ROOT)
        (wheel,), (archive,) = (place / "dist").glob("*.whl"), (place / "dist").glob("*.tar.gz")
        with tarfile.open(archive) as packed:
            packed.extractall(place / "source", filter="data")
        (source,) = (place / "source").iterdir()
        venv.create(place / "empty", with_pip=True)
        python = place / "empty" / ("Scripts" if sys.platform == "win32" else "bin") / "python"
        (place / "lowest.txt").write_text(lowest(), encoding="utf-8")
        constraints = place / "lowest.txt" if "--lowest" in arguments else ROOT / "constraints.txt"
        arguments = [word for word in arguments if word != "--lowest"]
        pip = [python, "-m", "pip", "install", "--quiet", "--constraint", constraints]
        run(*pip, wheel)
        run(python, "-c", "import fenchel; assert 'site-packages' in fenchel.__file__, fenchel.__file__", cwd=place)
        run(*pip, *RUNNER)
        run(python, "-m", "pytest", "-m", "not slow", *(arguments or plain_tests(source / "tests")), cwd=source)
    print("wheel and source archive build, install and pass")


if __name__ == "__main__":
    main(sys.argv[1:])
