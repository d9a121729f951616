"""Tables and sketches read from run folders; nothing here trains."""
