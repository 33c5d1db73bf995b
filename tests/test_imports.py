"""Imports run one way: ppo -> actors -> env, inside ppo from commands down to config; and only learning loads torch."""

import ast
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parent.parent
LAYERS = (
    "startup",
    "processor",
    "config",
    "data",
    "algorithm",
    "evaluation",
    "training",
    "experiments",
    "studies",
    "commands",
)
"""Folders of ppo/ from the lowest to the highest; the commands are the modules of ppo/ itself."""
LIGHT = [
    *("env", "actors", "actors.pools.driver_process", "actors.pools.processes", "ppo", "ppo.config.command_line"),
    *("ppo.train", "ppo.evaluate", "ppo.replay", "ppo.tune", "ppo.study", "ppo.compare"),
]
SOURCES = sorted(path for package in ("env", "actors", "ppo") for path in (ROOT / package).rglob("*.py"))


def imports(path: pathlib.Path) -> set[str]:
    """Returns the modules that a file imports anywhere, with the names imported from them."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def layer(module: str) -> int:
    """Returns the layer of a module of ppo, given by its dotted name."""
    parts = module.split(".")
    return LAYERS.index(parts[1]) if len(parts) > 1 and parts[1] in LAYERS else len(LAYERS) - 1


@pytest.mark.parametrize("module", LIGHT)
def test_loads_neither_torch_nor_scipy(module):
    code = (
        f"import sys, {module}; print(sorted(name for name in sys.modules if name.split('.')[0] in ('torch', 'scipy')))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(("package", "forbidden"), [("env", {"actors", "ppo", "torch"}), ("actors", {"ppo", "torch"})])
def test_packages_import_one_way(package, forbidden):
    for path in (ROOT / package).rglob("*.py"):
        assert not {name.split(".")[0] for name in imports(path)} & forbidden, path


def test_folders_of_ppo_import_downwards():
    for path in (ROOT / "ppo").rglob("*.py"):
        own = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        for name in imports(path):
            if name.startswith("ppo.") and name not in ("ppo.Config", "ppo.resolve"):
                assert layer(name) <= layer(own), f"{own} imports {name}"
                commands_apart = layer(own) < len(LAYERS) - 1 or layer(name) < layer(own)
                assert commands_apart or own == "ppo.__init__", f"{own} imports the command {name}"


def test_a_layer_below_is_told_from_one_above():
    assert layer("ppo.config.fields.Config") < layer("ppo.algorithm.agent") < layer("ppo.training.trainer.Trainer")
    assert layer("ppo.studies.thesis") < layer("ppo.train")


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_files_and_functions_stay_small(path):
    text = path.read_text(encoding="utf-8")
    assert text.count("\n") <= 300
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef):
            assert node.end_lineno - node.lineno < 50, node.name
