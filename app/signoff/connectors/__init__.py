"""What an activity can call. A connector gets resolved input and the idempotency key; it never sees the store."""
