"""What differs between databases."""
