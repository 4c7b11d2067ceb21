"""Everything random in a guest follows from what is written to /sys/module/random/parameters/seed, from then on.

Before, it follows from a constant. Nothing of the host's gets in.
"""

from experiments.guest.edits.edit import Change, Edit

CHANGES = (
    Change(
        (
            Edit(
                "arch/um/os-Linux/util.c",
                "	return getrandom(buf, len, flags);\n",
                """	static unsigned char state;
	size_t i;

	for (i = 0; i < len; i++)
		((unsigned char *)buf)[i] = state++;
	return len;
""",
            ),
            Edit(
                "drivers/char/random.c",
                "	u8 key[CHACHA_KEY_SIZE];\n\n	extract_entropy(key, sizeof(key));\n",
                """	u8 key[CHACHA_KEY_SIZE];

	if (priolab_seeded) {
		WRITE_ONCE(base_crng.birth, jiffies);
		return;
	}
	extract_entropy(key, sizeof(key));
""",
            ),
            Edit(
                "drivers/char/random.c",
                "/* This extracts a new crng key from the input pool. */\n",
                """static bool priolab_seeded;

static int priolab_seed(const char *seed, const struct kernel_param *kp)
{
	unsigned long flags;
	u8 key[CHACHA_KEY_SIZE];

	blake2s(key, seed, NULL, sizeof(key), strlen(seed), 0);
	spin_lock_irqsave(&base_crng.lock, flags);
	memcpy(base_crng.key, key, sizeof(base_crng.key));
	WRITE_ONCE(base_crng.generation, base_crng.generation + 1);
	priolab_seeded = true;
	spin_unlock_irqrestore(&base_crng.lock, flags);
	return 0;
}

static const struct kernel_param_ops priolab_seed_ops = { .set = priolab_seed };
module_param_cb(seed, &priolab_seed_ops, NULL, 0200);

/* This extracts a new crng key from the input pool. */
""",
            ),
        )
    ),
    # Every five minutes of its own clock, whatever is going on, the kernel would draw one number per interface.
    Change(
        (
            Edit(
                "net/core/neighbour.c",
                "return base ? prandom_u32_max(base) + (base >> 1) : 0;",
                "return base;",
            ),
        )
    ),
)
