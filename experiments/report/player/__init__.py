"""The schedule player: a simulated schedule, played in a browser on its topology and beside it on a chart of its links.

`columns` turns a schedule into the columns that a page holds, `page` gives the script, the style and a page of its
own. The script is in parts: `text`, `model` (what is asked of the columns), `theme`, `canvas`, `topology` and `gantt`
(the two drawings), `controls`, `lists`, `pointer` and `player`.
"""

from experiments.report.player.columns import MAX_HOPS, player_data, require_playable
from experiments.report.player.page import SCRIPT, STYLE, script_json, standalone

__all__ = ["MAX_HOPS", "SCRIPT", "STYLE", "player_data", "require_playable", "script_json", "standalone"]
