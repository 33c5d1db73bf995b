"""Tables go on where they were left, and show and group their rows in order."""

from ppo.experiments.tables import Table, grouped, markdown, numbers


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


def test_a_table_whose_rows_were_deleted_keeps_its_header(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("figure,ours\n")
    Table(path, ("figure", "ours")).add("memory", "20 MB")
    assert path.read_text().split() == ["figure,ours", "memory,20", "MB"]


def test_rows_are_grouped_by_a_column_and_variant_in_order():
    rows = [{"env": env, "variant": variant, "x": str(i)} for i, (env, variant) in enumerate(["ba", "aa", "ba", "bb"])]
    groups = grouped(rows)
    assert list(groups) == [("b", "a"), ("a", "a"), ("b", "b")]
    assert numbers(groups["b", "a"], "x") == [0.0, 2.0]
    assert list(grouped(rows, "x")) == [("0", "a"), ("1", "a"), ("2", "a"), ("3", "b")]


def test_markdown_of_lines():
    assert markdown(["a", "b"], [["1", "2"]]) == "| a | b |\n| --- | --- |\n| 1 | 2 |\n"
