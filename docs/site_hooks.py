"""Brings the reference results into the site, where pages link to them as they do in the repository."""

import pathlib
from typing import Any

from mkdocs.structure.files import File

ROOT = pathlib.Path(__file__).parent.parent
RESULTS = "runs/reference"


def on_files(files: Any, config: Any, **_: Any) -> Any:
    """Adds tables and pictures of the reference results to the files of the site."""
    for path in sorted((ROOT / RESULTS).rglob("*")):
        if path.suffix in (".md", ".png"):
            name = path.relative_to(ROOT).as_posix()
            files.append(File.generated(config, name, abs_src_path=str(path)))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Rewrites links that leave ``docs/`` to where the site has their files."""
    return markdown.replace(f"](../{RESULTS}/", f"]({RESULTS}/")
