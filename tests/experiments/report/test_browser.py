"""The browser of the tests notices what it is there to notice."""

from __future__ import annotations

import pytest


def page_of(folder, script):
    """Return the path of a page with a script."""
    path = folder / "page.html"
    path.write_text(f"<!doctype html><title>t</title><h1>heading</h1><script>{script}</script>", encoding="utf-8")
    return path


class TestOpened:
    @pytest.mark.parametrize(
        ("script", "fault"),
        [
            ("console.error('what')", "console: what"),
            ("throw new Error('what')", "uncaught: what"),
            ("new Image().src = 'http://127.0.0.1:9/pixel.png'", "request: http://127.0.0.1:9/pixel.png"),
        ],
    )
    def test_faults_are_noticed(self, opened, tmp_path, script, fault):
        """An error in the console, an uncaught exception and a request each count as a fault."""
        page = opened(page_of(tmp_path, script))
        page.wait_for_load_state()
        assert fault in page.faults
        page.faults.clear()

    def test_a_sound_page(self, opened, tmp_path):
        """A page that does nothing wrong is opened from its file, without a fault."""
        page = opened(page_of(tmp_path, "console.log('all is well'); fetch('data:,x')"))
        assert page.text_content("h1") == "heading"
        assert page.faults == []
