/* Prints lines with the printf formats of the driver: what the encoder is compared with.
 *
 * Each line of standard input holds the number of a form and the values to print it from, as written by
 * printf.rs, the text in hexadecimal behind an x.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(void)
{
	int form, pid, trigger, error;
	unsigned int from, to, prefetch, preferred, letter;
	long long ns;
	unsigned long address, size;
	char hex[256];

	while (scanf("%d %lld %d %lx %lx %x %x %x %x %d %d %u x%255[0-9a-f]", &form, &ns, &pid, &address, &size, &from,
		     &to, &prefetch, &preferred, &trigger, &error, &letter, hex) >= 12) {
		char text[128] = "";
		size_t n = strlen(hex) / 2;

		for (size_t i = 0; i < n; i++) {
			unsigned int byte;

			sscanf(hex + 2 * i, "%2x", &byte);
			text[i] = (char)byte;
		}
		text[n] = 0;
		hex[0] = 0;
		/* scanf leaves the newline, and the x of an empty text. */
		for (int c = getchar(); c != '\n' && c != EOF; c = getchar())
			;
		switch (form) {
		case 0: printf("1 %x:%s\n", pid, text); break;
		case 1: printf("2 %x:%llx\n", from, (unsigned long long)size); break;
		case 2: printf("2 %llx:%llx\n", (unsigned long long)address, (unsigned long long)size); break;
		case 3: printf("3 %x\n", from); break;
		case 4: printf("3 %x %s\n", from, text); break;
		case 5: printf("4 %x\n", from); break;
		case 6: printf("4 %x %s\n", from, text); break;
		case 7: printf("5 %lld -%d @%lx(%lx) %x->%x %x:%x %d\n", ns, pid, address, size, from, to, prefetch, preferred, trigger); break;
		case 8: printf("6 %lld -%d @%lx(%lx) %x->%x %d\n", ns, pid, address, size, from, to, trigger); break;
		case 9: printf("6 %lld -%d @%lx(%lx) %x->%x %d %d\n", ns, pid, address, size, from, to, trigger, error); break;
		case 10: printf("7 %lld -%d @%lx(%x) %c\n", ns, pid, address, from, letter); break;
		case 11: printf("8 %lld -%d @%lx(%x) %c\n", ns, pid, address, from, letter); break;
		case 12: printf("9 %lld -%d %x %d\n", ns, pid, from, trigger); break;
		case 13: printf("a %lld -%d %x\n", ns, pid, from); break;
		case 14: printf("a %lld -%d %x %c\n", ns, pid, from, letter); break;
		case 15: printf("b %lld -%d @%lx(%lx) %x %d\n", ns, pid, address, size, from, trigger); break;
		case 16: printf("c %x %s\n", pid, text); break;
		case 17: printf("d %x %s\n", pid, text); break;
		case 18: printf("e %lld -%d %u\n", ns, pid, from); break;
		default: return 1;
		}
	}
	return 0;
}
