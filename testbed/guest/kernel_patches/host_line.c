/* /sys/module/um_arch/parameters/host_line: see host_line.py. */
#include <linux/errno.h>
#include <linux/moduleparam.h>
#include <os.h>

#undef MODULE_PARAM_PREFIX
#define MODULE_PARAM_PREFIX "um_arch."

static int priolab_host_line(char *line, const struct kernel_param *kp)
{
	int length;

	do
		length = os_read_file(0, line, PAGE_SIZE - 1);
	while (length == -EINTR);
	return length;
}

static const struct kernel_param_ops priolab_host_line_ops = { .get = priolab_host_line };
module_param_cb(host_line, &priolab_host_line_ops, NULL, 0400);
