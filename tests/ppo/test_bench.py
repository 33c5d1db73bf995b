"""``ppo.bench`` measures what its table lacks, one figure when asked, and answers a mistake with one line."""

import csv

import pytest

from env import UsageError
from ppo import bench


def rows(path):
    with path.open(newline="") as file:
        return list(csv.reader(file))


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["--figure", "64 driver ready"], r"--figure 64 driver ready: unknown \(did you mean '64 drivers ready'\?\)"),
        (["--figures", "x"], "unknown argument --figures"),
        (["stray"], "unknown argument stray"),
    ],
)
def test_a_mistake_is_one_line_and_leaves_nothing(argv, message, tmp_path):
    with pytest.raises(UsageError, match=message) as error:
        bench.main([*argv, "--out", str(tmp_path / "bench")])
    assert "\n" not in str(error.value)
    assert list(tmp_path.iterdir()) == []


def test_a_figure_is_measured_alone(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(bench.FIGURES, "64 drivers ready", lambda: ("1 s", "9 s", "1/9", "1.5 s"))
    bench.main(["--out", str(tmp_path), "--figure", "64 drivers ready"])
    assert rows(tmp_path / "bench.csv") == [[*bench.COLUMNS], ["64 drivers ready", "1 s", "9 s", "1/9", "1.5 s"]]
    assert capsys.readouterr().out == "64 drivers ready: 1 s, 9 s, 1/9, 1.5 s\n"


def test_what_the_table_has_is_not_measured_again(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(bench, "FIGURES", dict.fromkeys(["a", "b"], lambda: pytest.fail("measured in this process")))
    lines = [",".join(bench.COLUMNS), "a,1 s,2 s,1/2,1/2", "b,3 s,6 s,1/2,1/2"]
    (tmp_path / "bench.csv").write_text("\n".join(lines) + "\n")
    bench.main(["--out", str(tmp_path)])
    assert (tmp_path / "bench.csv").read_text().split("\n") == [*lines, ""]
    for text in ((tmp_path / "bench.md").read_text(), capsys.readouterr().out):
        assert "| a | 1 s | 2 s | 1/2 | 1/2 |\n| b | 3 s | 6 s | 1/2 | 1/2 |\n" in text
