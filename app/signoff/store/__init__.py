"""The only room that knows SQL. Hands out plain rows and core values, decides nothing."""
