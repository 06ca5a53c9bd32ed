"""Rings in a network: arc-disjoint Hamiltonian circuits, and the shortest routed ring where there is none."""

from synthesizers.rings.arcs import Circuit
from synthesizers.rings.disjoint import disjoint_rings
from synthesizers.rings.rounds import going_round
from synthesizers.rings.routed import routed_ring

__all__ = ["Circuit", "disjoint_rings", "going_round", "routed_ring"]
