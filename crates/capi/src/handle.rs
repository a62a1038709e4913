// SPDX-License-Identifier: MIT OR Apache-2.0

//! Handles: numbers that look like pointers, each valid for one object only.
//!
//! A handle holds the place of its object in a table, what kind it is, and the place's
//! generation, which moves on whenever the object there is freed. So what a caller
//! passes is never followed as an address: NULL, garbage, a handle of another kind, or
//! one freed long ago whose place has a new owner are all detected without reading the
//! memory they point to. (Pointers looked up in a set of live ones would not detect the
//! last case: addresses are reused.) The highest bit is set, which no address of a
//! program has on the processors we know, so a program that does follow a handle faults
//! at once.
//!
//! The lock of a place is the lock of its object: a call takes one uncontended
//! lock, and calls on different objects share nothing. Places are never given
//! back to the allocator; there are at most as many as there were objects at
//! one time.

use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use crate::result::{ApiFailure, ioracle_result};

/// The objects of one kind, by handle.
pub(crate) struct HandleTable<T> {
    /// Distinguishes this kind of object from others.
    kind: u64,
    /// What to call one in messages.
    name: &'static str,
    /// Each twice as long as the one before, made when first needed.
    chunks: [OnceLock<Box<[Place<T>]>>; N_CHUNKS],
    free: Mutex<Free>,
}

/// Padded, so that threads with different objects do not share cache lines.
#[repr(align(64))]
struct Place<T>(Mutex<Held<T>>);

struct Held<T> {
    generation: u64,
    object: Option<T>,
}

struct Free {
    /// Places whose objects were freed, with their next generation.
    places: Vec<usize>,
    /// Places from here on were never used.
    n_used: usize,
}

const N_CHUNKS: usize = 15;
const FIRST_CHUNK: usize = 64;
/// Objects of one kind at a time; about two million.
const MAX_PLACES: usize = FIRST_CHUNK * ((1 << N_CHUNKS) - 1);

const PLACE_BITS: u32 = 24;
const KIND_BITS: u32 = 4;
const GENERATION_BITS: u32 = 63 - PLACE_BITS - KIND_BITS;
const MARK: u64 = 1 << 63;

const _: () = assert!(size_of::<usize>() == 8, "handles need pointers of 64 bits");
const _: () = assert!(MAX_PLACES < 1 << PLACE_BITS);

impl<T> HandleTable<T> {
    pub const fn new(kind: u64, name: &'static str) -> HandleTable<T> {
        assert!(kind < 1 << KIND_BITS);
        HandleTable {
            kind,
            name,
            chunks: [const { OnceLock::new() }; N_CHUNKS],
            free: Mutex::new(Free { places: Vec::new(), n_used: 0 }),
        }
    }

    /// Keeps an object; its handle is never 0.
    pub fn insert(&self, object: T) -> Result<u64, ApiFailure> {
        let place = self.free_place()?;
        let mut held = lock_whatever_happened(&self.place(place).0);
        held.object = Some(object);
        Ok(self.handle(place, held.generation))
    }

    /// Calls `body` with the object, which is locked meanwhile.
    pub fn with<R>(
        &self,
        handle: u64,
        body: impl FnOnce(&mut T) -> Result<R, ApiFailure>,
    ) -> Result<R, ApiFailure> {
        let (place, generation) = self.parse(handle)?;
        let mut held = place.0.lock().map_err(|_| self.broken())?;
        let is_meant = held.generation == generation;
        match held.object.as_mut().filter(|_| is_meant) {
            Some(object) => body(object),
            None => Err(self.freed()),
        }
    }

    /// Removes the object, once nothing else is using it; the handle becomes invalid.
    pub fn remove(&self, handle: u64) -> Result<T, ApiFailure> {
        let (place, generation) = self.parse(handle)?;
        let object = {
            let mut held = lock_whatever_happened(&place.0);
            if held.generation != generation {
                return Err(self.freed());
            }
            let object = held.object.take().ok_or_else(|| self.freed())?;
            held.generation = (held.generation + 1) % (1 << GENERATION_BITS);
            place.0.clear_poison();
            object
        };
        lock_whatever_happened(&self.free).places.push(index_of(handle));
        Ok(object)
    }

    fn free_place(&self) -> Result<usize, ApiFailure> {
        let mut free = lock_whatever_happened(&self.free);
        if let Some(place) = free.places.pop() {
            return Ok(place);
        }
        if free.n_used == MAX_PLACES {
            return Err(ApiFailure::new(
                ioracle_result::IORACLE_LIMIT,
                format!("there are {MAX_PLACES} {}s already; free some", self.name),
            ));
        }
        free.n_used += 1;
        Ok(free.n_used - 1)
    }

    fn place(&self, index: usize) -> &Place<T> {
        let (chunk, within) = position(index);
        let places = self.chunks[chunk].get_or_init(|| {
            let place = || Place(Mutex::new(Held { generation: 0, object: None }));
            std::iter::repeat_with(place).take(FIRST_CHUNK << chunk).collect()
        });
        &places[within]
    }

    fn handle(&self, place: usize, generation: u64) -> u64 {
        MARK | generation << (PLACE_BITS + KIND_BITS) | self.kind << PLACE_BITS | place as u64
    }

    /// The place of a handle, if it was ever given out, and its generation.
    fn parse(&self, handle: u64) -> Result<(&Place<T>, u64), ApiFailure> {
        let name = self.name;
        if handle == 0 {
            return Err(ApiFailure::invalid(format!("the {name} is NULL; give one that was made")));
        }
        let kind = (handle >> PLACE_BITS) % (1 << KIND_BITS);
        let (chunk, within) = position(index_of(handle));
        let places = self.chunks.get(chunk).and_then(OnceLock::get);
        let place = places.and_then(|places| places.get(within));
        match place {
            Some(place) if handle & MARK != 0 && kind == self.kind => {
                let generation = (handle & !MARK) >> (PLACE_BITS + KIND_BITS);
                Ok((place, generation))
            }
            _ => Err(ApiFailure::new(
                ioracle_result::IORACLE_DANGLING,
                format!("this was never the handle of an {name}; give one that was made"),
            )),
        }
    }

    fn freed(&self) -> ApiFailure {
        let message = format!("the {} was freed before; make a new one", self.name);
        ApiFailure::new(ioracle_result::IORACLE_DANGLING, message)
    }

    fn broken(&self) -> ApiFailure {
        let message = format!("the {} met a fault of ioracle before; free it", self.name);
        ApiFailure::new(ioracle_result::IORACLE_INTERNAL, message)
    }
}

fn index_of(handle: u64) -> usize {
    (handle % (1 << PLACE_BITS)) as usize
}

/// The chunk of a place, and where in it.
fn position(index: usize) -> (usize, usize) {
    let chunk = (index / FIRST_CHUNK + 1).ilog2() as usize;
    (chunk, index - FIRST_CHUNK * ((1 << chunk) - 1))
}

/// For state that a panic cannot have left inconsistent.
fn lock_whatever_happened<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code<R>(result: Result<R, ApiFailure>) -> ioracle_result {
        result.map_or_else(|fault| fault.code, |_| ioracle_result::IORACLE_OK)
    }

    fn get(table: &HandleTable<u32>, handle: u64) -> Result<u32, ApiFailure> {
        table.with(handle, |object| Ok(*object))
    }

    #[test]
    fn places_lie_one_behind_the_other() {
        let mut expected = (0, 0);
        for index in 0..100_000 {
            assert_eq!(position(index), expected);
            expected.1 += 1;
            if expected.1 == FIRST_CHUNK << expected.0 {
                expected = (expected.0 + 1, 0);
            }
        }
        assert_eq!(position(MAX_PLACES - 1).0, N_CHUNKS - 1);
    }

    #[test]
    fn many_objects_are_found_by_their_handles() {
        let table = HandleTable::new(1, "thing");
        let handles: Vec<u64> = (0..1000).map(|i| table.insert(i).unwrap()).collect();
        for (i, &handle) in (0..).zip(&handles) {
            assert_eq!(get(&table, handle).unwrap(), i);
        }
    }

    #[test]
    fn a_freed_handle_stays_dead_when_its_place_is_used_again() {
        let table = HandleTable::new(1, "thing");
        let first = table.insert(1).unwrap();
        assert_eq!(table.remove(first).unwrap(), 1);
        let second = table.insert(2).unwrap();
        assert_eq!(index_of(first), index_of(second));
        assert_eq!(code(get(&table, first)), ioracle_result::IORACLE_DANGLING);
        assert_eq!(code(table.remove(first)), ioracle_result::IORACLE_DANGLING);
        assert_eq!(get(&table, second).unwrap(), 2);
    }

    #[test]
    fn what_was_never_a_handle_is_refused() {
        let table = HandleTable::new(1, "thing");
        let other = HandleTable::new(2, "other");
        let handle = table.insert(1).unwrap();
        let _ = other.insert(1).unwrap();
        assert_eq!(code(get(&table, 0)), ioracle_result::IORACLE_INVALID);
        for wrong in [1, 0x7FFF_1234_5678, u64::MAX, handle ^ MARK, handle + 1, handle + 64] {
            assert_eq!(code(get(&table, wrong)), ioracle_result::IORACLE_DANGLING, "{wrong:#x}");
        }
        assert_eq!(code(get(&other, handle)), ioracle_result::IORACLE_DANGLING);
    }

    #[test]
    fn an_object_that_panicked_can_only_be_freed() {
        let table = HandleTable::new(1, "thing");
        let handle = table.insert(1).unwrap();
        let body = |_: &mut u32| -> Result<(), ApiFailure> { panic!("on purpose") };
        let call = std::panic::AssertUnwindSafe(|| table.with(handle, body));
        assert!(std::panic::catch_unwind(call).is_err());
        assert_eq!(code(get(&table, handle)), ioracle_result::IORACLE_INTERNAL);
        assert_eq!(table.remove(handle).unwrap(), 1);
        let next = table.insert(2).unwrap();
        assert_eq!(get(&table, next).unwrap(), 2);
    }
}
