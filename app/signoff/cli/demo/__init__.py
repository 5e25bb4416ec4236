"""`signoff demo`: an installation with fictional people, ready-made processes and a service to call."""
