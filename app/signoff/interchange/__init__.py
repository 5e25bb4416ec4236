"""Other formats in and out: BPMN and its kin, XES, OCEL, Parquet. Grows with the importers."""
