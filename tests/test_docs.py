"""What the documentation says is so: flags are current, links lead somewhere, the README's objective trains."""

import importlib
import importlib.util
import pathlib
import re

import pytest

from tests.ppo.algorithm.model.quick import quick

ROOT = pathlib.Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), ROOT / "runs" / "reference" / "README.md"]


def test_reference_is_what_the_code_says():
    spec = importlib.util.spec_from_file_location("make_reference", ROOT / "docs" / "make_reference.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert (ROOT / "docs" / "reference.md").read_text(encoding="utf-8") == module.reference()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_to_files(page):
    links = re.findall(r"\]\(([^)#]+)", page.read_text(encoding="utf-8"))
    missing = [link for link in links if "://" not in link and not (page.parent / link).exists()]
    assert missing == []


def test_the_commands_of_the_readme_on_its_objective_work(tmp_path, monkeypatch, capsys):
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    code = re.search(r"```python\n(# heater\.py\n.*?)```", readme, re.DOTALL)[1]
    (tmp_path / "heater.py").write_text(code, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    quick(monkeypatch.setattr)  # it is about the commands, not about how good the laws are
    train = re.search(r"^tuninglaw (train --env \./heater\.py:cost .*)$", readme, re.MULTILINE)[1]
    table = re.findall(r"^\| .*`tuninglaw (\w+ [^`]*runs/heater[^`]*)`", readme, re.MULTILINE)
    assert len(table) == 5  # check it, go on, spend more, start another run from it, look at it
    for command in (train, *table):
        verb, *words = command.split()
        importlib.import_module(f"ppo.{verb}").main([*words, *([] if verb == "archive" else ["--quiet"])])
    assert (tmp_path / "runs" / "other" / "law.npz").is_file()
    columns = re.search(r"heater\.csv\"\)  # (.*)", readme)[1]
    assert (tmp_path / "heater.csv").read_text().splitlines()[0] == columns.replace(", ", ",")
    assert "256 plan" in capsys.readouterr().out
