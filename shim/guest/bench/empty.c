// A library with nothing in it: what the dynamic linker itself takes for a library more, and for
// those that this one is linked with.
int metalshim_bench_empty(void);

int metalshim_bench_empty(void)
{
	return 0;
}
