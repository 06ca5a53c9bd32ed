"""The hash of the code of a synthesizer: it changes with what the synthesizer imports, and with nothing else."""

from __future__ import annotations

import importlib
import sys

import pytest

from experiments.runner import sources
from experiments.runner.run import Run
from synthesizers import discover

PACKAGE = {
    "__init__.py": "",
    "made.py": "from synthesizers import Synthesizer\n"
    "class Made(Synthesizer):\n"
    "    name, reference = 'made', 'a test'\n"
    "    def synthesize(self, problem, options):\n"
    "        from .parts import sooner, later\n",
    "parts/__init__.py": "",
    "parts/sooner.py": "try:\n    import made_here.deep.er\nexcept ImportError:\n    pass\n",
    "parts/later.py": "from ..deep import *\nfrom numpy import array\n",
    "deep/__init__.py": "",
    "deep/er.py": "from made_here import cyclic\n",
    "cyclic.py": "from made_here import made\n",
    "apart.py": "",
}


@pytest.fixture
def package(tmp_path, monkeypatch):
    """Return the folder of a package with a synthesizer, and a function that returns the hash of its code as it is."""
    folder = tmp_path / "made_here"
    for name, text in PACKAGE.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    made = importlib.import_module("made_here.made").Made()

    def forget():
        for each in (sources._read, sources._spec, sources._code_of):
            each.cache_clear()

    def code():
        forget()
        return sources.code_of(made)

    yield folder, code
    forget()
    for name in [name for name in sys.modules if name.partition(".")[0] == "made_here"]:
        del sys.modules[name]


class TestCodeOf:
    @pytest.mark.parametrize("name", [name for name in PACKAGE if name != "apart.py"])
    def test_what_is_imported_counts(self, package, name):
        """A change to any module that is imported, at any depth and place, changes the hash; and so back again."""
        folder, code = package
        before = code()
        (folder / name).write_text(PACKAGE[name] + "# changed\n")
        assert code() != before
        (folder / name).write_text(PACKAGE[name])
        assert code() == before

    def test_what_is_not_imported_does_not(self, package):
        """A module that nothing imports may change and break."""
        folder, code = package
        before = code()
        (folder / "apart.py").write_text("def (\n")
        assert code() == before

    def test_new_module(self, package):
        """A module that comes to be imported counts from then on."""
        folder, code = package
        before = code()
        (folder / "cyclic.py").write_text("import made_here.apart\n")
        assert code() != before

    def test_imports_nothing(self, package):
        """Reading what is imported does not import it."""
        _, code = package
        code()
        assert "made_here.parts" not in sys.modules


class TestOurs:
    def test_each_its_own(self):
        """Each synthesizer has its own modules and the shared ones, and not those of another."""
        ours = sources._OURS
        ring = sources.reached({"synthesizers.ring"}, ours)
        tacos = sources.reached({"synthesizers.tacos.synthesizer"}, ours)
        assert {"synthesizers.ring", "synthesizers.rings.exact", "synthesizers.tuning", "simulator.in_order"} <= ring
        assert {"synthesizers.tacos.matching", "synthesizers.tuning", "topologies.topology"} <= tacos
        assert not any(name.startswith("synthesizers.ring") for name in tacos)
        assert not any(name.startswith("synthesizers.tacos") for name in ring)

    def test_scoring(self):
        """What scores is the verifier, the simulator and the bounds, and no synthesizer that is found by its name."""
        found = sources.reached({"experiments.evaluate"}, sources._OURS)
        assert {"schedules.verifier_kernels", "simulator.events", "simulator.bounds.cuts", "topologies.paths"} <= found
        assert "synthesizers.ring" not in found

    def test_all_differ(self):
        """No two synthesizers have the same code."""
        makers = [plugin.synthesizer for plugin in discover().values() if plugin.synthesizer is not None]
        assert len({sources.code_of(maker) for maker in makers}) == len(makers)

    def test_key(self, monkeypatch):
        """Other code, of the synthesizer or of what scores, is another run."""
        from experiments.runner import run as module

        def key():
            module._maker.cache_clear()
            return Run(topology="ring:4", collective="all_gather", size=1, synthesizer="ring", label="").key()

        keys = {key()}
        for name in ("code_of", "scoring_code"):
            monkeypatch.setattr(module, name, lambda *_: "changed")
            keys.add(key())
            monkeypatch.undo()
        assert len(keys) == 3
        assert key() in keys
