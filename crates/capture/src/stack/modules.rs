// SPDX-License-Identifier: MIT OR Apache-2.0

//! The modules that frames were found in, by number: identity, place, and
//! whether the identity has been defined.
//!
//! The table holds [`MAX_MODULES`]; when it is full, or when a module lies where
//! another one was, everything known about code is discarded, and the table starts
//! over.

use super::object::{self, Object};
use super::{ContextDefiner, UnwoundFrame};
use ioracle_spool::identity;

use crate::sys;

/// Modules that are known at a time.
pub(super) const MAX_MODULES: usize = 512;

/// Number of a module in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ModuleId(u16);

impl ModuleId {
    /// Stands for code outside any module. Zero, so that zeroed memory says so.
    pub(super) const OUTSIDE: ModuleId = ModuleId(0);

    fn index(self) -> Option<usize> {
        usize::from(self.0).checked_sub(1)
    }
}

#[derive(Clone, Copy)]
struct Module {
    low: usize,
    high: usize,
    load_address: usize,
    id: u64,
    is_defined: bool,
}

/// The table; empty when all zero.
pub(super) struct Modules {
    modules: [Module; MAX_MODULES],
    n_modules: usize,
    /// The path of the program itself, once it is known.
    program: [u8; 1024],
    n_program: usize,
}

/// Why a module could not be given a number.
pub(super) enum NoModule {
    /// The address belongs to none.
    Outside,
    /// What is known is outdated; ask again after forgetting it.
    Stale,
}

impl Modules {
    /// The module that an address belongs to.
    pub(super) fn find(&mut self, address: usize) -> Result<(ModuleId, Object), NoModule> {
        let object = object::containing(address).ok_or(NoModule::Outside)?;
        let known = self.modules.get(..self.n_modules).unwrap_or_default();
        for (number, module) in (1..).zip(known) {
            if module.low < object.high && object.low < module.high {
                let is_same = module.low == object.low
                    && module.high == object.high
                    && module.load_address == object.load_address;
                let id = ModuleId(number);
                return if is_same { Ok((id, object)) } else { Err(NoModule::Stale) };
            }
        }
        let id = match object.build_id() {
            [] => identity::of(base_name(path(&object, &mut self.program, &mut self.n_program))),
            build_id => identity::of(build_id),
        };
        let slot = self.modules.get_mut(self.n_modules).ok_or(NoModule::Stale)?;
        *slot = Module {
            low: object.low,
            high: object.high,
            load_address: object.load_address,
            id,
            is_defined: false,
        };
        self.n_modules += 1;
        Ok((ModuleId(self.n_modules as u16), object))
    }

    /// A return address as a frame.
    pub(super) fn frame(&self, module: ModuleId, address: usize) -> UnwoundFrame {
        match module.index().and_then(|index| self.modules.get(index)) {
            Some(module) => UnwoundFrame {
                module: module.id,
                offset: address.wrapping_sub(module.load_address) as u64,
            },
            None => UnwoundFrame::default(),
        }
    }

    /// Defines a module unless it is defined already. False: could not be kept.
    pub(super) fn define(&mut self, id: ModuleId, definitions: &mut impl ContextDefiner) -> bool {
        let Some(module) = id.index().and_then(|index| self.modules.get_mut(index)) else {
            return true;
        };
        if !module.is_defined {
            let Some(object) = object::containing(module.low) else { return false };
            let path = path(&object, &mut self.program, &mut self.n_program);
            let address = module.load_address as u64;
            module.is_defined = definitions.module(module.id, object.build_id(), path, address);
        }
        module.is_defined
    }

    /// All of them have to be defined again.
    pub(super) fn forget_definitions(&mut self) {
        for module in self.modules.iter_mut().take(self.n_modules) {
            module.is_defined = false;
        }
    }

    /// Sets the path of the program, if the caller knows it.
    pub(super) fn set_program(&mut self, path: &[u8]) {
        if let Some(program) = self.program.get_mut(..path.len()) {
            program.copy_from_slice(path);
            self.n_program = path.len();
        }
    }

    /// Starts over.
    pub(super) fn clear(&mut self) {
        self.n_modules = 0;
    }
}

/// Path of a module; the linker does not know that of the program itself.
fn path<'a>(object: &'a Object, program: &'a mut [u8], n_program: &mut usize) -> &'a [u8] {
    match object.path() {
        [] => {
            if *n_program == 0 {
                let found = sys::read_link(c"/proc/self/exe", program);
                *n_program = found.map_or(0, <[u8]>::len);
            }
            program.get(..*n_program).unwrap_or_default()
        }
        path => path,
    }
}

fn base_name(path: &[u8]) -> &[u8] {
    path.rsplit(|&byte| byte == b'/').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct Definitions(Vec<(u64, Vec<u8>, Vec<u8>)>);

    impl ContextDefiner for Definitions {
        fn module(&mut self, id: u64, build_id: &[u8], path: &[u8], _: u64) -> bool {
            self.0.push((id, build_id.to_vec(), path.to_vec()));
            self.0.len() > 1
        }

        fn context(&mut self, _: u64, _: &[UnwoundFrame]) -> bool {
            unreachable!("modules define no contexts");
        }
    }

    fn empty() -> Box<Modules> {
        // SAFETY: all zero is the empty table.
        unsafe { super::super::tests::zeroed() }
    }

    #[test]
    fn a_module_is_defined_until_the_definition_was_kept() {
        let mut modules = empty();
        let address = base_name as *const () as usize;
        let Ok((id, _)) = modules.find(address) else { panic!("the test is a module") };
        let mut definitions = Definitions::default();
        assert!(!modules.define(id, &mut definitions));
        assert!(modules.define(id, &mut definitions));
        assert!(modules.define(id, &mut definitions));
        assert_eq!(definitions.0.len(), 2);
        modules.forget_definitions();
        assert!(modules.define(id, &mut definitions));
        assert_eq!(definitions.0.len(), 3);
        let program = std::env::current_exe().expect("there is a program");
        assert_eq!(definitions.0[0].2, program.as_os_str().as_encoded_bytes());
        assert_eq!(definitions.0[0].0, modules.frame(id, address).module);
    }

    #[test]
    fn a_module_in_the_place_of_another_makes_all_void() {
        let mut modules = empty();
        let address = base_name as *const () as usize;
        assert!(modules.find(address).is_ok());
        modules.modules[0].high += 4096;
        assert!(matches!(modules.find(address), Err(NoModule::Stale)));
        modules.clear();
        assert!(modules.find(address).is_ok());
    }

    #[test]
    fn code_outside_modules_is_a_frame_without_a_module() {
        assert_eq!(empty().frame(ModuleId::OUTSIDE, 4711), UnwoundFrame::default());
    }
}
