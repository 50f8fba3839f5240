// Tells qemu-img that another second of CPU time has passed whenever it asks.
#include <sys/resource.h>

int getrusage(int who, struct rusage *usage) {
  static __thread long seconds;
  (void)who;
  *usage = (struct rusage){.ru_utime = {.tv_sec = ++seconds}};
  return 0;
}
