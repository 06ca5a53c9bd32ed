"""Reports: HTML pages that hold all that they show, and open from disk without a network."""
