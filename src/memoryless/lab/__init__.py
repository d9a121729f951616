"""The laboratory: streams, runs, tables, figures and reports, for people with papers."""
