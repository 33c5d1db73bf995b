from ppo.experiments.tables import Table


def test_rows_survive_and_are_not_asked_for_again(tmp_path):
    table = Table(tmp_path / "deep" / "table.csv", ("figure", "ours"))
    assert not table.has("start, cold")
    table.add("start, cold", 1.5)
    again = Table(tmp_path / "deep" / "table.csv", ("figure", "ours"))
    assert again.has("start, cold")
    again.add("memory", "20 MB")
    assert Table(table.path, table.columns).rows == [
        {"figure": "start, cold", "ours": "1.5"},
        {"figure": "memory", "ours": "20 MB"},
    ]
    assert again.markdown() == "| figure | ours |\n| --- | --- |\n| start, cold | 1.5 |\n| memory | 20 MB |\n"
