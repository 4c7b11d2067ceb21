"""The parts that all real browsers share as clients: the account of their actions, and the files made from it."""
