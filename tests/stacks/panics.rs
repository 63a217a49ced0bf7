// SPDX-License-Identifier: BSD-2-Clause
// Waits, as chain.c does: below a trait object, a closure and a generic function.
use std::os::raw::{c_int, c_void};

extern "C" {
    fn read(fd: c_int, buf: *mut c_void, count: usize) -> isize;
}

// Works like std::hint::black_box(), which rustc has since 1.66: keeps the call before it from being a jump.
#[inline(always)]
fn seen<T: Copy>(value: T) -> T {
    unsafe { std::ptr::read_volatile(&value) }
}

#[inline(never)]
fn wait_here() {
    let mut byte = 0u8;
    while byte != b'q' {
        if unsafe { read(0, &mut byte as *mut u8 as *mut c_void, 1) } != 1 {
            std::process::exit(3);
        }
    }
    seen(byte);
}

trait Door {
    fn open(&self) -> usize;
}

struct Wooden<T>(T);

impl<T: std::fmt::Debug> Door for Wooden<T> {
    #[inline(never)]
    fn open(&self) -> usize {
        wait_here();
        seen(std::mem::size_of::<T>())
    }
}

#[inline(never)]
fn through<F: Fn() -> usize>(action: F) -> usize {
    seen(action()) + 1
}

fn main() {
    let doors: Vec<Box<dyn Door>> = vec![Box::new(Wooden("oak")), Box::new(Wooden(7u64))];
    let sum: usize = doors.iter().map(|door| through(|| door.open() + 1)).sum();
    let caught = std::panic::catch_unwind(|| {
        wait_here();
        std::panic::resume_unwind(Box::new(1));
    });
    std::process::exit(if sum > 0 && caught.is_err() { 0 } else { 1 });
}
