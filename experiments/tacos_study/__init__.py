"""The main experiment: TACOS against tuned baselines, after the evaluation of its paper (MICRO'24, arXiv 2304.05301).

`grid` says what is run, `ideal` what the paper compares with, `running` runs it, `tables` writes it down; `bandwidth`,
`utilisation` and `scaling` are the three figures, drawn with `experiments.plots`. The command is
`experiments.reproduce_tacos`.
"""
