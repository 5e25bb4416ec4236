"""Everything that runs beside the writer: workers, timers, rescuer, relay, the wire. One service per file."""
