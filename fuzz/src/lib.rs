//! Shared code of the fuzz targets: a limit on memory.

pub mod extract;
pub mod formulas;
pub mod queries;
pub mod readers;
pub mod sheets;

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// The system allocator with memory accounting.
struct Counting;

static CURRENT: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

fn took(bytes: usize) {
    let held = CURRENT.fetch_add(bytes, Relaxed).wrapping_add(bytes);
    PEAK.fetch_max(held, Relaxed);
}

// SAFETY: every call is forwarded unchanged to the system allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        took(layout.size());
        // SAFETY: as above.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        took(layout.size());
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        CURRENT.fetch_sub(layout.size(), Relaxed);
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        took(size);
        CURRENT.fetch_sub(layout.size(), Relaxed);
        // SAFETY: as above.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Runs `check` and asserts that it uses at most `base` bytes of memory, plus `factor` bytes per byte of input.
pub fn with_memory_limit(base: usize, factor: usize, input: &[u8], check: impl FnOnce(&[u8])) {
    let before = CURRENT.load(Relaxed);
    PEAK.store(before, Relaxed);
    check(input);
    let taken = PEAK.load(Relaxed).saturating_sub(before);
    assert!(taken <= base + factor * input.len(), "{taken} bytes of memory for {} of input", input.len());
}
