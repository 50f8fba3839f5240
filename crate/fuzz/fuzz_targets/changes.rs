#![no_main]

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

static TRIED: AtomicU64 = AtomicU64::new(0);
static OPENED: AtomicU64 = AtomicU64::new(0);
static READ: AtomicU64 = AtomicU64::new(0);
static CONVERTED: AtomicU64 = AtomicU64::new(0);
static COMPARED: AtomicU64 = AtomicU64::new(0);

// Tells now and then how far the inputs come.
libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let seen = decant_fuzz::changed_image(input);
    for (counter, counted) in
        [(&OPENED, seen.opened), (&READ, seen.read), (&CONVERTED, seen.converted), (&COMPARED, seen.compared)]
    {
        counter.fetch_add(u64::from(counted), Relaxed);
    }
    let tried = TRIED.fetch_add(1, Relaxed) + 1;
    if tried.is_power_of_two() || tried % 250_000 == 0 {
        let [opened, read, converted, compared] = [&OPENED, &READ, &CONVERTED, &COMPARED].map(|it| it.load(Relaxed));
        eprintln!("tried {tried}: opened {opened}, read clusters {read}, converted {converted}, compared {compared}");
    }
});
