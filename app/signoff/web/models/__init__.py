"""What pages know without widgets: the draft being edited, layout, words, typed values. No Panel here."""
