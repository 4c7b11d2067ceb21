"""What is made of a sweep: statistics, the knee of every network, a judgement of LOWAT=auto. Reads folders only."""
