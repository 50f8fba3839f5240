// Limits the time of a call.

/** Settles like `work`, or like a call of `late` after `time` milliseconds. */
export async function within<T, L>(time: number, work: Promise<T>, late: () => L): Promise<T | L> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const waiting = new Promise<L>((resolve, reject) => {
    timer = setTimeout(() => {
      try {
        resolve(late());
      } catch (thrown) {
        reject(thrown);
      }
    }, time);
  });
  try {
    return await Promise.race([work, waiting]);
  } finally {
    clearTimeout(timer);
  }
}
