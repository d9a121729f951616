"""The folder of a model over the years: old formats open, its growth is known, kills lose nothing."""
