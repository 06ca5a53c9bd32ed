"""Discovery: built-in synthesizers and plugins come through one door, and a broken plugin harms nobody."""

from __future__ import annotations

import importlib.metadata
import signal
import sys
from concurrent.futures import ThreadPoolExecutor
from types import ModuleType, SimpleNamespace

import pytest

from schedules import collective
from synthesizers import OptionsBase, Problem, Synthesizer, available, discover, find, parse_options, registry
from synthesizers.import_limit import seconds
from synthesizers.registry import GROUP, load, names
from synthesizers.tacos import Tacos
from topologies import CollectiveError, OptionError, ring

BUILT_IN = {
    "alltoall_lp", "auto", "bfb", "binomial", "bruck", "direct", "double_binary_tree", "exact", "forest",
    "halving_doubling", "hierarchical", "pairwise", "recursive_doubling", "ring", "scatter_allgather", "sccl",
    "swing", "taccl", "tacos", "topoopt",
}  # fmt: skip


class Good(Synthesizer):
    """The least that a synthesizer is, with some options."""

    name = "good"
    reference = "A test"

    class Options(OptionsBase, frozen=True):
        """Options of each sort."""

        pieces: int = 1
        ratio: float = 0.5
        fast: bool = False
        label: str = ""

    def synthesize(self, problem, options):
        """Never called here."""
        raise NotImplementedError


class Other(Good):
    """Calls itself something else than its entry point does."""

    name = "other"


class NoReference(Good):
    """Follows no paper."""

    name = "no_reference"
    reference = None


class WrongOptions(Good):
    """Has options of a foreign type."""

    name = "wrong_options"
    Options = dict


class Failing(Good):
    """Cannot be made."""

    name = "failing"

    def __init__(self):
        raise RuntimeError("no licence\nfor   this machine")


class Abstract(Synthesizer):
    """Does not synthesize."""

    name = "abstract"
    reference = "A test"


def exiting():
    """Leave Python, as a module may do while it is imported."""
    raise SystemExit(3)


class Entry(importlib.metadata.EntryPoint):
    """An entry point of a made-up distribution."""

    def __new__(cls, *_, **__):
        return object.__new__(cls)

    def __init__(self, name, value, dist="plugin"):
        super().__init__(name, value, GROUP)
        vars(self).update(dist=SimpleNamespace(name=dist) if dist else None)


@pytest.fixture
def install(monkeypatch):
    """Give a function that installs things as plugins beside the built-in ones, and their modules."""
    real = tuple(importlib.metadata.entry_points(group=GROUP))
    added = []

    def entry_points(*, group):
        assert group == GROUP
        return (*added, *real)  # before the built-in ones, which must not help them

    def add(name, thing, dist="plugin"):
        module = ModuleType(f"collbench_plugin_{name}")
        module.thing = thing
        monkeypatch.setitem(sys.modules, module.__name__, module)
        added.append(Entry(name, f"{module.__name__}:thing", dist))

    def add_value(name, value, dist="plugin"):
        added.append(Entry(name, value, dist))

    monkeypatch.setattr(registry, "entry_points", entry_points)
    discover.cache_clear()
    yield SimpleNamespace(thing=add, value=add_value)
    discover.cache_clear()


class TestDiscover:
    def test_built_in(self):
        """The built-in synthesizers are found through the entry points of collbench, in alphabetical order."""
        found = discover()
        assert set(found) >= BUILT_IN
        assert list(found) == sorted(found)
        for name in BUILT_IN:
            assert found[name].source == "collbench"
            assert found[name].error is None
            assert found[name].synthesizer.name == name

    def test_plugin(self, install):
        """A plugin appears beside them, with the distribution that it comes from."""
        install.thing("good", Good)
        plugin = discover()["good"]
        assert (plugin.source, plugin.error) == ("plugin", None)
        assert isinstance(find("good"), Good)
        assert set(available()) >= BUILT_IN | {"good"}

    def test_without_distribution(self, install):
        """An entry point that belongs to no distribution is of unknown source."""
        install.thing("good", Good, dist=None)
        assert discover()["good"].source == "unknown"

    @pytest.mark.parametrize(
        ("name", "thing", "expected"),
        [
            ("number", 3, "TypeError: .*not a subclass of synthesizers.base.Synthesizer"),
            ("instance", Good(), "TypeError: .*not a subclass"),
            ("function", exiting, "TypeError: .*not a subclass"),
            ("mine", Other, "TypeError: its entry point is called 'mine', its class 'other'"),
            ("no_reference", NoReference, "TypeError: .*reference"),
            ("wrong_options", WrongOptions, "TypeError: its Options"),
            ("failing", Failing, "RuntimeError: no licence for this machine"),
            ("abstract", Abstract, "TypeError: .*abstract.* synthesize"),
        ],
        ids=lambda value: value if isinstance(value, str) and value.isidentifier() else "",
    )
    def test_broken(self, install, name, thing, expected):
        """What is no synthesizer is listed with its error in one line, cannot be used, and harms nobody."""
        install.thing(name, thing)
        self.is_listed(name, expected)

    @pytest.mark.parametrize(
        ("value", "expected"),
        [
            ("collbench_no_such_module:Thing", "ModuleNotFoundError: No module named 'collbench_no_such_module'"),
            ("synthesizers.tacos:Missing", "AttributeError: .*Missing"),
            ("not a module at all", ".*Error: "),
        ],
    )
    def test_cannot_be_imported(self, install, value, expected):
        """A module or a class that is not there is an error of that plugin alone."""
        install.value("absent", value)
        self.is_listed("absent", expected)

    @pytest.mark.parametrize(
        ("code", "expected"),
        [
            ("raise SystemExit(3)", "SystemExit: 3"),
            ("import sys; sys.exit('no GPU here')", "SystemExit: no GPU here"),
            ("import collbench_no_such_module", "ModuleNotFoundError: .*collbench_no_such_module"),
            ("raise BaseException('odd')", "BaseException: odd"),
            ("raise ValueError()", "ValueError"),
            ("def f(:", "SyntaxError: "),
        ],
    )
    def test_fails_at_import(self, install, tmp_path, monkeypatch, code, expected):
        """Whatever a module does while it is imported, even leave Python, is an error of that plugin alone."""
        (tmp_path / "collbench_broken.py").write_text(f"{code}\n")
        monkeypatch.syspath_prepend(tmp_path)
        monkeypatch.delitem(sys.modules, "collbench_broken", raising=False)
        install.value("broken", "collbench_broken:Thing")
        self.is_listed("broken", expected)

    def test_import_that_never_ends(self, install, tmp_path, monkeypatch):
        """An import that goes on for ever, whatever it catches, is ended, and alarms are as they were before."""
        code = "while True:\n    try:\n        while True:\n            pass\n    except Exception:\n        pass\n"
        (tmp_path / "collbench_endless.py").write_text(code)
        monkeypatch.syspath_prepend(tmp_path)
        monkeypatch.setenv("COLLBENCH_IMPORT_LIMIT", "0.3")
        install.value("endless", "collbench_endless:Thing")
        handler, timer = signal.getsignal(signal.SIGALRM), signal.getitimer(signal.ITIMER_REAL)
        self.is_listed("endless", r"ImportLimit: its import took over 0.3 s; .* raise COLLBENCH_IMPORT_LIMIT")
        assert (signal.getsignal(signal.SIGALRM), signal.getitimer(signal.ITIMER_REAL)) == (handler, timer)

    @pytest.mark.parametrize(("text", "limit"), [("7.5", 7.5), ("", 20), ("soon", 20), ("-1", 20), ("nan", 20)])
    def test_import_limit(self, monkeypatch, text, limit):
        """The limit is what the environment says, where that is a positive number."""
        monkeypatch.setenv("COLLBENCH_IMPORT_LIMIT", text)
        assert seconds() == limit

    def test_import_in_a_thread(self, install):
        """Where no alarm can ring, plugins are imported without a limit."""
        install.thing("good", Good)
        with ThreadPoolExecutor(1) as pool:
            assert pool.submit(discover).result()["good"].error is None

    def test_user_may_interrupt(self, install, tmp_path, monkeypatch):
        """Control-C during a slow import is the user's, not the plugin's."""
        (tmp_path / "collbench_slow.py").write_text("raise KeyboardInterrupt\n")
        monkeypatch.syspath_prepend(tmp_path)
        install.value("slow", "collbench_slow:Thing")
        with pytest.raises(KeyboardInterrupt):
            discover()

    def test_name_taken(self, install):
        """A plugin cannot take a built-in one's name: it is listed under both names' owners, the built-in one works."""
        install.thing("tacos", Good, dist="aaa")
        assert isinstance(find("tacos"), Tacos)
        taken = discover()["tacos (aaa)"]
        assert taken.synthesizer is None
        assert "taken by collbench" in taken.error
        with pytest.raises(OptionError, match="rename this plugin"):
            find("tacos (aaa)")

    def test_two_plugins_of_one_name(self, install):
        """Of two plugins with one name the alphabetically first distribution's works, whatever the order found."""
        install.thing("good", Good, dist="zzz")
        install.thing("good", Good, dist="aaa")
        assert discover()["good"].source == "aaa"
        assert "taken by aaa" in discover()["good (zzz)"].error

    def is_listed(self, name, expected):
        """Hold that a plugin is listed with an error of one line, and that the others work."""
        found = discover()
        plugin = found[name]
        assert plugin.synthesizer is None
        assert "\n" not in plugin.error
        with pytest.raises(OptionError, match=f"synthesizer '{name}' cannot be used: {expected}"):
            find(name)
        assert set(available()) >= BUILT_IN
        assert name not in available()


class TestLoad:
    def test_imports_no_other(self, install):
        """One plugin is loaded by its name alone; the names are known without loading any."""
        install.value("absent", "collbench_no_such_module:Thing")
        install.thing("good", Good)
        assert names() == sorted(names())
        assert set(names()) >= BUILT_IN | {"absent", "good"}
        assert isinstance(load("good").synthesizer, Good)
        assert "ModuleNotFoundError" in load("absent").error

    def test_name_taken(self, install):
        """A plugin whose name is taken carries the reason."""
        install.thing("tacos", Good, dist="aaa")
        assert "taken by collbench" in load("tacos (aaa)").error
        assert isinstance(load("tacos").synthesizer, Tacos)

    def test_unknown(self):
        """An unknown name gets the nearest one."""
        with pytest.raises(OptionError, match="did you mean 'tacos'"):
            load("tacoss")


class TestFind:
    @pytest.mark.parametrize(
        ("typed", "near"), [("tacoss", "tacos"), ("TACOS", "tacos"), ("halving", "halving_doubling")]
    )
    def test_unknown(self, typed, near):
        """An unknown name gets the nearest one and the list."""
        with pytest.raises(OptionError, match=f"did you mean {near!r}.*There are: .*direct.*tacos") as caught:
            find(typed)
        assert "\n" not in str(caught.value)

    def test_nothing_near(self):
        """A name like no other gets the list alone."""
        with pytest.raises(OptionError, match=r"unknown synthesizer 'xyzzy'\. There are") as caught:
            find("xyzzy")
        assert "did you mean" not in str(caught.value)


class TestParseOptions:
    def test_defaults(self):
        """Nothing given gives the defaults."""
        assert parse_options(Good(), {}) == Good.Options()

    def test_text_is_converted(self):
        """Text becomes what the option is."""
        given = {"pieces": "4", "ratio": "0.25", "fast": "true", "label": "7"}
        assert parse_options(Good(), given) == Good.Options(pieces=4, ratio=0.25, fast=True, label="7")

    def test_values_are_kept(self):
        """Values of the right type, as a YAML file gives them, stay as they are."""
        given = {"pieces": 4, "ratio": 0.25, "fast": True, "label": "x"}
        assert parse_options(Good(), given) == Good.Options(pieces=4, ratio=0.25, fast=True, label="x")

    @pytest.mark.parametrize(
        ("given", "expected"),
        [
            ({"piece": 1}, "good has no option 'piece'; did you mean 'pieces'.*fast, label, pieces, ratio"),
            ({"xyzzy": 1}, "good has no option 'xyzzy'. It has: fast"),
            ({"pieces": "four"}, r"good: bad option: .*\$.pieces"),
            ({"pieces": 1.5}, r"good: bad option: .*\$.pieces"),
            ({"fast": "perhaps"}, r"good: bad option: .*\$.fast"),
            ({"pieces": None}, r"good: bad option: .*\$.pieces"),
        ],
        ids=str,
    )
    def test_errors(self, given, expected):
        """An unknown name gets the nearest, a wrong value the option's name; each in one line."""
        with pytest.raises(OptionError, match=expected) as caught:
            parse_options(Good(), given)
        assert "\n" not in str(caught.value)

    def test_no_options(self):
        """A synthesizer without options says so."""
        with pytest.raises(OptionError, match="It has: none"):
            parse_options(find("halving_doubling"), {"pieces": 1})


class TestWords:
    @pytest.mark.parametrize(
        ("name", "option", "word"),
        [("tacos", "rule", "rarest"), ("ring", "direction", "two_way"), ("direct", "pieces", "auto")],
    )
    def test_choices_are_named(self, name, option, word):
        """An option that is one of some words says which."""
        with pytest.raises(OptionError, match=rf"expected one of .*{word}"):
            parse_options(available()[name], {option: "nonsense"})


@pytest.mark.parametrize("size", [1e6, "1MB", None, True])
def test_sizes_are_whole_bytes(size):
    """A size that is not a whole number is refused where the problem is stated, not somewhere in a kernel."""
    with pytest.raises(CollectiveError, match="is not a whole number of bytes"):
        Problem(ring(4), collective("all_gather", 4), size)
