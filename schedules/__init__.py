"""Collectives, the schedule IR, its operations, the verifier, and readers and writers of schedule files."""

from schedules.builders import collective, custom
from schedules.collective import Collective
from schedules.demanded import demand_of, demanded
from schedules.files import is_schedule_file, load_schedule, save_schedule
from schedules.kinds import KINDS
from schedules.schedule import ORDERS, Schedule
from schedules.verifier import verify

__all__ = [
    "KINDS",
    "ORDERS",
    "Collective",
    "Schedule",
    "collective",
    "custom",
    "demand_of",
    "demanded",
    "is_schedule_file",
    "load_schedule",
    "save_schedule",
    "verify",
]
