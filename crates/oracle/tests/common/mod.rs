// SPDX-License-Identifier: MIT OR Apache-2.0

//! A small program that makes I/O calls, for tests.
#![allow(dead_code, reason = "each test file uses its own part")]

use ioracle_events::{
    Clue, ContextId, FileId, Function, Layer, Operation, PredictedFile, Prediction,
};
use ioracle_oracle::{Config, Oracle, StackId};

/// Makes operations as a program would, and shows them to an oracle.
pub struct Program {
    pub oracle: Oracle,
    pub operations: Vec<Operation>,
    names: Vec<String>,
    now_ns: u64,
    /// What the next call asks for, if known.
    request: Option<u64>,
    /// The length that the next call leaves, if known.
    truncated_to: Option<u64>,
}

impl Program {
    pub fn new() -> Program {
        Program::with(Config::default())
    }

    pub fn with(config: Config) -> Program {
        Program {
            oracle: Oracle::new(config),
            operations: Vec::new(),
            names: Vec::new(),
            now_ns: 0,
            request: None,
            truncated_to: None,
        }
    }

    /// Goes on with an oracle that someone else prepared.
    pub fn continued(oracle: Oracle) -> Program {
        Program { oracle, ..Program::new() }
    }

    /// Time passes without I/O.
    pub fn compute(&mut self, ns: u64) -> &mut Program {
        self.now_ns += ns;
        self
    }

    pub fn open(&mut self, context: u32, name: &str) -> &mut Program {
        let file = self.file(name);
        self.call("open", context, file, None, 0)
    }

    /// Opens a file of which the system says how long it is.
    pub fn open_of_length(&mut self, context: u32, name: &str, bytes: u64) -> &mut Program {
        let file = self.file(name);
        self.oracle.announce_size(file, bytes);
        self.call("open", context, file, None, 0)
    }

    /// Opens a file that is empty then.
    pub fn create(&mut self, context: u32, name: &str) -> &mut Program {
        self.truncated_to = Some(0);
        self.open(context, name)
    }

    pub fn close(&mut self, context: u32, name: &str) -> &mut Program {
        let file = self.file(name);
        self.call("close", context, file, None, 0)
    }

    pub fn write(&mut self, context: u32, name: &str, offset: u64, size: u64) -> &mut Program {
        let file = self.file(name);
        self.call("pwrite", context, file, Some(offset), size)
    }

    pub fn read(&mut self, context: u32, name: &str, offset: u64, size: u64) -> &mut Program {
        let file = self.file(name);
        self.call("pread", context, file, Some(offset), size)
    }

    /// Asks for more than it gets.
    pub fn read_up_to(
        &mut self,
        context: u32,
        name: &str,
        offset: u64,
        (requested, size): (u64, u64),
    ) -> &mut Program {
        let file = self.file(name);
        self.request = Some(requested);
        self.call("pread", context, file, Some(offset), size)
    }

    /// Asks for the metadata of a path, which is no operation.
    pub fn stat(&mut self, context: u32, name: &str) -> &mut Program {
        let file = self.number(name);
        self.notice("stat", context, file, None, Some(name))
    }

    /// Moves the position in a file.
    pub fn seek(&mut self, context: u32, name: &str, position: u64) -> &mut Program {
        let file = self.number(name);
        self.notice("lseek", context, file, Some(position), None)
    }

    fn notice(
        &mut self,
        function: &str,
        context: u32,
        file: FileId,
        position: Option<u64>,
        path: Option<&str>,
    ) -> &mut Program {
        let function = Function::from_name(Layer::Posix, function).expect("a known function");
        let (context, by_path) = (ContextId(context), path.is_some());
        let clue = Clue { function, context, file, by_path, failed: false, position };
        let stack = StackId::of(&format!("app+{:#x}", context.0));
        self.oracle.notice(&clue, Some(stack), path);
        self
    }

    /// Writes where the position is not known.
    pub fn send(&mut self, context: u32, name: &str, size: u64) -> &mut Program {
        let file = self.file(name);
        self.call("write", context, file, None, size)
    }

    /// The most probable next operation.
    pub fn top(&self) -> &Prediction {
        &self.oracle.predict()[0]
    }

    /// Offset and size of the most probable next operation.
    pub fn place(&self) -> (Option<u64>, u64) {
        (self.top().offset, self.top().size)
    }

    /// The name of the file of a prediction.
    pub fn name_of(&self, prediction: &Prediction) -> String {
        match &prediction.file {
            PredictedFile::Known(id) => self.names[id.0 as usize - 1].clone(),
            PredictedFile::New(name) => name.clone(),
        }
    }

    /// The name of the file of the most probable next operation.
    pub fn top_name(&self) -> String {
        self.name_of(self.top())
    }

    /// The name of a file that the program has used.
    pub fn name(&self, file: FileId) -> &str {
        &self.names[file.0 as usize - 1]
    }

    /// Makes an operation of another program.
    pub fn again(&mut self, operation: &Operation, name: &str) -> &mut Program {
        let file = self.file(name);
        let Operation { function, context, offset, size, .. } = operation;
        self.call(function.name(), context.0, file, *offset, *size)
    }

    fn file(&mut self, name: &str) -> FileId {
        let id = self.number(name);
        self.oracle.define_file(id, name);
        id
    }

    fn number(&mut self, name: &str) -> FileId {
        let known = self.names.iter().position(|known| known == name);
        let place = known.unwrap_or_else(|| {
            self.names.push(name.to_string());
            self.names.len() - 1
        });
        FileId(place as u32 + 1)
    }

    fn call(
        &mut self,
        function: &str,
        context: u32,
        file: FileId,
        offset: Option<u64>,
        size: u64,
    ) -> &mut Program {
        let operation = Operation {
            function: Function::from_name(Layer::Posix, function).expect("a known function"),
            context: ContextId(context),
            file,
            handle: 3,
            offset,
            size,
            requested: self.request.take(),
            append: false,
            truncated_to: self.truncated_to.take(),
            start_ns: self.now_ns,
            end_ns: self.now_ns + 1000,
        };
        self.now_ns += 2000;
        self.oracle.define_context(operation.context, &format!("app+{context:#x}"));
        self.oracle.observe(&operation);
        self.operations.push(operation);
        self
    }
}

/// Numbers that look random and are the same in every run.
pub struct Noise(pub u64);

impl Noise {
    pub fn below(&mut self, limit: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

/// A program with all that a model holds: several files, new names, sizes and
/// offsets that vary, quiet spells.
pub fn checkpoints(program: &mut Program, n_steps: std::ops::Range<u64>) {
    for step in n_steps {
        let name = format!("out_{step:04}.dat");
        program.compute(50_000_000).open(1, &name);
        for n in 0..6 {
            program.write(2, &name, 100 + n * 512, 512);
            program.write(3, &name, 8, 16);
        }
        program.read(4, "table", step % 3 * 64, 64).close(5, &name);
    }
}
