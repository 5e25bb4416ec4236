"""Other formats in and out. Translators from BPMN, Step Functions, Conductor and Kestra; see `formats`."""
