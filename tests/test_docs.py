"""The documentation does what it says: its commands run, its example is a synthesizer, its links lead somewhere."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from schedules import collective
from synthesizers import Problem
from synthesizers.conformance import ConformanceError, cases, check
from topologies import mesh, ring

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
COMMANDS = [
    (page.name, line)
    for page in PAGES
    for block in re.findall(r"```sh\n(.*?)```", page.read_text(), re.DOTALL)
    for line in block.splitlines()
    if line.strip()
]


class TestCommands:
    def test_every_command_runs(self, tmp_path):
        """Each collbench command of the pages ends well and says something, in the order in which a reader meets it."""
        ours = [line for _, line in COMMANDS if line.startswith("collbench ")]
        assert len(ours) >= 5
        for line in ours:
            words = shlex.split(line, comments=True)
            done = subprocess.run(
                [Path(sys.executable).with_name("collbench"), *words[1:]],
                cwd=tmp_path,
                text=True,
                capture_output=True,
                timeout=300,
            )
            assert done.returncode == 0, (line, done.stderr)
            assert done.stdout, line

    def test_every_target_exists(self):
        """The other commands are targets of the Makefile; continuous integration runs them."""
        targets = re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
        for page, line in COMMANDS:
            words = shlex.split(line, comments=True)
            assert words[0] in ("collbench", "make"), (page, line)
            if words[0] == "make":
                assert words[1] in targets


@pytest.fixture(scope="module")
def snake():
    """The synthesizer printed in the README."""
    (code,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert code.count("\n") <= 35
    scope: dict[str, object] = {}
    exec(compile(code, "README.md", "exec"), scope)
    return scope["Snake"]()


class TestExample:
    def test_it_conforms(self, snake):
        """It passes the conformance suite: right where it says that it can, with a reason where it cannot."""
        supported = 0
        for case in cases():
            try:
                supported += check(snake, case) is None
            except ConformanceError as error:  # pragma: no cover
                pytest.fail(f"{case}: {error}")
        assert supported

    def test_it_says_what_it_cannot_do(self, snake):
        """A mesh has no link from each NPU to the next; a ring has."""
        assert snake.supports(Problem(mesh([3, 3]), collective("all_gather", 9), 9)) is not None
        assert snake.supports(Problem(ring(9), collective("all_gather", 9), 9)) is None


class TestLinks:
    @pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
    def test_links_lead_to_files(self, page):
        """Every relative link and picture of a page is there."""
        for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
            if "://" not in target:
                assert (page.parent / target).exists(), target
