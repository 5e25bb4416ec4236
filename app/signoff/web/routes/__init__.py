"""Plain HTTP routes of the browser application: signing in and out, deciding."""
