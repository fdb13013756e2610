"""Live pages: what a drive at work, a run, a sweep or a search does now, in a browser of this machine."""
