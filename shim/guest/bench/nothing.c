// `true` for a Mac, whose own one takes no libraries.
int main(void)
{
	return 0;
}
