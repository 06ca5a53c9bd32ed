"""How TACOS grows: synthesis, verification and simulation time, and memory, from 16 to 40,000 NPUs.

After the scalability figure of the paper (arXiv 2304.05301, MICRO'24), whose two published times are shown beside what
is measured here. What is run is in ``configs/studies/scaling.yaml``, read by `settings`; `measure` makes one row, in a
process of its own; `collection` all of them; `report` the table and the figure. The command is
`experiments.reproduce_scaling`.
"""
