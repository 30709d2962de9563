"""Fenchel talks to nobody: training, predicting, verifying and reporting open no port and make no connection."""

from __future__ import annotations

import subprocess
import sys

WATCHED = """
import sys
seen = []
def watch(event, arguments):
    if event in ("socket.connect", "socket.bind", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendto",
                 "urllib.Request", "http.client.connect", "ftplib.connect", "smtplib.connect"):
        seen.append((event, str(arguments[1:])))
sys.addaudithook(watch)
import numpy as np, fenchel
from fenchel.cli import main
from fenchel.report import write_page
folder = sys.argv[1]
rng = np.random.default_rng(0)
X = rng.normal(size=(40, 3))
y = np.where(X[:, 0] > 0, 1, -1)
with open(f"{folder}/d.svm", "w") as file:
    for row, label in zip(X, y):
        file.write(f"{label} " + " ".join(f"{j + 1}:{v!r}" for j, v in enumerate(row.tolist())) + "\\n")
assert main(["train", f"{folder}/d.svm", "--model", f"{folder}/m", "--quiet"]) == 0
assert main(["predict", f"{folder}/m", f"{folder}/d.svm", "-o", f"{folder}/out"]) == 0
assert main(["verify", f"{folder}/m", f"{folder}/d.svm"]) == 0
model = fenchel.load(f"{folder}/m")
write_page(f"{folder}/p.html", model, data=(X, y))
fenchel.Classifier("logistic", n_jobs=2).fit(X, y).predict(X)
print("seen", seen)
"""


def test_train_predict_and_report_touch_no_network(tmp_path):
    """No connection is made, no port is opened, no name is looked up."""
    run = subprocess.run([sys.executable, "-c", WATCHED, str(tmp_path)], capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stderr
    assert run.stdout.splitlines()[-1] == "seen []"
    assert (tmp_path / "p.html").stat().st_size > 10_000


def test_the_watcher_of_that_test_sees_a_connection(tmp_path):
    code = WATCHED.partition("import numpy")[0] + (
        "import socket\ns = socket.socket(); s.bind(('127.0.0.1', 0)); s.listen()\n"
        "socket.create_connection(s.getsockname()).close(); print([event for event, _ in seen])"
    )
    run = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, timeout=60)
    assert "socket.connect" in run.stdout
    assert "socket.bind" in run.stdout
