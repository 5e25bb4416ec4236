"""Pure: no clock, dice, I/O, SQL, web or await. The rules of the engine, as functions of what they are given."""
