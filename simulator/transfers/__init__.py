"""The network level of the simulator: transfers given as bytes, routes and `after` lists, and files of them."""

from simulator.transfers.files import load_transfers
from simulator.transfers.transfer_list import TransferList, simulate_transfers, transfer_times

__all__ = ["TransferList", "load_transfers", "simulate_transfers", "transfer_times"]
