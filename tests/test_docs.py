"""The documentation does what it says: its commands run, its example is a synthesizer, its links lead somewhere."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from schedules import collective
from simulator import simulate_us
from synthesizers import Problem
from synthesizers.conformance import ConformanceError, cases, check
from tests.plugin_environment import PluginEnvironment
from topologies import mesh, parse_topology, ring

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCKS = re.compile(r"```(sh|diff)\n(.*?)```", re.DOTALL)


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    """The environment of a reader, in which pip may install what a page writes."""
    return PluginEnvironment(tmp_path_factory.mktemp("reader") / "environment")


class Reader:
    """Follows one page in a folder of its own: types its commands, in order, and makes its changes.

    Parameters
    ----------
    environment : PluginEnvironment
    folder : Path
        Empty.
    """

    def __init__(self, environment, folder):
        self.environment = environment
        self.home = self.folder = folder
        # Whoever reads has the clone's files before them.
        (folder / "experiments").mkdir()
        (folder / "experiments" / "configs").symlink_to(ROOT / "experiments" / "configs")

    def type(self, line):
        """Run one command; only those that are known here, in the forms that are known, may be on a page."""
        words = shlex.split(line, comments=True)
        known = {"collbench": self.run, "pytest": self.run, "pip": self.pip, "cd": self.cd, "make": self.make}
        assert words[0] in known, line
        known[words[0]](*words)

    def run(self, program, *arguments):
        """Run a program, which must end well and say something."""
        done = self.environment.run(program, *arguments, cwd=self.folder, timeout=300)
        assert done.returncode == 0, (program, arguments, done.stdout, done.stderr)
        assert done.stdout, (program, arguments)

    def pip(self, _, command, *arguments):
        """Install a folder that the page has made, in the reader's environment and no other."""
        *options, folder = arguments
        assert command == "install"
        assert options in ([], ["--editable"])
        assert folder.startswith("./")
        assert (self.folder / folder / "pyproject.toml").is_file()
        self.environment.install(self.folder / folder, editable=bool(options))

    def cd(self, _, folder):
        """Go to a folder that the page has made."""
        self.folder = (self.folder / folder).resolve()
        assert self.folder.is_dir()
        assert self.folder.is_relative_to(self.home)

    def make(self, _, target):
        """Look for a target of the Makefile; continuous integration runs them."""
        assert target in re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)

    def change(self, before, diff):
        """Make a change in the file that is named last before it, where the old lines must stand once."""
        (*_, name) = re.findall(r"`([^`\s]+\.py)`", before)
        old, new = ("".join(line[1:] for line in diff.splitlines(keepends=True) if line[0] == sign) for sign in "-+")
        text = (self.folder / name).read_text()
        assert text.count(old) == 1
        (self.folder / name).write_text(text.replace(old, new))


class TestCommands:
    @pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
    def test_a_reader_can_follow(self, page, environment, tmp_path):
        """Each command of a page ends well, in the order in which a reader meets it, and each change fits."""
        reader, text = Reader(environment, tmp_path), page.read_text()
        for block in BLOCKS.finditer(text):
            if block[1] == "diff":
                reader.change(text[: block.start()], block[2])
                continue
            for line in filter(str.strip, block[2].splitlines()):
                reader.type(line)

    def test_there_are_commands(self):
        """The pages that show commands still do."""
        lines = {page.name: "".join(block[2] for block in BLOCKS.finditer(page.read_text())) for page in PAGES}
        assert lines["README.md"].count("collbench ") >= 5
        assert lines["README.md"].count("make ") >= 2
        assert lines["adding_a_synthesizer.md"].count("collbench ") >= 5
        assert "pip install" in lines["adding_a_synthesizer.md"]

    @pytest.mark.parametrize("line", ["rm -rf .", "pip install numpy", "pip uninstall ./x", "cd ..", "make everything"])
    def test_others_are_not_run(self, environment, tmp_path, line):
        """A command in a form that is not known here is refused, not run."""
        with pytest.raises(AssertionError):
            Reader(environment, tmp_path).type(line)

    def test_figures_of_the_tutorial(self):
        """The times that the tutorial names are those of the synthesizer before and after the change."""
        text = (ROOT / "docs" / "adding_a_synthesizer.md").read_text()
        source = (ROOT / "experiments" / "new_synthesizer" / "synthesizer.py.template").read_text()
        source = source.replace("$name", "flood").replace("$class_name", "Flood")
        (old, new) = re.search(r"```diff\n-(.*\n)\+(.*\n)```", text).groups()
        topology = parse_topology("torus:4x4")
        problem = Problem(topology, collective("all_gather", 16), 64 * 10**6)
        for code, takes in ((source, "it takes (\\d+) µs, more"), (source.replace(old, new), "Now it takes (\\d+) µs")):
            scope: dict[str, object] = {}
            exec(compile(code, "flood.py", "exec"), scope)
            schedule = scope["Flood"]().synthesize(problem, scope["Flood"].Options())
            assert simulate_us(schedule, problem.size) == float(re.search(takes, text)[1])

    def test_number_of_cases(self):
        """The tutorial counts the cases right."""
        text = (ROOT / "docs" / "adding_a_synthesizer.md").read_text()
        assert int(re.search(r"runs (\d+) small problems", text)[1]) == len(list(cases()))


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


def test_python_of_a_page_runs():
    """The lines of Python on the page of TopoOpt run as they stand, and the schedule that they make is right."""
    (code,) = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "topoopt.md").read_text(), re.DOTALL)
    names: dict = {}
    exec(code, names)
    assert names["schedule"].topology.name == "fabric:8x3@12.5GB/s,1us, topoopt"


class TestLinks:
    @pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
    def test_links_lead_to_files(self, page):
        """Every relative link and picture of a page is there."""
        for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
            if "://" not in target:
                assert (page.parent / target).exists(), target
