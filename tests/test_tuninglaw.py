"""The command tuninglaw and the module of that name: as a user starts them, whatever else lies in the directory."""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys

import numpy as np
import pytest

import tuninglaw
from actors import NetworkSpec, Snapshot
from actors.law_file import save_law
from ppo.startup import command

ROOT = pathlib.Path(__file__).parent.parent
SCRIPT = "import sys\nfrom tuninglaw import main\n\nsys.exit(main())\n"
QUICK = ["--evaluations", "36", "--model", "none", "--hidden-sizes", "4", "--quiet", "--no-pictures"]
OWN = """
import os
import other_of_mine
from env import Range, objective


@objective(knobs={"gain": Range(0, 1)}, conditions={"vin": Range(0, 1)})
def loss(gain, vin):
    return (gain - 0.5 * vin) ** 2 + 0 * other_of_mine.VALUE
"""
PROGRAM = """
import json
import sys

import numpy as np

from tuninglaw import Config, Integer, Range, objective, train


@objective(knobs={"gain": Range(0, 1), "taps": Integer(0, 3)}, conditions={"vin": Range(0, 1)})
def loss(gain, taps, vin):
    return (gain - SCALE * vin) ** 2 + 0.1 * taps


class Meter:
    def __init__(self, offset):
        self.offset = offset

    def __call__(self, gain, vin):
        return (gain - vin) ** 2 + self.offset


SCALE = 0.5
described = objective(knobs={"gain": Range(0, 1)}, conditions={"vin": Range(0, 1)})(Meter)
instance = described.objective(offset=3.0)

if __name__ == "__main__":
    found = {}
    for name, env, keywords in (
        ("function", loss, {}),
        ("class", Meter, {"offset": 2.0}),
        ("instance", instance, {}),
    ):
        for drivers in (0, 2):
            config = Config(
                env=env, env_kwargs=keywords, evaluations=24, model="none", hidden_sizes=(4,), drivers=drivers
            )
            summary = train(config, f"{name}-{drivers}", quiet=True, pictures=False)
            found[f"{name}-{drivers}"] = [summary["policy_sha256"], summary["drivers"], config.env]
    print(json.dumps(found))
"""


@pytest.fixture
def directory(tmp_path, monkeypatch):
    """A working directory, in which commands find this program and nothing of the tests."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "tuninglaw").write_text(SCRIPT)
    (tmp_path / "here").mkdir()
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.delenv("PYTHONSAFEPATH", raising=False)
    return tmp_path / "here"


def started(directory, *words, **options):
    """Starts the command as its script does, or Python itself; returns exit code, output and errors."""
    script = [] if words[0].startswith("-") else [str(directory.parent / "bin" / "tuninglaw")]
    done = subprocess.run(
        [sys.executable, *script, *words], cwd=directory, capture_output=True, text=True, timeout=100, **options
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.slow
def test_a_directory_with_an_own_env_trains_with_drivers(directory):
    """The drivers load this program's package of that name too, and the user's modules after it."""
    (directory / "mine.py").write_text(OWN)
    for name in ("env", "actors", "other_of_mine"):
        (directory / f"{name}.py").write_text("VALUE = 1\n")
    words = ["train", "--env", "mine:loss", "--drivers", "2", "--run-dir", "mine", *QUICK]
    assert started(directory, *words) == (0, "", "")
    summary = json.loads((directory / "mine" / "summary.json").read_text())
    assert summary["drivers"] == 2 and summary["objective_evaluations"] == 36
    assert list(tuninglaw.load(directory / "mine")(vin=0.5)) == ["gain"]


def test_where_an_own_env_hides_the_package_it_is_told_in_one_line(directory):
    (directory / "env.py").write_text(OWN)
    code, out, errors = started(directory, "-m", "ppo.train", "--env", "./env.py:loss", *QUICK)
    assert (code, out) == (2, "")
    assert errors == (
        f"error: {directory}/env.py is in the way of this program's package 'env': rename it, or use the command "
        f"tuninglaw in place of python -m ppo\n"
    )


@pytest.mark.parametrize("name", ["ppo", "env", "actors"])
def test_what_hides_a_package_from_the_command_is_told_in_one_line(name, directory):
    (directory / f"{name}.py").write_text("")
    environment = os.environ | {"PYTHONPATH": f"{directory}{os.pathsep}{ROOT}"}
    code, out, errors = started(directory, "train", "--env", "sphere", *QUICK, env=environment)
    assert (code, out) == (2, "")
    assert errors == f"error: {directory}/{name}.py is in the way of this program's package '{name}': rename it\n"
    assert not (directory / "runs").exists()


def test_what_hides_a_package_from_a_program_is_an_import_error(directory):
    (directory / "actors.py").write_text("")
    code, _, errors = started(directory, "-c", "import tuninglaw; tuninglaw.Config")
    assert code == 1
    assert errors.splitlines()[-1] == (
        f"ImportError: {directory}/actors.py is in the way of this program's package 'actors': rename it"
    )


def test_packages_that_lie_apart_on_a_node_of_a_cluster_are_one_program(directory):
    """Ray unpacks each that travels into a directory of its own."""
    homes = [directory / "nodes" / f"_ray_pkg_{number}" for number in range(4)]
    for name, home in zip(("env", "actors", "ppo"), homes, strict=False):
        shutil.copytree(ROOT / name, home / name, ignore=shutil.ignore_patterns("__pycache__"))
    homes[3].mkdir()
    shutil.copy(ROOT / "tuninglaw.py", homes[3])
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, homes))}
    code, out, errors = started(directory, "-c", "import tuninglaw; print(tuninglaw.Range(0, 1))", env=environment)
    assert (code, out, errors) == (0, f"{tuninglaw.Range(0, 1)}\n", "")


def test_an_own_ppo_in_the_directory_is_not_in_the_way_of_the_command(directory):
    """The directory comes last on the path."""
    (directory / "ppo.py").write_text("raise RuntimeError('mine')")
    code, out, errors = started(directory, "archive", "none")
    assert (code, out) == (2, "") and errors.startswith("error: RUN_DIR none: ")


@pytest.mark.parametrize(
    ("words", "code", "out", "errors"),
    [
        (
            ["trian"],
            2,
            "",
            "error: unknown command trian; it must be train, evaluate, compare, tune, ask, tell, archive, replay, ",
        ),
        (["train", "--evaluations", "abc"], 2, "", "error: --evaluations abc: must be a whole number\n"),
        (["train", "--env", "./none.py:f"], 2, "", "error: --env ./none.py:f: there is no file none.py there\n"),
        (["evaluate", "none"], 2, "", "error: RUN_DIR none: "),
    ],
)
def test_a_mistake_is_one_line(words, code, out, errors, directory):
    found = started(directory, *words)
    assert found[:2] == (code, out) and found[2].startswith(errors) and found[2].count("\n") == 1


def test_it_says_its_version(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["tuninglaw", "--version"])
    tuninglaw.main()
    assert capsys.readouterr().out == "tuninglaw 0.2.0\n"


@pytest.mark.parametrize("words", [[], ["-h"], ["--help"]])
def test_its_help_names_all_commands(words, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["tuninglaw", *words])
    tuninglaw.main()
    shown = capsys.readouterr().out
    assert shown.startswith("usage: tuninglaw COMMAND ...")
    commands = {path.stem for path in (ROOT / "ppo").glob("*.py")} - {"__init__", "processor", "startup"}
    assert set(tuninglaw.VERBS) == commands
    assert all(f"\n  {verb} " in shown for verb in commands)


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        ("/usr/bin/tuninglaw", "tuninglaw train"),
        ("tuninglaw.exe", "tuninglaw train"),
        ("/x/tuninglaw.py", "tuninglaw train"),
        ("/x/ppo/train.py", "python -m ppo.train"),
        ("-c", "python -m ppo.train"),
        ("", "python -m ppo.train"),
    ],
)
def test_messages_call_a_command_as_it_was_called(program, expected, monkeypatch):
    monkeypatch.setattr(sys, "argv", [program])
    assert command("train") == expected


def test_how_to_go_on_is_told_in_the_words_of_the_command(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    words = ["train", "--env", "tests.problems:RaisesRowByRow", "--run-dir", "mine", "--drivers", "0", *QUICK]
    monkeypatch.setattr(sys, "argv", ["/usr/bin/tuninglaw", *words])
    monkeypatch.setattr(sys, "path", list(sys.path))
    before = signal.getsignal(signal.SIGINT)
    try:
        with pytest.raises(SystemExit) as end:
            tuninglaw.main()
    finally:
        signal.signal(signal.SIGINT, before)
    errors = capsys.readouterr().err.splitlines()
    assert end.value.code == 1
    assert errors[-2].startswith("run this slot alone with tuninglaw replay mine --training-step ")
    assert "go on with tuninglaw train --resume mine" in errors[-1]


@pytest.mark.slow
def test_a_program_trains_on_what_it_defines_itself_with_driver_processes(directory):
    """As a notebook does: nothing of it can be imported by the drivers."""
    (directory / "program.py").write_text(PROGRAM)
    code, out, errors = started(directory, "-u", "program.py")
    assert (code, errors) == (0, "")
    found = json.loads(out)
    for name, env in (("function", "loss"), ("class", "Meter"), ("instance", "Meter-1")):
        ours, theirs = found[f"{name}-0"], found[f"{name}-2"]
        assert ours[0] == theirs[0] and (ours[1], theirs[1]) == (0, 2)
        assert ours[2] == f"__main__:{env}"
    assert len({one[0] for one in found.values()}) >= 2
    law = tuninglaw.load(directory / "function-2")
    assert list(law(vin=0.5)) == ["gain", "taps"]


COLD = """if True:
    import sys, tuninglaw
    law = tuninglaw.load(sys.argv[1])
    law(c_0=0.5), law([[0.5]])
    print(sorted({name.partition(".")[0] for name in sys.modules} & {"torch", "scipy", "tyro", "psutil", "tqdm"}))
"""


def test_a_law_is_loaded_without_torch_and_scipy(directory):
    spec = NetworkSpec(2, (8,), "tanh", "gaussian", 1)
    save_law(directory / "law.npz", Snapshot(0, spec, np.zeros(spec.size)))
    assert started(directory, "-c", COLD, "law.npz") == (0, "[]\n", "")


def test_all_names_are_there_and_no_other():
    assert sorted(tuninglaw._HOMES) == sorted(tuninglaw.__all__) and set(tuninglaw.__all__) <= set(dir(tuninglaw))
    for name in tuninglaw.__all__:
        assert getattr(tuninglaw, name).__name__ == name
    with pytest.raises(AttributeError, match="module 'tuninglaw' has no attribute 'tain'"):
        tuninglaw.tain  # noqa: B018


def test_names_are_loaded_when_they_are_used(directory):
    code = """if True:
        import sys, tuninglaw
        from tuninglaw import Choice, Config, Integer, Law, Log, Objective, Range, UsageError, load, objective, train
        print("torch" in sys.modules, "scipy" in sys.modules)
    """
    assert started(directory, "-c", code) == (0, "False False\n", "")
