"""The parts of the durable scheduler; `signoff.scheduler.durable` is the way in."""
