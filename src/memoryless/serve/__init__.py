"""A model over HTTP, and a page that teaches it: `memoryless serve`.

`teacher` alone calls the model and the commands for photos; `lessons` holds what was embedded and
not yet learned; `uploads` reads requests; `guard` keeps strangers and floods out; `app` lists the
addresses; `page/` holds the page itself.
"""
