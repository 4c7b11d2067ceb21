/* The end of net/ipv4/inet_hashtables.c. See ports.py. */
void priolab_forget_ports(void)
{
	memset(table_perturb, 0, INET_TABLE_PERTURB_SIZE * sizeof(*table_perturb));
}
