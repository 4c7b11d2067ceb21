"""Makes all random numbers of a guest follow from the last value written to /sys/module/random/parameters/seed.

Before the first such write they follow from a constant: the host's random numbers and clock, and the kernel's command
line, which names a temporary folder, are not used. The first process begins before such a write. Where its memory is,
and how Python hashes in it and in the processes forked from it, would otherwise differ from guest to guest.
"""

from priolab.experiments.testbed.guest.kernel_patches.edit import Change, Edit, Effect

_RANDOM = "drivers/char/random.c"
_HOST_GIVES_NOTHING = Edit(
    "arch/um/os-Linux/util.c",
    "	return getrandom(buf, len, flags);\n",
    """	static unsigned char state;
	size_t i;

	for (i = 0; i < len; i++)
		((unsigned char *)buf)[i] = state++;
	return len;
""",
)
_NOTHING_IS_COLLECTED = Edit(
    _RANDOM,
    "	blake2s_final(&input_pool.hash, seed);\n",
    "	blake2s_final(&input_pool.hash, seed);\n"
    "	memset(seed, 0, sizeof(seed));\n	memset(block.rdseed, 0, sizeof(block.rdseed));\n",
)
_BEFORE_RESEEDING = "/* This extracts a new crng key from the input pool. */\n"
_SETTABLE = Edit(
    _RANDOM,
    _BEFORE_RESEEDING,
    """static bool priolab_seeded;

static int priolab_seed(const char *seed, const struct kernel_param *kp)
{
	unsigned long flags;
	u8 key[CHACHA_KEY_SIZE] = {};

	memcpy(key, seed, min(strlen(seed), sizeof(key)));
	spin_lock_irqsave(&base_crng.lock, flags);
	memcpy(base_crng.key, key, sizeof(base_crng.key));
	WRITE_ONCE(base_crng.generation, base_crng.generation + 1);
	priolab_seeded = true;
	spin_unlock_irqrestore(&base_crng.lock, flags);
	return 0;
}

static const struct kernel_param_ops priolab_seed_ops = { .set = priolab_seed };
module_param_cb(seed, &priolab_seed_ops, NULL, 0200);

"""
    + _BEFORE_RESEEDING,
)
# Since 6.2 the kernel reseeds in deferred work, which schedules the next reseeding first.
_NEVER_AGAIN = Edit(
    _RANDOM,
    "	u8 key[CHACHA_KEY_SIZE];\n\n	/* Immediately schedule the next reseeding",
    "	u8 key[CHACHA_KEY_SIZE];\n\n"
    "	if (priolab_seeded)\n		return;\n\n	/* Immediately schedule the next reseeding",
)

CHANGES = (
    Change(
        name="random numbers follow from the seed",
        effect=Effect.RESULT,
        wordings=(
            (
                _HOST_GIVES_NOTHING,
                _NOTHING_IS_COLLECTED,
                Edit(
                    _RANDOM,
                    "	u8 key[CHACHA_KEY_SIZE];\n\n	extract_entropy(key, sizeof(key));\n",
                    """	u8 key[CHACHA_KEY_SIZE];

	if (priolab_seeded) {
		WRITE_ONCE(base_crng.birth, jiffies);
		return;
	}
	extract_entropy(key, sizeof(key));
""",
                ),
                _SETTABLE,
            ),
            (_HOST_GIVES_NOTHING, _NOTHING_IS_COLLECTED, _NEVER_AGAIN, _SETTABLE),
        ),
    ),
    # Otherwise the kernel would draw one number per interface, every five minutes of its own clock.
    Change(
        name="neighbours draw no random numbers",
        effect=Effect.RESULT,
        wordings=(
            (
                Edit(
                    "net/core/neighbour.c",
                    "return base ? prandom_u32_max(base) + (base >> 1) : 0;",
                    "return base;",
                ),
            ),
            (
                Edit(
                    "net/core/neighbour.c",
                    "return base ? get_random_u32_below(base) + (base >> 1) : 0;",
                    "return base;",
                ),
            ),
        ),
    ),  # A table grows or shrinks depending on earlier runs. The kernel would draw a number at each change of size.
    Change(
        name="hash tables draw no random numbers",
        effect=Effect.RESULT,
        wordings=((Edit("lib/rhashtable.c", "	tbl->hash_rnd = get_random_u32();\n", "	tbl->hash_rnd = 0;\n"),),),
    ),
)
