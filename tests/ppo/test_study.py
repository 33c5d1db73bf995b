import pytest

from env import UsageError
from ppo.study import main


@pytest.mark.parametrize(
    ("argv", "complaint"),
    [
        (["thesis", "--only", "nonsense"], "--only nonsense: must be one of modes, failure"),
        (["control", "--only", "CartPole"], "--only CartPole: must be one of CartPole-v1, Pendulum-v1"),
        (["tempcontrol", "--only", "ten"], "--only ten: must be one of returns, times, longer, race"),
        (["thesis", "--seeds", "0"], "--seeds 0: must be from 1"),
        (["thesi"], "thesi"),
        (["scaling", "--quick"], "--quick: the study scaling does not take it"),
        (["ablation", "--only", "ten"], "--only: the study ablation does not take it"),
        (["ablation", "--sedes", "3"], "--sedes"),
    ],
)
def test_a_mistake_is_one_line_and_nothing_is_written(argv, complaint, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError) as error:
        main(argv)
    assert complaint in str(error.value)
    assert "\n" not in str(error.value)
    assert not list(tmp_path.iterdir())


def test_a_quick_study_from_end_to_end(tmp_path, monkeypatch, capsys):
    from ppo import Config
    from ppo.studies import thesis

    tiny = Config(drivers=0, training_steps=20, hidden_sizes=(8,), update_epochs=2, checkpoint_every=10**6)
    monkeypatch.setattr(thesis, "BUDGET", tiny)
    main(["thesis", "--seeds", "1", "--only", "modes", "--out", str(tmp_path / "out")])
    assert "bit for bit" in capsys.readouterr().out
    assert "bit for bit" in (tmp_path / "out" / "thesis.md").read_text()
