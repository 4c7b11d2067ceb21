"""Makes all random numbers of a guest follow from the last value written to /sys/module/random/parameters/seed.

Before the first such write they follow from a constant: the host's random numbers and clock, and the kernel's command
line, which names a temporary folder, are not used. The first process begins before such a write. Where its memory is,
and how Python hashes in it and in the processes forked from it, would otherwise differ from guest to guest.
"""

from priolab.testbed.guest.kernel_patches.edit import Change, Edit, Effect, included

_RANDOM = "drivers/char/random.c"
_COLLECTED = "	blake2s_final(&input_pool.hash, seed);"
_RESEEDING = "	extract_entropy(key, sizeof(key));"
_RESEEDING_AGAIN = "	/* Immediately schedule the next reseeding"
_NEIGHBOUR = "neigh_rand_reach_time(unsigned long base)\n{\n"
_SEED = (
    *included("seed.c", _RANDOM),
    Edit(  # nothing that was collected is used
        _RANDOM,
        _COLLECTED,
        f"{_COLLECTED}\n	memset(seed, 0, sizeof(seed));\n	memset(block.rdseed, 0, sizeof(block.rdseed));",
    ),
)
# Since 6.2 the kernel reseeds in deferred work, which schedules the next reseeding first.
_SINCE_6_2 = Edit(_RANDOM, _RESEEDING_AGAIN, f"	if (priolab_seeded)\n		return;\n\n{_RESEEDING_AGAIN}")
_UNTIL_6_1 = Edit(
    _RANDOM,
    _RESEEDING,
    f"	if (priolab_seeded) {{\n		WRITE_ONCE(base_crng.birth, jiffies);\n		return;\n	}}\n{_RESEEDING}",
)

CHANGES = (
    Change(
        name="random numbers follow from the seed",
        effect=Effect.RESULT,
        wordings=((*_SEED, _SINCE_6_2), (*_SEED, _UNTIL_6_1)),
    ),
    # Otherwise the kernel would draw one number per interface, every five minutes of its own clock.
    Change(
        name="neighbours draw no random numbers",
        effect=Effect.RESULT,
        wordings=((Edit("net/core/neighbour.c", _NEIGHBOUR, f"{_NEIGHBOUR}	return base;\n"),),),
    ),
    # A table grows or shrinks depending on earlier runs. The kernel would draw a number at each change of size.
    Change(
        name="hash tables draw no random numbers",
        effect=Effect.RESULT,
        wordings=((Edit("lib/rhashtable.c", "tbl->hash_rnd = get_random_u32();", "tbl->hash_rnd = 0;"),),),
    ),
)
