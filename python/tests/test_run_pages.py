# SPDX-License-Identifier: Apache-2.0
"""The tool that runs the blocks of pages: what it runs, and what it finds wrong."""
from __future__ import annotations

import collections
import pathlib
import sys

import pytest
from command import COMMAND

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import run_pages  # noqa: E402

PAGE = """# Page
```python
x = 1
print("x is", x, object())
```

```output
x is 1 <…>
```

```sh
forebay --version
```

<!-- not run: there is no such module -->
```python
import no_such_module
```

```json
{"source": {"lines": {"files": ["page.md"]}}, "decode": {"record": {}}, "steps": [{"batch": {"size": 1}}]}
```
"""


@pytest.fixture
def check(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch):  # type: ignore[no-untyped-def]
    """The faults of a page with this text."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(run_pages, "ROOT", tmp_path)

    def faults(text: str) -> tuple[list[str], dict[str, int]]:
        page = tmp_path / "page.md"
        page.write_text(text)
        count: collections.Counter[str] = collections.Counter()
        return run_pages.check_page(page, COMMAND.parent, count), dict(count)
    return faults


def test_every_block_of_a_page_runs(check) -> None:  # type: ignore[no-untyped-def]
    assert check(PAGE) == ([], {"python": 1, "sh": 1, "left out": 1, "json": 1})


@pytest.mark.parametrize(("right", "wrong", "says"), [
    ("x is 1 <…>", "x is 2 <…>", "page.md:3: printed\nx is 1"), ("x = 1", "x = y", "page.md:3: "), ("--version", "--colour", "page.md:12: exit 2"),
    ('"lines"', '"line"', "page.md:21: "), ("```sh", "```bash", "page.md:12: no block has the language 'bash'")])
def test_a_block_that_is_wrong_is_named_with_its_line(check, right: str, wrong: str, says: str) -> None:  # type: ignore[no-untyped-def]
    faults, _ = check(PAGE.replace(right, wrong))
    assert len(faults) == 1 and faults[0].startswith(says)
