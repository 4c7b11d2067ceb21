"""`priolab gate`: tests whether a server keeps the order, and says pass or fail with the frames that prove it."""
