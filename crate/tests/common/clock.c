// Reports another second of CPU time to qemu-img on each call.
#include <sys/resource.h>

int getrusage(int who, struct rusage *usage) {
  static __thread long seconds;
  (void)who;
  *usage = (struct rusage){.ru_utime = {.tv_sec = ++seconds}};
  return 0;
}
