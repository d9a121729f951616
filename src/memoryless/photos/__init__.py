"""What the commands for people with photos do: plan, learn, predict, evaluate, tell.

Nothing here needs torch before a network is trained, so that commands answer at once.
"""
