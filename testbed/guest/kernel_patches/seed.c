/* The end of drivers/char/random.c: /sys/module/random/parameters/seed. See randomness.py. */
#include <linux/timekeeping.h>
#include <priolab.h>

bool priolab_seeded;
unsigned long long priolab_seeded_at;

static int priolab_seed(const char *seed, const struct kernel_param *kp)
{
	unsigned long flags;
	u8 key[CHACHA_KEY_SIZE] = {};

	memcpy(key, seed, min(strlen(seed), sizeof(key)));
	spin_lock_irqsave(&base_crng.lock, flags);
	memcpy(base_crng.key, key, sizeof(base_crng.key));
	WRITE_ONCE(base_crng.generation, base_crng.generation + 1);
	priolab_seeded = true;
	priolab_seeded_at = ktime_get_ns();
	spin_unlock_irqrestore(&base_crng.lock, flags);
	priolab_forget_ports();
	return 0;
}

static const struct kernel_param_ops priolab_seed_ops = { .set = priolab_seed };
module_param_cb(seed, &priolab_seed_ops, NULL, 0200);
