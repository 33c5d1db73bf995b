"""What loads what: imports run one way, and only the learner needs torch."""

import ast
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parent.parent


@pytest.mark.parametrize(
    "module",
    [
        "env",
        "actors",
        "actors.pools.driver_process",
        "actors.pools.processes",
        "ppo",
        "ppo.config.command_line",
        "ppo.train",
    ],
)
def test_loads_no_torch(module):
    code = (
        f"import sys, {module}; print(sorted(name for name in sys.modules if name.split('.')[0] in ('torch', 'scipy')))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(("package", "forbidden"), [("env", {"actors", "ppo", "torch"}), ("actors", {"ppo", "torch"})])
def test_imports_run_one_way(package, forbidden):
    for path in (ROOT / package).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                names = [node.module or ""]
            assert not {name.split(".")[0] for name in names} & forbidden, path
